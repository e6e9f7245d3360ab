package coll

// Func is a collective function. The order is that of ncclFunc_t, with
// AllGatherV beside AllGather (NCCL v2.30 src/include/nccl_common.h).
type Func uint8

const (
	Broadcast Func = iota
	Reduce
	AllGather
	AllGatherV
	ReduceScatter
	AllReduce
	SendRecv

	NumFuncs = iota
)

// Reduces reports whether f combines values, so that its variants have a
// RedOp and a DataType. The others move bytes and have neither.
func (f Func) Reduces() bool {
	return f == Reduce || f == ReduceScatter || f == AllReduce
}

// HasAlgo reports whether variants of f have an Algo and a Proto. SendRecv has
// one kernel whatever the protocol.
func (f Func) HasAlgo() bool { return f != SendRecv }

// Rooted reports whether a call of f names a root rank.
func (f Func) Rooted() bool { return f == Broadcast || f == Reduce }

// BusBWFactor returns the ratio of bus bandwidth to algorithm bandwidth of f
// over nranks ranks: what the slowest link carries for each byte of S, where S
// is the number of bytes nccl-tests calls the size of the operation
// (nccl-tests doc/PERFORMANCE.md). It is 0 where one rank moves nothing.
func (f Func) BusBWFactor(nranks int) float64 {
	n := float64(nranks)
	switch f {
	case AllReduce:
		return 2 * (n - 1) / n
	case AllGather, AllGatherV, ReduceScatter:
		return (n - 1) / n
	default:
		return 1
	}
}

// ParseFunc returns the Func whose name is s, in any case and with or without
// the underscores or hyphens of file and command names ("all_reduce").
func ParseFunc(s string) (Func, error) { return parse[Func]("function", s, NumFuncs) }
