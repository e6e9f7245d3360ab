package topo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/testenv"
)

// glob returns the reference files of a pattern; the test is skipped where
// there are none.
func glob(t *testing.T, pattern string) []string {
	files, err := filepath.Glob(filepath.Join(testenv.Shared(t, "reference"), filepath.FromSlash(pattern)))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// TestReferenceFiles reads every reference topology, writes it and reads that.
func TestReferenceFiles(t *testing.T) {
	machines := glob(t, "machines/*.xml")
	require.Len(t, machines, 95)
	files := append(machines, glob(t, "nccl-2.30.7/*.topo.xml")...)
	files = append(files, glob(t, "nccl-2.30.7/env/*.topo.xml")...)
	files = append(files, glob(t, "h200x2/topo.xml")...)
	if testing.Short() {
		files = machines
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		doc, err := Parse(file, data)
		require.NoError(t, err)
		once := written(t, doc)
		if strings.Contains(file, "nccl-2.30.7") {
			// NCCL wrote it: the same bytes.
			require.Equal(t, string(data), once, file)
		}
		s, err := NewSystem(doc)
		require.NoError(t, err)
		g, err := SearchRing(s)
		require.NoError(t, err)
		checkRings(t, s, g)
		again, err := Parse(file, []byte(once))
		require.NoError(t, err)
		require.Equal(t, once, written(t, again))
	}
}

// tuning is what the tests read of NCCL's own results.
type tuning struct {
	System struct {
		Counts map[string]int `json:"counts"`
		// Paths[from][to] is type, bandwidth, number of links.
		Paths [][][3]any `json:"gpu_gpu"`
	} `json:"system"`
	Graphs struct {
		Ring struct {
			Channels int     `json:"nChannels"`
			BW       float32 `json:"bwIntra"`
			Type     string  `json:"typeIntra"`
		} `json:"ring"`
	} `json:"graphs_search_rank0"`
	NvlDomains int `json:"nvlDomains"`
}

// unlike are the machines on which NCCL's search finds other rings than
// SearchRing, with why. (The rccl_ ones, adapted from another maker's
// machines, are not held to it.)
var unlike = map[string]string{
	"hw_a100pcie_nvlpairs": "NVLink pairs between sockets: NCCL finds more channels, or slower ones",
	"pub_azure_ncv4_pairs": "NVLink pairs between sockets: NCCL finds more channels, or slower ones",
	"hw_pcie2_intel_1s":    "Intel CPUs: peer-to-peer traffic takes more of a PCIe link",
	"pub_yccl_topo_mod":    "Intel CPUs: peer-to-peer traffic takes more of a PCIe link",
}

// unlikePaths is the machine on which paths differ: NCCL goes through CPUs
// where it takes peer-to-peer for impossible.
const unlikePaths = "rccl_16p1h_vm"

// TestReferenceSystems compares nodes, paths and rings with NCCL's, but for the
// hosts that NCCL splits by network cards: its figures are of one part each.
func TestReferenceSystems(t *testing.T) {
	var split []string
	for _, file := range glob(t, "nccl-2.30.7/*.1nodes.tuning.json") {
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var want tuning
		require.NoError(t, json.Unmarshal(data, &want))
		if want.NvlDomains != 1 {
			split = append(split, name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, err := Load(strings.TrimSuffix(file, "tuning.json")+"topo.xml", os.ReadFile)
			require.NoError(t, err)
			for nodes := range NodeType(NumNodeTypes) {
				// NCCL counts after leaving out network cards that no GPU can use.
				if nodes != NodeNET && nodes != NodeNIC {
					require.Equal(t, want.System.Counts[nodes.String()], len(s.Nodes[nodes]), "%s nodes", nodes)
				}
			}
			equal := true
			for from := range want.System.Paths {
				for to, path := range want.System.Paths[from] {
					p := s.Nodes[NodeGPU][from].Path(s.Nodes[NodeGPU][to])
					equal = equal && path[0] == p.Type.String() && float32(path[1].(float64)) == p.BW && int(path[2].(float64)) == len(p.Links)
				}
			}
			require.Equal(t, name != unlikePaths, equal, "paths equal to NCCL's")

			g, err := SearchRing(s)
			require.NoError(t, err)
			r := want.Graphs.Ring
			got := fmt.Sprintf("%d x %v %s", len(g.Channels), g.BWIntra, g.TypeIntra)
			switch why := unlike[name]; {
			case why != "" || strings.HasPrefix(name, "rccl_"):
				t.Logf("ring %s, NCCL's %d x %v %s: %s", got, r.Channels, r.BW, r.Type, why)
			default:
				require.Equal(t, fmt.Sprintf("%d x %v %s", r.Channels, r.BW, r.Type), got, "ring channels and bandwidth")
			}
		})
	}
	t.Logf("%d split by network cards: %s", len(split), strings.Join(split, " "))
	require.Len(t, split, 7)
}

// TestFusedMachines: from the plain description of each machine, or the first of
// its GPUs, or several such hosts, comes what NCCL writes after it has fused the
// views of its ranks, to the byte.
func TestFusedMachines(t *testing.T) {
	for _, file := range glob(t, "nccl-2.30.7/*.topo.xml") {
		name, opts, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".topo.xml"), ".")
		hosts, opt, _ := strings.Cut(opts, "nodes")
		if opt == ".collnet" {
			continue // where network cards gain an attribute
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		machine := filepath.Join(filepath.Dir(file), "..", "machines", name+".xml")
		data, err := os.ReadFile(machine)
		require.NoError(t, err)
		doc, err := Parse(machine, data)
		require.NoError(t, err)
		for _, cpu := range doc.Root.Children {
			// NCCL takes these from the machine it runs on.
			cpu.Set("host_hash", "0x1000")
			cpu.init("affinity", "")
		}
		doc.Renumber()
		s, err := NewSystem(doc)
		require.NoError(t, err)
		if gpus, ok := strings.CutPrefix(opt, ".ngpus"); ok {
			n, err := strconv.Atoi(gpus)
			require.NoError(t, err)
			s, err = s.FirstGPUs(n)
			require.NoError(t, err)
		}
		if opt == ".mnnvl" {
			n, err := strconv.Atoi(hosts)
			require.NoError(t, err)
			s, err = s.Fabric(n)
			require.NoError(t, err)
		}
		require.Equal(t, string(want), written(t, s.doc.Fused()), filepath.Base(file))
	}
}
