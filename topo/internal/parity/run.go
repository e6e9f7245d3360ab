package parity

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
	// "ngpusK", or a key of [Variables].
	Option string
	// Result is what NCCL computed.
	Result

	root string // folder of all runs
}

// Variables are the settings of the runs in env/ (TAGS.md of the reference data).
var Variables = map[string][2]string{
	"crossnic0":   {"NCCL_CROSS_NIC", "0"},
	"p2plevelSYS": {"NCCL_P2P_LEVEL", "SYS"},
	"p2pdisable":  {"NCCL_P2P_DISABLE", "1"},
	"gdrlevelSYS": {"NCCL_NET_GDR_LEVEL", "SYS"},
	"pxndisable":  {"NCCL_PXN_DISABLE", "1"},
	"nvbdisable":  {"NCCL_NVB_DISABLE", "1"},
	"min32ch":     {"NCCL_MIN_NCHANNELS", "32"},
	"algoRing":    {"NCCL_ALGO", "Ring"},
	"protoSimple": {"NCCL_PROTO", "Simple"},
	"shmdisable":  {"NCCL_SHM_DISABLE", "1"},
	"netdevsALL":  {"NCCL_NETDEVS_POLICY", "ALL"},
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

// Set returns the NCCL_* variables of the run.
func (r *Run) Set() map[string]string {
	set := map[string]string{}
	if v, ok := Variables[r.Option]; ok {
		set[v[0]] = v[1]
	}
	return set
}

// NodeRanks returns the ranks of each node as NCCL counts nodes, rising.
func (r *Run) NodeRanks() [][]int {
	nodes := make([][]int, slices.Max(r.RankToNode)+1)
	for rank, node := range r.RankToNode {
		nodes[node] = append(nodes[node], rank)
	}
	return nodes
}
