package planner

import (
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/topo"
)

// unsafe returns why LL128 must not be used over a graph, "" if it may: links other
// than NVLink, and some paths to network cards, may tear its lines of 128 bytes.
func (t *tuner) unsafe(g *topo.Agreed) string {
	worst, allowed := topo.PathPXB, "PXB"
	if !t.NoLL128C2C && t.MinSM >= 90 {
		worst, allowed = topo.PathPXN, "PXN"
	}
	switch {
	case g.TypeIntra > topo.PathNVB:
		return "needs NVLink between neighbours, the channels have " + g.TypeIntra.String()
	case g.TypeInter > worst:
		return "needs network cards no farther than " + allowed + ", the channels have " + g.TypeInter.String()
	case t.MinSM < 70:
		return "needs sm_70"
	case t.MinSM != t.MaxSM && t.MinSM < 90:
		return "needs sm_90 between different GPUs"
	}
	return ""
}

// Unsafe returns why a protocol must not be used over the rings of a communicator,
// in a clause that continues its name; "" if it may. The cases are those in which
// NCCL does not use LL128 unless NCCL_PROTO names it (ncclTopoTuneModel, NCCL v2.30
// src/graph/tuning.cc).
func Unsafe(p coll.Proto, f *Facts) string {
	if p != coll.LL128 {
		return ""
	}
	return newTuner(f, new(Settings)).unsafe(&f.Graphs[topo.GraphRing])
}
