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
	// "ngpusK", or a tag of the reference data's env/TAGS.md.
	Option string
	// Set are the NCCL_* variables of the run.
	Set map[string]string
	// Result is what NCCL computed.
	Result

	root string // folder of all runs
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
	tags, err := readTags(filepath.Join(root, "env", "TAGS.md"))
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
			run, err := load(root, file, tags)
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, run)
		}
	}
	if len(runs) == 0 {
		t.Fatalf("%s has no runs", root)
	}
	return runs
}

// options are the variables of the runs outside of env/.
var options = map[string]map[string]string{
	"collnet": {"NCCL_COLLNET_ENABLE": "1"},
	"nvls0":   {"NCCL_NVLS_ENABLE": "0"},
}

// tag is an entry of TAGS.md: the option of a run's name, and the variables that it
// stands for.
var tag = regexp.MustCompile(`(\w+)((?: NCCL_\w+=\S+)+)`)

// readTags reads what variables the tags of runs stand for.
func readTags(file string) (map[string]map[string]string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no run has a variable
	}
	if err != nil {
		return nil, err
	}
	tags := map[string]map[string]string{}
	for _, entry := range tag.FindAllStringSubmatch(string(data), -1) {
		set := map[string]string{}
		for _, word := range strings.Fields(entry[2]) {
			name, value, _ := strings.Cut(word, "=")
			set[name] = value
		}
		tags[entry[1]] = set
	}
	return tags, nil
}

func load(root, file string, tags map[string]map[string]string) (*Run, error) {
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
		r.Set = options[r.Option]
	}
	if strings.HasPrefix(r.Name, "env/") {
		if r.Set = tags[r.Option]; r.Set == nil {
			return nil, fmt.Errorf("%s: TAGS.md does not say what %s sets", file, r.Option)
		}
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

// Lookup is like os.LookupEnv, of the variables of the run.
func (r *Run) Lookup(name string) (string, bool) {
	value, ok := r.Set[name]
	return value, ok
}

// NodeRanks returns the ranks of each node as NCCL counts nodes, rising.
func (r *Run) NodeRanks() [][]int {
	nodes := make([][]int, slices.Max(r.RankToNode)+1)
	for rank, node := range r.RankToNode {
		nodes[node] = append(nodes[node], rank)
	}
	return nodes
}
