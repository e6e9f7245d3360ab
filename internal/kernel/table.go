package kernel

import (
	"cmp"
	"fmt"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
)

// NotBuilt is the dispatch entry of a valid variant without a kernel.
const NotBuilt = -1

// Excluded returns the dispatch entry of a variant that reason r excludes.
func Excluded(r int) int16 { return int16(-2 - r) }

// Table finds kernels by variant.
type Table struct {
	dispatch []int16
	reasons  []string
	kernels  []Kernel
}

// NewTable returns the table of the given kernels, whose PTX lies in the
// archive data: by ID of their variant, then by target. dispatch has an entry for
// each [coll.ID]: the index of the first kernel that serves it, [NotBuilt], or
// [Excluded] of an index into reasons. The table keeps its arguments.
func NewTable(dispatch []int16, reasons []string, kernels []Kernel, data []byte) *Table {
	source := newSource(data)
	for i := range kernels {
		kernels[i].source = source
	}
	return &Table{dispatch, reasons, kernels}
}

// Kernels returns all kernels, by ID of their variant and then by target. The
// slice is shared and not to be changed.
func (t *Table) Kernels() []Kernel { return t.kernels }

// Lookup returns the kernel that serves v on a GPU of compute capability sm,
// times 10: that of its canonical variant, for the highest target that the GPU
// has. It does not allocate when there is one.
func (t *Table) Lookup(v coll.Variant, sm int) (*Kernel, error) {
	if inRange(v) {
		if i := int(t.dispatch[v.ID()]); i >= 0 && t.kernels[i].SM <= sm {
			for next := i + 1; next < len(t.kernels) && t.kernels[next].Variant == t.kernels[i].Variant && t.kernels[next].SM <= sm; next++ {
				i = next
			}
			return &t.kernels[i], nil
		}
	}
	return nil, t.refuse(v, sm)
}

// inRange reports whether every field of v is one of its enumeration. Only then
// has v an ID.
func inRange(v coll.Variant) bool {
	return v.Func < coll.NumFuncs && v.Op < coll.NumRedOps && v.Type < coll.NumDataTypes &&
		v.Algo < coll.NumAlgos && v.Proto < coll.NumProtos
}

// refusal is a failed lookup in one allocation. Its texts are put together when
// they are read: a planner may try many variants and read none.
type refusal struct {
	err     result.Error
	variant coll.Variant
	why     string
	kind    error // what errors.Is finds besides the code; may be nil
}

// cause is the refusal without the result code around it.
type cause refusal

func (c *cause) Error() string { return c.variant.String() + ": " + c.why }
func (c *cause) Unwrap() error { return c.kind }

// SMError says that a variant has kernels, but none for a GPU that old.
type SMError struct {
	Variant  coll.Variant
	Need, SM int    // compute capabilities times 10: the least with a kernel, and the GPU's
	GPU      string // names the GPU, where one is known: "GPU 0"
}

// Error names the rule that excludes the GPU.
func (e *SMError) Error() string {
	what := e.Variant.String() + " needs"
	if e.Variant.Func.Reduces() && e.Variant.Type.ReduceSM() == e.Need {
		what = e.Variant.Type.String() + " reductions need"
	}
	return fmt.Sprintf("%s compute capability %d.%d; %s is sm_%d", what, e.Need/10, e.Need%10, cmp.Or(e.GPU, "the GPU"), e.SM)
}

// refuse returns the error of a variant without a kernel for a GPU of compute
// capability sm, times 10.
func (t *Table) refuse(v coll.Variant, sm int) error {
	if !inRange(v) {
		return result.New(result.InvalidArgument, "find kernel",
			"variant {%d %d %d %d %d}: a field is outside its enumeration", v.Func, v.Op, v.Type, v.Algo, v.Proto)
	}
	i := t.dispatch[v.ID()]
	if i >= 0 {
		return &result.Error{Code: result.InvalidArgument, Op: "find kernel", Peer: result.NoPeer,
			Err: &SMError{Variant: v, Need: t.kernels[i].SM, SM: sm}}
	}
	r := &refusal{variant: v}
	r.err = result.Error{Code: result.InvalidArgument, Op: "find kernel", Peer: result.NoPeer, Err: (*cause)(r)}
	if i == NotBuilt {
		r.err.Code, r.kind = result.InvalidUsage, result.ErrNotBuilt
		r.why = "valid, but this build has no kernel for it (nccl-gen -list -built lists those it has)"
	} else {
		r.why = t.reasons[-2-i]
	}
	return &r.err
}
