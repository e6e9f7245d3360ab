package devcomm

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/ncclgo/ncclgo/coll"
)

// The reference: what an all-reduce must give, computed on the host one element
// at a time from the ring order alone. It shares no code and no trick with the
// kernels: integers are computed as signed or unsigned Go integers, f16 through
// float64, in which sums and products of two f16 are exact.

// fold returns the reduction of one element over values, which are in the order
// in which the ring adds them, each partial result rounded to the type.
func fold(t coll.DataType, op coll.UserOp, values []uint64) uint64 {
	acc := values[0]
	for _, v := range values[1:] {
		acc = combine(t, op, acc, v)
	}
	return acc
}

func combine(t coll.DataType, op coll.UserOp, x, y uint64) uint64 {
	switch t {
	case coll.Int8:
		return uint64(uint8(integer(op, int8(x), int8(y))))
	case coll.Uint8:
		return uint64(integer(op, uint8(x), uint8(y)))
	case coll.Int32:
		return uint64(uint32(integer(op, int32(x), int32(y))))
	case coll.Uint32:
		return uint64(integer(op, uint32(x), uint32(y)))
	case coll.Float16:
		return uint64(toHalf(float(op, fromHalf(uint16(x)), fromHalf(uint16(y)))))
	case coll.Float32:
		return uint64(math.Float32bits(float(op, math.Float32frombits(uint32(x)), math.Float32frombits(uint32(y)))))
	case coll.Float64:
		return math.Float64bits(float(op, math.Float64frombits(x), math.Float64frombits(y)))
	}
	panic("no reference for " + t.String())
}

func integer[T int8 | uint8 | int32 | uint32](op coll.UserOp, x, y T) T {
	switch op {
	case coll.OpSum:
		return x + y
	case coll.OpProd:
		return x * y
	case coll.OpMin:
		return min(x, y)
	case coll.OpMax:
		return max(x, y)
	}
	panic("no reference for " + op.String())
}

func float[T float32 | float64](op coll.UserOp, x, y T) T {
	switch op {
	case coll.OpSum:
		return x + y
	case coll.OpProd:
		return x * y
	}
	// A NaN loses to a number; Go's min and max know that -0 < +0.
	switch {
	case x != x:
		return y
	case y != y:
		return x
	case op == coll.OpMin:
		return min(x, y)
	case op == coll.OpMax:
		return max(x, y)
	}
	panic("no reference for " + op.String())
}

func fromHalf(h uint16) float64 {
	sign := 1.0
	if h>>15 != 0 {
		sign = -1
	}
	exponent, fraction := int(h>>10&0x1f), float64(h&0x3ff)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// toHalf rounds to nearest even.
func toHalf(f float64) uint16 {
	var sign uint16
	if math.Signbit(f) {
		sign = 1 << 15
	}
	switch f = math.Abs(f); {
	case f != f:
		return 0x7fff
	case f == 0:
		return sign
	case f >= 65520: // halfway between the largest f16 and the next power of two
		return sign | 0x7c00
	}
	// The unit in the last place; subnormals share that of the smallest normals.
	_, exponent := math.Frexp(f)
	exponent = max(exponent-11, -24)
	units := uint16(math.RoundToEven(math.Ldexp(f, -exponent)))
	// In units of the last place, a carry into the next exponent adds up.
	return sign | (uint16(exponent+24)<<10 + units)
}

// isNaN reports whether v is a NaN of type t. NaNs are not told apart.
func isNaN(t coll.DataType, v uint64) bool {
	switch t {
	case coll.Float16:
		return v&0x7c00 == 0x7c00 && v&0x3ff != 0
	case coll.Float32:
		return v&0x7f800000 == 0x7f800000 && v&0x7fffff != 0
	case coll.Float64:
		return v<<1 > 0x7ff<<53
	}
	return false
}

// random returns a value of type t: floats of moderate size, so that sums round,
// and now and then a zero of either sign, a subnormal, an infinity or a NaN.
func random(t coll.DataType, rng *rand.Rand) uint64 {
	if !t.Float() {
		return rng.Uint64() >> (64 - 8*t.Size())
	}
	special := rng.IntN(16) == 0
	which := rng.IntN(6)
	pick := func(values [6]uint64) uint64 { return values[which] }
	f := (rng.Float64() + 0.25) * math.Exp2(float64(rng.IntN(9)-4))
	if rng.IntN(2) == 0 {
		f = -f
	}
	switch t {
	case coll.Float16:
		if special {
			return pick([6]uint64{0, 0x8000, 1, 0x7c00, 0xfc00, 0x7e01})
		}
		return uint64(toHalf(f))
	case coll.Float32:
		if special {
			return pick([6]uint64{0, 0x80000000, 1, 0x7f800000, 0xff800000, 0x7fc00001})
		}
		return uint64(math.Float32bits(float32(f)))
	default:
		if special {
			return pick([6]uint64{0, 1 << 63, 1, 0x7ff << 52, 0xfff << 52, 0x7ff8<<48 | 1})
		}
		return math.Float64bits(f)
	}
}

// element reads element i of type t.
func element(t coll.DataType, b []byte, i int) uint64 {
	var word [8]byte
	copy(word[:], b[i*t.Size():(i+1)*t.Size()])
	return binary.LittleEndian.Uint64(word[:])
}

// setElement writes element i of type t.
func setElement(t coll.DataType, b []byte, i int, v uint64) {
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], v)
	copy(b[i*t.Size():(i+1)*t.Size()], word[:])
}
