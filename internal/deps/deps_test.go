package deps

import (
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/ncclgo/ncclgo"

//go:embed policy.txt
var policyText string

// rule is one line of the policy.
type rule struct {
	name    string
	ours    []string
	modules []string
}

func policy(t *testing.T) []rule {
	var rules []rule
	for line := range strings.Lines(policyText) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, rest, ok := strings.Cut(line, ":")
		require.True(t, ok, "policy line without a colon: %s", line)
		ours, modules, _ := strings.Cut(rest, "|")
		r := rule{name, strings.Fields(ours), strings.Fields(modules)}
		for _, dep := range r.ours {
			require.True(t, dep == name || slices.ContainsFunc(rules, func(earlier rule) bool { return earlier.name == dep }),
				"%s may import %s, which must stand above it", name, dep)
		}
		rules = append(rules, r)
	}
	return rules
}

// covers reports whether pattern, a package or DIR/*, covers name.
func covers(pattern, name string) bool {
	if dir, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, dir)
	}
	return pattern == name
}

// find returns the rule of a package: its own line, else the first pattern.
func find(rules []rule, name string) (rule, bool) {
	for _, r := range rules {
		if r.name == name {
			return r, true
		}
	}
	for _, r := range rules {
		if covers(r.name, name) {
			return r, true
		}
	}
	return rule{}, false
}

type goPackage struct {
	ImportPath, Doc, Name string
	Imports               []string
}

func packages(t *testing.T) []goPackage {
	list := exec.Command("go", "list", "-json=ImportPath,Doc,Name,Imports", module+"/...")
	// Files that need cgo have imports too, whatever this test runs with.
	list.Env = append(list.Environ(), "CGO_ENABLED=1")
	out, err := list.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("go list: %s", exit.Stderr)
	}
	require.NoError(t, err)
	var all []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		all = append(all, p)
	}
	require.Greater(t, len(all), 10)
	return all
}

func TestImports(t *testing.T) {
	rules := policy(t)
	used := map[string][]string{} // rule -> what its packages import
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		r, ok := find(rules, name)
		if !ok {
			t.Errorf("%s has no line in policy.txt", name)
			continue
		}
		used[r.name] = append(used[r.name], p.Imports...)
		for _, path := range p.Imports {
			if dep, ours := strings.CutPrefix(path, module+"/"); ours {
				if !slices.ContainsFunc(r.ours, func(allowed string) bool { return covers(allowed, dep) }) {
					t.Errorf("%s may not import %s", name, dep)
				}
			} else if strings.Contains(strings.Split(path, "/")[0], ".") {
				if !slices.ContainsFunc(r.modules, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") }) {
					t.Errorf("%s may not import %s", name, path)
				}
			}
		}
	}
	for _, r := range rules {
		imports, exists := used[r.name]
		if !exists {
			t.Errorf("policy.txt has a line for %s, which does not exist", r.name)
		}
		for _, dep := range append(slices.Clone(r.ours), r.modules...) {
			if !slices.ContainsFunc(imports, func(path string) bool {
				return covers(dep, strings.TrimPrefix(path, module+"/")) || path == dep || strings.HasPrefix(path, dep+"/")
			}) {
				t.Errorf("policy.txt lets %s import %s, which it does not", r.name, dep)
			}
		}
	}
}

// The thinking packages have no effects: no clock, environment, files,
// goroutine tools or logging.
func TestPurePackages(t *testing.T) {
	forbidden := []string{"time", "os", "net", "sync", "math/rand", "math/rand/v2", "log", "log/slog", "syscall", "runtime"}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if name != "topo" && name != "planner" {
			continue
		}
		for _, path := range p.Imports {
			if slices.Contains(forbidden, path) {
				t.Errorf("%s is pure and may not import %s", name, path)
			}
		}
	}
}

func TestEveryPackageIsDocumented(t *testing.T) {
	for _, p := range packages(t) {
		want := "Package " + p.Name + " "
		if p.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(p.Doc, want) {
			t.Errorf("%s: its doc comment must begin with %q, is %q", p.ImportPath, want, p.Doc)
		}
	}
}
