package planner

import (
	"errors"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

// barrier is the kind of reason why an algorithm with a protocol is out. Where several
// of them are out, the reason of the highest kind is the one to tell: it is the least
// that keeps one of them from being chosen.
type barrier uint8

const (
	open    barrier = iota // it is not out
	origin                 // NCCL does not have it
	nature                 // nothing ever does it so
	machine                // the machine lacks what it needs
	operand                // it does not reduce this type by this operator here
	setting                // a user's setting, or its default
	build                  // no kernel in this build
	danger                 // links may tear what it sends
	unasked                // the options of the call
)

// verdict is what reasons come to.
type verdict struct {
	why     string // the first of the most telling
	barrier barrier
	several bool // there are others as telling
}

func (v *verdict) add(why string, b barrier) {
	switch {
	case b > v.barrier:
		*v = verdict{why: why, barrier: b}
	case b == v.barrier && why != v.why:
		v.several = true
	}
}

// clause returns the reason in front of which ": " stands, "" if there are several:
// one is worth telling, of many that there are many.
func (v *verdict) clause() string {
	if v.several || v.why == "" {
		return ""
	}
	return ": " + v.why
}

// reason returns why a call does not run with an algorithm and a protocol, ""
// if it may.
func (m *Model) reason(c Call, o Options, a coll.Algo, p coll.Proto) (string, barrier) {
	v := c.variant(a, p)
	if cost := &m.costs[c.Func][a][p]; cost.out != "" {
		return cost.out, cost.barrier
	}
	if out := undefined(v); out != "" {
		return out, operand
	}
	switch err := m.kernel(v); {
	case errors.Is(err, result.ErrNotBuilt):
		return "not built", build
	case err != nil:
		return shortReason(v, err), operand
	case !o.Algos.Has(a) || !o.Protos.Has(p):
		return "not asked for", unasked
	}
	return "", open
}

// shortReason is the innermost part of a kernel lookup's error, without the
// name of the variant, which whoever prints it has.
func shortReason(v coll.Variant, err error) string {
	var e *result.Error
	if errors.As(err, &e) && e.Err != nil {
		err = e.Err
	}
	return strings.TrimPrefix(err.Error(), v.String()+": ")
}

// disabled returns why settings or safety rule out an algorithm or protocol that
// could be used. Settings say nothing of an only rank.
func (m *Model) disabled(t *tuner, f coll.Func, a coll.Algo, p coll.Proto) (string, barrier) {
	s := &m.settings
	switch {
	case m.nranks == 1 && m.asNCCL && p != coll.Simple:
		return "one rank has nothing to send", nature
	case m.nranks == 1:
		return "", open
	}
	if p == coll.LL128 && !(m.asNCCL && s.Protos[f] != 0) {
		if why := t.unsafe(&m.facts.Graphs[graphOf[a]]); why != "" {
			return why, danger
		}
	}
	switch {
	case !s.Algos[f].Has(a):
		return "disabled by NCCL_ALGO", setting
	case !s.Protos[f].Has(p):
		return "disabled by NCCL_PROTO", setting
	}
	return "", open
}

// undefined returns why a variant is ruled out by its operator and type where its
// function, algorithm and protocol are not (updateCollCostTable, NCCL v2.30
// src/enqueue.cc, and ncclNvlsSupported, src/include/device.h); "" if it is not.
func undefined(v coll.Variant) string {
	switch {
	case !v.Func.Reduces():
	case v.Algo == coll.PAT && (v.Op == coll.PreMulSum || v.Op == coll.SumPostDiv):
		return "PAT does not scale"
	case (v.Algo == coll.NVLS || v.Algo == coll.NVLSTree) && !switchReduces(v.Op, v.Type):
		return "switches do not reduce " + v.Op.String() + " of " + v.Type.String()
	}
	return ""
}

// switchReduces reports whether NVSwitches reduce elements of a type.
func switchReduces(op coll.RedOp, t coll.DataType) bool {
	switch t {
	case coll.Int32, coll.Uint32, coll.Int64, coll.Uint64, coll.Float16, coll.BFloat16:
		return op == coll.Sum || op == coll.MinMax
	case coll.Float32, coll.Float64:
		return op == coll.Sum
	default:
		return false
	}
}

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
