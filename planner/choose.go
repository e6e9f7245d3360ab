package planner

import (
	"fmt"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
)

// Call is a collective call as far as decisions depend on it.
type Call struct {
	Func  coll.Func
	Op    coll.RedOp    // of functions that reduce
	Type  coll.DataType // the type that Count counts
	Count int64         // elements, as the function's count argument
}

// Options fix parts of a choice. The zero value leaves all of it open. They go
// before [Settings], and both before a [Tuning].
type Options struct {
	Algos    AlgoSet
	Protos   ProtoSet
	Channels int // 0: open
	Threads  int // of a CTA, a multiple of 32; where a protocol has fewer, those; 0: open
}

// Choice is how a call is done.
type Choice struct {
	Variant  coll.Variant
	Channels int // most channels that share the call
	Threads  int // of each CTA
	// Warps is how many warps NCCL's kernel has for Threads: some of its kernels need
	// more, to signal.
	Warps int
	// ChunkBytes is the size of a chunk when the call runs alone, a multiple of
	// 16.
	ChunkBytes int
	Bytes      int64   // size of the call: of the larger of its buffers
	Time       float32 // predicted, µs
	// Row is the row of the tuning table that the choice follows, from 1; 0: none.
	Row int
}

// variant returns the key of the kernel for a call, without the fields that its
// function does not have.
func (c Call) variant(a coll.Algo, p coll.Proto) coll.Variant {
	v := coll.Variant{Func: c.Func}
	if c.Func.Reduces() {
		v.Op, v.Type = c.Op, c.Type
	}
	if c.Func.HasAlgo() {
		v.Algo, v.Proto = a, p
	}
	return v
}

// Bytes returns the size of a call: of the larger of its two buffers (NCCL's
// nBytes).
func (m *Model) Bytes(c Call) int64 {
	n := c.Count * int64(c.Type.Size())
	switch c.Func {
	case coll.AllGather, coll.AllGatherV, coll.ReduceScatter:
		n *= int64(m.nranks)
	}
	return n
}

// Choose decides how a call is done: of all algorithms and protocols that are
// allowed, possible and built, the one predicted to be fastest, the first in
// the order of package coll among equals (topoGetAlgoInfo, NCCL v2.30
// src/enqueue.cc). Where a tuning table has a row for the call, those that the row
// names go before the others. It does not allocate unless it fails.
func (m *Model) Choose(c Call, o Options) (Choice, error) { return m.choose(c, 1, o) }

// choose is Choose for ops operations that follow one another on each channel and
// share some of the latency.
func (m *Model) choose(c Call, ops int, o Options) (Choice, error) {
	if err := m.check(c, o); err != nil {
		return Choice{}, err
	}
	best := Choice{Bytes: m.Bytes(c)}
	err := m.decide(&best, c, ops, o)
	return best, err
}

// decide completes the choice for a call that was checked and has best.Bytes.
func (m *Model) decide(best *Choice, c Call, ops int, o Options) error {
	row := m.tunedRow(c.Func, best.Bytes)
	if row != nil && m.fastest(best, c, ops, o, row) {
		best.Row = row.number
		if o.Channels == 0 && row.channels != 0 {
			o.Channels = min(row.channels, m.channels)
		}
		if o.Threads == 0 && row.threads != 0 {
			o.Threads = min(row.threads, m.limits.MaxThreads, m.settings.threads(best.Variant.Algo, best.Variant.Proto))
		}
	} else if !m.fastest(best, c, ops, o, nil) {
		return m.refuse(c, o)
	}
	m.size(best, o)
	best.ChunkBytes = m.chunk(best.Variant, m.partBytes(c, best.Channels))
	return nil
}

// fastest sets the variant and time of the fastest way to do a call, of those of a
// row of a tuning table if there is one, and reports whether there is any.
func (m *Model) fastest(best *Choice, c Call, ops int, o Options, row *tunedRange) bool {
	v := c.variant(0, 0)
	first := v.ID()
	l := m.load(c, best.Bytes, ops)
	found := false
	ways := m.ways[c.Func]
	for i := range ways {
		w := &ways[i]
		if !m.built[first+w.id] || !o.Algos.Has(w.algo) || !o.Protos.Has(w.proto) ||
			row != nil && !(row.algos.Has(w.algo) && row.protos.Has(w.proto)) {
			continue
		}
		if t := m.time(&l, w.cost, w.algo, w.proto); !found || t < best.Time {
			v.Algo, v.Proto = w.algo, w.proto
			best.Time, found = t, true
		}
	}
	if found {
		best.Variant = v
	}
	return found
}

