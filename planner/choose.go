package planner

import (
	"errors"
	"fmt"
	"math"
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

// Options fix parts of a choice. The zero value leaves all of it open.
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
	// ChunkBytes is the size of a chunk when the call runs alone, a multiple of
	// 16.
	ChunkBytes int
	Bytes      int64   // size of the call: of the larger of its buffers
	Time       float32 // predicted, µs
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
// the order of package coll among equals. It does not allocate unless it fails.
func (m *Model) Choose(c Call, o Options) (Choice, error) {
	if err := m.check(c, o); err != nil {
		return Choice{}, err
	}
	best := Choice{Bytes: m.Bytes(c), Time: math.MaxFloat32}
	found := false
	for _, a := range m.algos {
		for p := range coll.Proto(coll.NumProtos) {
			if !m.usable(c, o, a, p) {
				continue
			}
			if t := m.costs[c.Func][a][p].time(best.Bytes); !found || t < best.Time {
				best.Variant, best.Time, found = c.variant(a, p), t, true
			}
		}
	}
	if !found {
		return Choice{}, m.refuse(c, o)
	}
	p := best.Variant.Proto
	best.Channels, best.Threads = m.size(p, best.Bytes, o)
	best.ChunkBytes = m.chunk(best.Variant, m.partBytes(c, best.Channels))
	return best, nil
}

// usable reports whether a call may run with an algorithm and a protocol.
func (m *Model) usable(c Call, o Options, a coll.Algo, p coll.Proto) bool {
	return o.Algos.Has(a) && o.Protos.Has(p) && m.built[c.variant(a, p).ID()]
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
	case c.Count < 0 || c.Count > math.MaxInt64/int64(64*m.nranks):
		return bad("count %d is out of range", c.Count)
	case o.Channels < 0 || o.Channels > m.channels:
		return bad("%d channels; the communicator has %d, 1 to that are allowed", o.Channels, m.channels)
	case o.Threads != 0 && (o.Threads < minThreads || o.Threads > m.limits.MaxThreads || o.Threads%warpSize != 0):
		return bad("%d threads; a multiple of %d from %d to %d is allowed", o.Threads, warpSize, minThreads, m.limits.MaxThreads)
	}
	return nil
}

// size returns the channels and threads for n bytes: all of both if each thread
// has enough to do, else fewer channels, then fewer threads (topoGetAlgoInfo,
// NCCL v2.30 src/enqueue.cc, without the warp that NCCL adds for Simple's
// flags).
func (m *Model) size(p coll.Proto, n int64, o Options) (channels, threads int) {
	channels, threads = m.channels, m.maxThreads[p]
	fewest := m.limits.MinChannels
	if o.Channels != 0 {
		channels, fewest = o.Channels, o.Channels
	}
	if o.Threads != 0 {
		threads = min(o.Threads, maxThreads[p])
	}
	idle := func() bool { return n < int64(channels)*int64(threads)*m.threshold[p] }
	for channels > fewest && idle() {
		channels--
	}
	for o.Threads == 0 && idle() && threads%(4*warpSize) == 0 {
		threads /= 2
	}
	if o.Threads == 0 && p != coll.Simple {
		// NCCL launches three warps at least; one of Simple's three is the one
		// for flags.
		threads = max(threads, min(3*warpSize, m.limits.MaxThreads))
	}
	return channels, threads
}

// reason returns why a call does not run with an algorithm and a protocol, ""
// if it may.
func (m *Model) reason(c Call, o Options, a coll.Algo, p coll.Proto) (string, error) {
	v := c.variant(a, p)
	if err := m.kernel(v); err != nil {
		return shortReason(v, err), err
	}
	model := &m.costs[c.Func][a][p]
	switch {
	case !o.Algos.Has(a) || !o.Protos.Has(p):
		return "not asked for", nil
	case model.bw == 0:
		return fmt.Sprintf("no graph for %s was searched", a), nil
	case model.unsafe != "":
		return model.unsafe, nil
	}
	return "", nil
}

// shortReason is the innermost part of a kernel lookup's error, without the
// name of the variant, which whoever prints it has.
func shortReason(v coll.Variant, err error) string {
	if errors.Is(err, result.ErrNotBuilt) {
		return result.ErrNotBuilt.Error()
	}
	var e *result.Error
	if errors.As(err, &e) && e.Err != nil {
		err = e.Err
	}
	return strings.TrimPrefix(err.Error(), v.String()+": ")
}

// refuse returns the error of a call for which nothing that was asked for can
// be used: ErrInvalidArgument if rules exclude everything or what is built is
// unsafe here, else ErrNotBuilt.
func (m *Model) refuse(c Call, o Options) error {
	what := c.Func.String()
	if c.Func.Reduces() {
		what = fmt.Sprintf("%s of %s", c.Op, c.Type)
	}
	var why, can []string
	unsafe, missing := "", false
	for a := range coll.Algo(coll.NumAlgos) {
		for p := range coll.Proto(coll.NumProtos) {
			if o.Algos.Has(a) && o.Protos.Has(p) {
				text, err := m.reason(c, o, a, p)
				missing = missing || errors.Is(err, result.ErrNotBuilt)
				why = append(why, text)
				if model := &m.costs[c.Func][a][p]; err == nil && model.unsafe != "" {
					unsafe = fmt.Sprintf("%s %s", p, text)
				}
			} else if m.usable(c, Options{}, a, p) {
				can = append(can, fmt.Sprintf("%s %s", a, p))
			}
		}
	}
	instead := "nothing else is possible"
	if len(can) > 0 {
		instead = "possible: " + strings.Join(can, ", ")
	}
	// One reason is worth telling; of many, that there are many.
	detail := ""
	switch {
	case unsafe != "":
		detail, missing = ": "+unsafe, false
	case len(why) == 1:
		detail = ": " + why[0]
	}
	e := result.New(result.InvalidArgument, c.Func.String(), "%s with %s and %s is not possible%s; %s",
		what, o.Algos, o.Protos, detail, instead)
	if missing {
		e = result.New(result.InvalidUsage, c.Func.String(), "%s with %s and %s: %w; %s",
			what, o.Algos, o.Protos, result.ErrNotBuilt, instead)
	}
	return e
}
