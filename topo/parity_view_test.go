package topo_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/parity"
	"github.com/ncclgo/ncclgo/topo"
)

// TestParityView compares the view of rank 0 with NCCL's in every reference run.
func TestParityView(t *testing.T) {
	var tally parity.Tally
	for _, r := range parity.Runs(t) {
		v, _ := viewOf(t, r)
		want := r.System
		counts := map[string]int{"GIN": 0, "RMA": 0}
		for n := range topo.NodeType(topo.NumNodeTypes) {
			counts[n.String()] = len(v.Nodes[n])
		}
		tally.Compare("nodes", r.Name, want.Counts, counts)
		tally.Compare("inter", r.Name, want.Inter != 0, v.Inter)
		tally.Compare("maxBw", r.Name, want.MaxBW, v.MaxBW)
		tally.Compare("totalBw", r.Name, want.Total, v.TotalBW)
		tally.Compare("GPUs", r.Name, want.GPUs, gpusOf(v))
		tally.Compare("network ports", r.Name, want.Nets, netsOf(v))
		tally.Compare("paths GPU GPU", r.Name, want.GPUToGPU, pathsOf(v, topo.NodeGPU, topo.NodeGPU))
		tally.Compare("paths GPU NET", r.Name, want.GPUToNet, pathsOf(v, topo.NodeGPU, topo.NodeNET))
		tally.Compare("paths NET GPU", r.Name, want.NetToGPU, pathsOf(v, topo.NodeNET, topo.NodeGPU))
		tally.Compare("paths GPU CPU", r.Name, want.GPUToCPU, pathsOf(v, topo.NodeGPU, topo.NodeCPU))
	}
	tally.Log(t)
	for _, kind := range tally.Kinds() {
		require.Empty(t, tally.Unequal(kind), kind)
	}
}

func gpusOf(s *topo.System) []parity.GPU {
	gpus := []parity.GPU{}
	for _, n := range s.Nodes[topo.NodeGPU] {
		gpus = append(gpus, parity.GPU{ID: hexID(n), Rank: n.GPU.Rank, Dev: n.GPU.Dev, SM: n.GPU.SM, GDR: number(n.GPU.GDR)})
	}
	return gpus
}

func netsOf(s *topo.System) []parity.Net {
	nets := []parity.Net{}
	for _, n := range s.Nodes[topo.NodeNET] {
		nets = append(nets, parity.Net{
			ID: hexID(n), Dev: n.Net.Dev, BW: n.Net.BW, Latency: n.Net.Latency, ASIC: strconv.FormatUint(n.Net.GUID, 16),
			Port: n.Net.Port, GDR: number(n.Net.GDR), Coll: number(n.Net.Coll), LocalGPU: n.Net.LocalGPU,
		})
	}
	return nets
}

func pathsOf(s *topo.System, from, to topo.NodeType) [][]parity.Path {
	paths := [][]parity.Path{}
	for _, a := range s.Nodes[from] {
		row := []parity.Path{}
		for _, b := range s.Nodes[to] {
			p := a.Path(b)
			row = append(row, parity.Path{Type: p.Type, BW: p.BW, Hops: len(p.Links)})
		}
		paths = append(paths, row)
	}
	return paths
}

// hexID is a node's ID as NCCL has it, with the host in the highest byte.
func hexID(n *topo.Node) string {
	return strconv.FormatUint(uint64(n.Host)<<56+n.ID, 16)
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