// check refuses what no choice can be made for.
func (m *Model) check(c Call, o Options) error {
	bad := func(format string, args ...any) error {
		op := "plan"
		if c.Func < coll.NumFuncs {
			op = c.Func.String()
		}
		return result.New(result.InvalidArgument, op, format, args...)
	}
	switch {
	case c.Func >= coll.NumFuncs || c.Op >= coll.NumRedOps || c.Type >= coll.NumDataTypes:
		return bad("function, op or type is none: {%d %d %d}", c.Func, c.Op, c.Type)
	case !c.Func.HasAlgo():
		return bad("sends and receives are scheduled in rounds; they have no algorithm to choose")
	case c.Count < 0 || c.Count > m.maxCount:
		return bad("count %d is out of range", c.Count)
	case o.Channels < 0 || o.Channels > m.channels:
		return bad("%d channels; the communicator has %d, 1 to that are allowed", o.Channels, m.channels)
	case o.Threads != 0 && (o.Threads < minThreads || o.Threads > m.limits.MaxThreads || o.Threads%warpSize != 0):
		return bad("%d threads; a multiple of %d from %d to %d is allowed", o.Threads, warpSize, minThreads, m.limits.MaxThreads)
	}
	return nil
}

// refuse returns the error of a call for which nothing that was asked for can
// be used: ErrNotBuilt if it could be but for the build, else ErrInvalidArgument.
func (m *Model) refuse(c Call, o Options) error {
	what := ""
	if c.Func.Reduces() {
		what = fmt.Sprintf("%s of %s ", c.Op, c.Type)
	}
	var why verdict
	var can []string
	s := &m.settings
	for a := range coll.Algo(coll.NumAlgos) {
		for p := range coll.Proto(coll.NumProtos) {
			switch asked := o.Algos.Has(a) && o.Protos.Has(p); {
			case asked && s.Algos[c.Func].Has(a) && s.Protos[c.Func].Has(p):
				text, kind := m.reason(c, o, a, p)
				if kind == danger {
					text = fmt.Sprintf("%s %s", p, text)
					if m.kernel(c.variant(a, p)) != nil {
						kind = build
					}
				}
				why.add(text, kind)
			case m.possible(c, a, p):
				can = append(can, fmt.Sprintf("%s %s", a, p))
			}
		}
	}
	instead := "nothing else is possible"
	if len(can) > 0 {
		instead = "possible: " + strings.Join(can, ", ")
	}
	algos, protos := "with "+describe(o.Algos, s.Algos[c.Func], "NCCL_ALGO"), describe(o.Protos, s.Protos[c.Func], "NCCL_PROTO")
	if why.barrier == build {
		return result.New(result.InvalidUsage, c.Func.String(), "%s%s and %s: %w; %s", what, algos, protos, result.ErrNotBuilt, instead)
	}
	return result.New(result.InvalidArgument, c.Func.String(), "%s%s and %s is not possible%s; %s", what, algos, protos, why.clause(), instead)
}

// possible reports whether a call could run with an algorithm and a protocol if they
// were allowed.
func (m *Model) possible(c Call, a coll.Algo, p coll.Proto) bool {
	v, cost := c.variant(a, p), &m.costs[c.Func][a][p]
	return (cost.barrier == open || cost.barrier == setting) && undefined(v) == "" && m.kernel(v) == nil
}

// describe names what was asked for, and where a variable says so.
func describe[S interface {
	~uint8 | ~uint16
	String() string
}](asked, set S, variable string) string {
	switch {
	case set == 0:
		return asked.String()
	case asked == 0:
		return fmt.Sprintf("%s (%s)", set, variable)
	}
	return fmt.Sprintf("%s (%s leaves %s)", asked, variable, set)
}
