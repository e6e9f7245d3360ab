package planner

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/testenv"
)

// fused matches the multiply-add instructions of arm64 and amd64, with their place
// in a source. They round once where two instructions round twice, so ranks on
// different processors could decide differently.
var fused = regexp.MustCompile(`\(\S+:\d+\)\s+V?FN?M(ADD|SUB)\w*\b`)

// TestNoFusedInstruction compiles what decides for the processors on which Go fuses a
// product with a sum, and looks for that. Pictures decide nothing.
func TestNoFusedInstruction(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: compiles for other processors; not in -short")
	}
	compile := func(dir string, env []string, packages ...string) string {
		cmd := exec.Command("go", append([]string{"build", "-gcflags=-S"}, packages...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append(env, "GOOS=linux", "CGO_ENABLED=0")...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	for _, env := range [][]string{{"GOARCH=arm64"}, {"GOARCH=amd64", "GOAMD64=v3"}} {
		listing := compile(testenv.Root(), env, "./topo", "./topo/bound", "./topo/detect", "./planner")
		for _, function := range []string{"planner.(*tuner).latency STEXT", "topo.(*ledger).take STEXT"} {
			require.True(t, strings.Contains(listing, function), "%v: no %s", env, function)
		}
		require.Empty(t, fused.FindAllString(listing, -1), "%v", env)

		// The compiler does fuse where nothing stops it.
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(dir+"/go.mod", []byte("module fused\n"), 0o644))
		require.NoError(t, os.WriteFile(dir+"/fused.go",
			[]byte("package fused\n\nfunc Fused(a, b, c float64) float64 { return a*b + c }\n"), 0o644))
		require.NotEmpty(t, fused.FindAllString(compile(dir, env, "."), -1), "%v", env)
	}
}
