package coll

// RedOp is a reduction operator as kernels know it. The order is that of
// ncclDevRedOp_t (NCCL v2.30 src/include/nccl_common.h).
type RedOp uint8

const (
	Sum RedOp = iota
	Prod
	// MinMax is minimum or maximum, decided at run time by the work's
	// argument: see MinMaxArg.
	MinMax
	// PreMulSum multiplies each rank's input by a scalar before summing.
	PreMulSum
	// SumPostDiv divides an integer sum by the number of ranks at the end.
	SumPostDiv

	NumRedOps = iota
)

// ParseRedOp returns the RedOp whose name is s, in any case.
func ParseRedOp(s string) (RedOp, error) { return parse[RedOp]("device op", s, NumRedOps) }

// UserOp is a reduction operator as callers know it. The order and the names
// are those of nccl-tests 2.19 (ncclRedOp_t plus mulsum).
type UserOp uint8

const (
	OpSum    UserOp = iota // sum
	OpProd                 // prod
	OpMax                  // max
	OpMin                  // min
	OpAvg                  // avg
	OpMulSum               // mulsum

	NumUserOps = iota
)

// ParseUserOp returns the UserOp whose name is s, in any case.
func ParseUserOp(s string) (UserOp, error) { return parse[UserOp]("op", s, NumUserOps) }

// Device returns the device operator that computes o on elements of type t.
// avg divides an integer sum after the reduction and scales a floating-point
// input before it, as NCCL does.
func (o UserOp) Device(t DataType) RedOp {
	switch o {
	case OpProd:
		return Prod
	case OpMin, OpMax:
		return MinMax
	case OpAvg:
		if t.Float() {
			return PreMulSum
		}
		return SumPostDiv
	case OpMulSum:
		return PreMulSum
	default:
		return Sum
	}
}

// MinMaxArg returns the argument that makes the MinMax kernel of t's canonical
// type compute o, which is OpMin or OpMax.
//
// Integers: a mask m of the type's width; the kernel computes
// min(x^m, y^m)^m on the unsigned type. Flipping all bits reverses the order,
// flipping the sign bit maps signed order onto unsigned order, so one kernel
// serves four operators. Floats: 0 takes the minimum, 1 the maximum.
func (o UserOp) MinMaxArg(t DataType) uint64 {
	var m uint64
	if t.Float() {
		if o == OpMax {
			return 1
		}
		return 0
	}
	bits := 8 * uint(t.Size())
	if o == OpMax {
		m = ^uint64(0) >> (64 - bits)
	}
	if t.Signed() {
		m ^= 1 << (bits - 1)
	}
	return m
}

// AvgArg returns the argument that makes a kernel average elements of t over
// nranks ranks. Floats, which are scaled before they are added: the bits of
// 1/nranks, rounded once. Integers, whose sum is divided: nranks times 2, plus 1 if
// they are signed.
func AvgArg(t DataType, nranks int) uint64 {
	if t.Float() {
		// A double holds 1/nranks so well that rounding it again is rounding 1/nranks.
		return t.Encode(1 / float64(nranks))
	}
	arg := uint64(nranks) << 1
	if t.Signed() {
		arg |= 1
	}
	return arg
}
