package nccl

import (
	"math"
	"sync/atomic"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/result"
)

// Op is the reduction operator of a call: a [coll.UserOp] but for coll.OpMulSum,
// which needs a scalar, or a [*PreMulSum]. Nothing else is accepted.
type Op interface {
	// String returns nccl-tests' name of the operator.
	String() string
	// Device returns the operator that kernels know for elements of type t.
	Device(t coll.DataType) coll.RedOp
}

// PreMulSum is a reduction operator of one rank, for elements of one type: it adds
// the ranks' inputs, this rank's multiplied by a scalar first and the product
// rounded to the type (docs/ARITHMETIC.md). Each rank has its own scalar. It is
// made by [Comm.NewPreMulSum] and may be used by any goroutine.
type PreMulSum struct {
	comm   *Comm
	typ    coll.DataType
	arg    operand
	closed atomic.Bool
}

// operand is the argument of a kernel's operator: bits, or the address of an
// element.
type operand struct {
	bits  uint64
	isPtr bool
}

// Scalar is what a [PreMulSum] multiplies by. The zero value is none.
type Scalar struct {
	kind  scalarKind
	value float64
	bits  uint64 // of an element, or an address
}

type scalarKind uint8

const (
	noScalar scalarKind = iota
	scalarValue
	scalarBits
	scalarAddress
)

// ScalarOf returns the scalar v. A floating-point type takes what is nearest to v
// in it, an integer type only a whole number that it has.
func ScalarOf(v float64) Scalar { return Scalar{kind: scalarValue, value: v} }

// ScalarBits returns the scalar whose bits, as an element of the operator's type,
// are the low bits of b; the others are 0.
func ScalarBits(b uint64) Scalar { return Scalar{kind: scalarBits, bits: b} }

// ScalarAt returns the scalar that lies at p in memory of the rank's device, an
// element of the operator's type. The kernel reads it each time it runs, that is
// when the work before it on the stream is done, and whenever a graph it was
// captured in is launched. The memory stays the caller's, who keeps it until then.
func ScalarAt(p device.Ptr) Scalar { return Scalar{kind: scalarAddress, bits: uint64(p)} }

const opNewPreMulSum = "NewPreMulSum"

// NewPreMulSum returns an operator for calls on c with elements of type t. Like
// NCCL's ncclRedOpCreatePreMulSum it concerns c's rank alone: no other has to call
// it, but in an operation all ranks use a PreMulSum or none.
func (c *Comm) NewPreMulSum(t coll.DataType, scalar Scalar) (*PreMulSum, error) {
	if err := c.usable(opNewPreMulSum); err != nil {
		return nil, err
	}
	if err := c.checkOperands(opNewPreMulSum, 0, t, coll.OpMulSum); err != nil {
		return nil, err.At(c.rank)
	}
	arg, err := scalar.operand(t)
	if err != nil {
		return nil, err.At(c.rank)
	}
	return &PreMulSum{comm: c, typ: t, arg: arg}, nil
}

// operand returns what a kernel for elements of t gets.
func (s Scalar) operand(t coll.DataType) (operand, *Error) {
	bad := func(format string, args ...any) (operand, *Error) {
		return operand{}, result.New(result.InvalidArgument, opNewPreMulSum, format, args...)
	}
	width := 8 * t.Size()
	switch s.kind {
	case scalarValue:
		if t.Float() {
			return operand{bits: t.Encode(s.value)}, nil
		}
		least, end := 0.0, math.Ldexp(1, width)
		if t.Signed() {
			least, end = -end/2, end/2
		}
		if s.value != math.Trunc(s.value) || s.value < least || s.value >= end {
			return bad("scalar %v is no value of %v; give a whole number that the type has, or the bits of one with ScalarBits", s.value, t)
		}
		whole := uint64(s.value)
		if s.value < 0 {
			whole = uint64(int64(s.value))
		}
		return operand{bits: whole << (64 - width) >> (64 - width)}, nil
	case scalarBits:
		if s.bits>>(width-1)>>1 != 0 {
			return bad("scalar bits %#x are more than the %d of %v; give those of one element, and 0 above them", s.bits, width, t)
		}
		return operand{bits: s.bits}, nil
	case scalarAddress:
		if err := checkBuffer(opNewPreMulSum, "scalar", device.Ptr(s.bits), uint64(t.Size()), t); err != nil {
			return operand{}, err
		}
		return operand{s.bits, true}, nil
	}
	return bad("the scalar is the zero value; give one with ScalarOf, ScalarBits or ScalarAt")
}

// String returns "mulsum", nccl-tests' name of such operators.
func (o *PreMulSum) String() string { return coll.OpMulSum.String() }

// Device returns coll.PreMulSum.
func (o *PreMulSum) Device(coll.DataType) coll.RedOp { return coll.PreMulSum }

// Close ends the use of the operator. Calls that have returned are not concerned,
// not even those of a group that is not launched yet.
func (o *PreMulSum) Close() error {
	const name = "PreMulSum.Close"
	if o == nil || o.comm == nil {
		return result.New(result.InvalidArgument, name, "the operator is nil or zero; make one with NewPreMulSum")
	}
	if o.closed.Swap(true) {
		return result.New(result.InvalidUsage, name, "the operator is closed already").At(o.comm.rank)
	}
	return nil
}

// operator returns what a call of the given name with elements of t is to do.
func (c *Comm) operator(name string, op Op, t coll.DataType) (coll.UserOp, operand, *Error) {
	bad := func(code result.Code, format string, args ...any) (coll.UserOp, operand, *Error) {
		return 0, operand{}, result.New(code, name, format, args...)
	}
	switch op := op.(type) {
	case coll.UserOp:
		if op == coll.OpMulSum {
			return bad(result.InvalidArgument, "op mulsum needs a scalar; make the operator with NewPreMulSum and pass that")
		}
		return op, c.argument(op, t), nil
	case *PreMulSum:
		switch {
		case op == nil || op.comm == nil:
			return bad(result.InvalidArgument, "the PreMulSum operator is nil or zero; make one with NewPreMulSum")
		case op.comm.shared != c.shared:
			return bad(result.InvalidArgument, "the PreMulSum operator is of another communicator; make one with NewPreMulSum of this")
		case op.comm != c:
			return bad(result.InvalidArgument, "the PreMulSum operator is rank %d's; make one with NewPreMulSum of this rank", op.comm.rank)
		case op.typ != t:
			return bad(result.InvalidArgument, "the PreMulSum operator is for %v, the elements are %v; make one for their type", op.typ, t)
		case op.closed.Load():
			return bad(result.InvalidUsage, "the PreMulSum operator is closed; make a new one with NewPreMulSum")
		}
		return coll.OpMulSum, op.arg, nil
	case nil:
		return bad(result.InvalidArgument, "op is nil; pass a coll.UserOp, or what NewPreMulSum returned")
	default:
		return bad(result.InvalidArgument, "op is a %T; pass a coll.UserOp, or what NewPreMulSum returned", op)
	}
}

// argument returns what kernels get for a built-in operator. It may be unknown, and
// so may t.
func (c *Comm) argument(op coll.UserOp, t coll.DataType) operand {
	switch {
	case int(t) >= coll.NumDataTypes:
	case op == coll.OpMin, op == coll.OpMax:
		return operand{bits: op.MinMaxArg(t)}
	case op == coll.OpAvg:
		return operand{bits: coll.AvgArg(t, len(c.shared.comms))}
	}
	return operand{}
}
