package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/testenv"
)

// turnVariable chooses the share that is run (docs/ENVIRONMENT.md).
const turnVariable = "NCCLGO_CONFORMANCE_TURN"

// currentTurn is the number of first-parent commits up to the one that is checked
// out, so that each commit takes the next turn; 0 where there is no history to
// count.
func currentTurn(t *testing.T) Turn {
	if v := os.Getenv(turnVariable); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		require.NoError(t, err, "%s is %q; give a number from 0 on", turnVariable, v)
		return Turn(n)
	}
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", testenv.Root()}, args...)...).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	// The go command keeps the result of a test until a file that it looked at has
	// changed: a commit changes this one.
	if log := git("rev-parse", "--git-path", "logs/HEAD"); log != "" {
		if !filepath.IsAbs(log) {
			log = filepath.Join(testenv.Root(), log)
		}
		_, _ = os.Stat(log)
	}
	if git("rev-parse", "--is-shallow-repository") != "false" {
		return 0
	}
	n, err := strconv.ParseUint(git("rev-list", "--count", "--first-parent", "HEAD"), 10, 64)
	if err != nil {
		return 0
	}
	return Turn(n)
}

// Any six turns in a row run each kernel with each rank count, and every turn has
// a case of every kernel.
func TestShareCoversEveryRankCount(t *testing.T) {
	kernels, err := Kernels()
	require.NoError(t, err)
	for i := range kernels {
		if testing.Short() && i%shortPart != 0 {
			continue
		}
		v := kernels[i].Variant
		cases := Cases(v)
		for _, first := range []Turn{0, 1, 5, 6, 1000, 1 << 40} {
			met := map[int]bool{}
			for turn := first; turn-first < Turn(len(rankCounts)); turn++ {
				share := turn.Share(v, cases, 2)
				require.Len(t, share, 2)
				require.NotEqual(t, share[0], share[1])
				for _, index := range share {
					require.Equal(t, cases[share[0]].Ranks, cases[index].Ranks)
				}
				met[cases[share[0]].Ranks] = true
			}
			require.Len(t, met, len(rankCounts), "%s in the turns from %d on", kernels[i].Name, first)
		}
	}
}

// Turns with the same rank count go through the kernel's cases.
func TestShareGoesThroughTheCases(t *testing.T) {
	kernels, err := Kernels()
	require.NoError(t, err)
	v := kernels[0].Variant
	cases := Cases(v)
	met := map[int]bool{}
	for round := range Turn(100) {
		for _, index := range (round * Turn(len(rankCounts))).Share(v, cases, 2) {
			met[index] = true
		}
	}
	reachable := 0
	for i := range cases {
		if cases[i].Ranks == Turn(0).ranks(v) && cases[i].work() <= shareWork {
			reachable++
		}
	}
	require.Len(t, met, reachable)
}
