package topo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// viewRun is what the tests read of NCCL's own view of a machine.
type viewRun struct {
	System struct {
		Inter   int            `json:"inter"`
		MaxBW   float32        `json:"maxBw"`
		TotalBW float32        `json:"totalBw"`
		Counts  map[string]int `json:"counts"`
		GPUs    []struct {
			ID   string `json:"id"`
			Rank int    `json:"rank"`
			Dev  int    `json:"dev"`
			SM   int    `json:"sm"`
			GDR  int    `json:"gdr"`
		} `json:"gpus"`
		Nets []struct {
			ID       string  `json:"id"`
			Dev      int     `json:"dev"`
			BW       float32 `json:"bw"`
			Latency  float32 `json:"latency"`
			ASIC     string  `json:"asic"`
			Port     int     `json:"port"`
			GDR      int     `json:"gdr"`
			Coll     int     `json:"coll"`
			LocalGPU int     `json:"localGpu"`
		} `json:"nets"`
		// Paths: [from][to] is type, bandwidth, number of links.
		GPUGPU [][][3]any `json:"gpu_gpu"`
		GPUNet [][][3]any `json:"gpu_net"`
		NetGPU [][][3]any `json:"net_gpu"`
		GPUCPU [][][3]any `json:"gpu_cpu"`
	} `json:"system"`
	NRanks     int `json:"nRanks"`
	NNodes     int `json:"nNodes"`
	NvlDomains int `json:"nvlDomains"`
}

// tagParams are the settings of reference runs with one variable set, those of
// them that paths depend on.
var tagParams = map[string]Params{
	"p2plevelSYS": {P2PLevel: new(PathSYS)},
	"p2pdisable":  {P2PLevel: new(PathLOC)},
	"gdrlevelSYS": {GDRLevel: new(PathSYS)},
	"pxndisable":  {NoPXN: true},
	"nvbdisable":  {NoNVB: true},
	"shmdisable":  {NoSHM: true},
	"netdevsALL":  {NetDevs: NetDevs{All: true}},
}

// tally counts what is equal to NCCL's, by kind.
type tally struct {
	kinds        []string
	equal, total map[string]int
	unequal      map[string][]string
}

func (c *tally) add(kind, run string, equal bool) {
	if !slices.Contains(c.kinds, kind) {
		c.kinds = append(c.kinds, kind)
	}
	c.total[kind]++
	if equal {
		c.equal[kind]++
	} else {
		c.unequal[kind] = append(c.unequal[kind], run)
	}
}

// TestViewParity compares the view of rank 0 with NCCL's in every reference run.
func TestViewParity(t *testing.T) {
	files := append(glob(t, "nccl-2.30.7/*.tuning.json"), glob(t, "nccl-2.30.7/env/*.tuning.json")...)
	c := &tally{equal: map[string]int{}, total: map[string]int{}, unequal: map[string][]string{}}
	for _, file := range files {
		compareView(t, c, file)
	}
	for _, kind := range c.kinds {
		t.Logf("%s: %d/%d", kind, c.equal[kind], c.total[kind])
		require.Empty(t, c.unequal[kind], kind)
	}
}

func compareView(t *testing.T, c *tally, file string) {
	run := strings.TrimSuffix(filepath.Base(file), ".tuning.json")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var want viewRun
	require.NoError(t, json.Unmarshal(data, &want))
	s, err := Load(strings.TrimSuffix(file, "tuning.json")+"topo.xml", os.ReadFile)
	require.NoError(t, err)
	p := tagParams[run[strings.LastIndexByte(run, '.')+1:]]
	p.NRanks = want.NRanks
	v, err := s.View(p)
	require.NoError(t, err)

	w := want.System
	for n := range NodeType(NumNodeTypes) {
		c.add("nodes", run, w.Counts[n.String()] == len(v.Nodes[n]))
	}
	c.add("inter", run, (w.Inter != 0) == v.Inter)
	c.add("maxBw", run, w.MaxBW == v.MaxBW)
	c.add("totalBw", run, w.TotalBW == v.TotalBW)

	var gpus, nets, wantGPUs, wantNets []string
	for _, g := range w.GPUs {
		wantGPUs = append(wantGPUs, fmt.Sprint(g.ID, g.Rank, g.Dev, g.SM, g.GDR != 0))
	}
	for _, n := range v.Nodes[NodeGPU] {
		gpus = append(gpus, fmt.Sprint(hexID(n), n.GPU.Rank, n.GPU.Dev, n.GPU.SM, n.GPU.GDR))
	}
	c.add("GPUs", run, slices.Equal(wantGPUs, gpus))
	for _, n := range w.Nets {
		wantNets = append(wantNets, fmt.Sprint(n.ID, n.Dev, n.BW, n.Latency, n.ASIC, n.Port, n.GDR != 0, n.Coll != 0, n.LocalGPU))
	}
	for _, n := range v.Nodes[NodeNET] {
		nets = append(nets, fmt.Sprint(hexID(n), n.Net.Dev, n.Net.BW, n.Net.Latency, strconv.FormatUint(n.Net.GUID, 16), n.Net.Port, n.Net.GDR, n.Net.Coll, n.Net.LocalGPU))
	}
	c.add("network ports", run, slices.Equal(wantNets, nets))

	c.add("paths GPU GPU", run, equalPaths(w.GPUGPU, v, NodeGPU, NodeGPU))
	c.add("paths GPU NET", run, equalPaths(w.GPUNet, v, NodeGPU, NodeNET))
	c.add("paths NET GPU", run, equalPaths(w.NetGPU, v, NodeNET, NodeGPU))
	c.add("paths GPU CPU", run, equalPaths(w.GPUCPU, v, NodeGPU, NodeCPU))
}

// hexID is a node's ID as NCCL has it, with the host in the highest byte.
func hexID(n *Node) string {
	return strconv.FormatUint(uint64(n.Host)<<56+n.ID, 16)
}

func equalPaths(want [][][3]any, s *System, from, to NodeType) bool {
	if len(want) != len(s.Nodes[from]) {
		return false
	}
	for i, row := range want {
		if len(row) != len(s.Nodes[to]) {
			return false
		}
		for j, path := range row {
			p := s.Nodes[from][i].Path(s.Nodes[to][j])
			if path[0] != p.Type.String() || float32(path[1].(float64)) != p.BW || int(path[2].(float64)) != len(p.Links) {
				return false
			}
		}
	}
	return true
}
