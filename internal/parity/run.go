package parity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ncclgo/ncclgo/internal/testenv"
)

// folder is where the runs of NCCL 2.30.7 are in the reference data.
const folder = "reference/nccl-2.30.7"

// Run is one run of NCCL's host code: a machine, how many of it, and what was set.
type Run struct {
	// Name is the name of the run's files: "hw_dgx_h100.2nodes.collnet", in front
	// of it "env/" if a variable was set.
	Name string
	// Machine is the name of the machine's description.
	Machine string
	// Hosts is how many of it there are.
	Hosts int
	// Option is what the run had beyond defaults: "", "collnet", "mnnvl", "nvls0",
	// "ngpusK", or what stands for a variable.
	Option string
	// Variable is the NCCL_* variable that was set, "" if none was, and Value its
	// value.
	Variable, Value string
	// Result is what NCCL computed.
	Result

	root string // folder of all runs
}

// tag is an entry of env/TAGS.md: the option of a run's name, and the variable that
// it stands for.
var tag = regexp.MustCompile(`(\w+) (NCCL_\w+)=(\S+)`)

// variables returns the variables of the runs in env/ by option.
func variables(root string) (map[string][2]string, error) {
	data, err := os.ReadFile(filepath.Join(root, "env", "TAGS.md"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	byOption := map[string][2]string{}
	for _, m := range tag.FindAllStringSubmatch(string(data), -1) {
		byOption[m[1]] = [2]string{m[2], m[3]}
	}
	return byOption, nil
}

// Runs returns every reference run, by name. Without the reference data the test
// is skipped, and in -short, since all of them take time, the more under the race
// detector.
func Runs(t testing.TB) []*Run {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: compares with all reference data; not in -short")
	}
	root := testenv.Shared(t, folder)
	set, err := variables(root)
	if err != nil {
		t.Fatal(err)
	}
	var runs []*Run
	for _, pattern := range []string{"*.tuning.json", "env/*.tuning.json"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			run, err := load(root, file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(run.Name, "env/") {
				v, known := set[run.Option]
				if !known {
					t.Fatalf("%s: TAGS.md does not say which variable %q is", run.Name, run.Option)
				}
				run.Variable, run.Value = v[0], v[1]
			}
			runs = append(runs, run)
		}
	}
	if len(runs) == 0 {
		t.Fatalf("%s has no runs", root)
	}
	return runs
}

func load(root, file string) (*Run, error) {
	base := strings.TrimSuffix(file, ".tuning.json")
	name, err := filepath.Rel(root, base)
	if err != nil {
		return nil, err
	}
	r := &Run{Name: filepath.ToSlash(name), root: root}
	parts := strings.SplitN(filepath.Base(base), ".", 3)
	if len(parts) < 2 {
		return nil, fmt.Errorf("%s: a run is named MACHINE.Nnodes or MACHINE.Nnodes.OPTION", file)
	}
	r.Machine = parts[0]
	if r.Hosts, err = strconv.Atoi(strings.TrimSuffix(parts[1], "nodes")); err != nil {
		return nil, fmt.Errorf("%s: a run is named MACHINE.Nnodes or MACHINE.Nnodes.OPTION: %w", file, err)
	}
	if len(parts) == 3 {
		r.Option = parts[2]
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &r.Result); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// TopoFile returns the path of the fused topology that the run began with.
func (r *Run) TopoFile() string { return r.file(".topo.xml") }

// GraphFile returns the path of the graphs that rank 0 found, as NCCL wrote them,
// and whether it did.
func (r *Run) GraphFile() (string, bool) {
	file := r.file(".graph.xml")
	_, err := os.Stat(file)
	return file, err == nil
}

// MachineFile returns the path of the machine's plain description.
func (r *Run) MachineFile() string {
	return filepath.Join(filepath.Dir(r.root), "machines", r.Machine+".xml")
}

func (r *Run) file(extension string) string {
	return filepath.Join(r.root, filepath.FromSlash(r.Name)) + extension
}

// NodeRanks returns the ranks of each node as NCCL counts nodes, rising.
func (r *Run) NodeRanks() [][]int {
	nodes := make([][]int, slices.Max(r.RankToNode)+1)
	for rank, node := range r.RankToNode {
		nodes[node] = append(nodes[node], rank)
	}
	return nodes
}
