package cluster

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/ncclgo/ncclgo/coll"
)

// floats are the bits of the exponent and of the fraction of each floating-point
// type.
var floats = map[coll.DataType]struct{ exponent, fraction int }{
	coll.Float16: {5, 10}, coll.BFloat16: {8, 7}, coll.Float32: {8, 23}, coll.Float64: {11, 52},
	coll.F8E4M3: {4, 3}, coll.F8E5M2: {5, 2},
}

// random returns the bits of an element: any integer; a float of moderate size,
// so that sums and products round, and now and then one of specials.
func random(t coll.DataType, rng *rand.Rand) uint64 {
	bits := rng.Uint64() >> (64 - 8*t.Size())
	f, ok := floats[t]
	if !ok {
		return bits
	}
	if rng.IntN(32) == 0 {
		all := specials(t)
		return all[rng.IntN(len(all))]
	}
	top := uint64(1<<f.exponent-1) << f.fraction
	exponent := uint64(1<<(f.exponent-1)-1) - 4 + rng.Uint64N(9)
	return bits&^top | exponent<<f.fraction
}

// specials are the values of a floating-point type at which something changes:
// zeros, the ends of the subnormals and of the normals, ones and their
// neighbours, infinity, quiet and signalling NaNs. Of f8e4m3, which has no
// infinity, some are large numbers.
func specials(t coll.DataType) []uint64 {
	f := floats[t]
	sign, unit := uint64(1)<<(f.exponent+f.fraction), uint64(1)<<f.fraction
	infinity := sign - unit
	one := (uint64(1)<<(f.exponent-1) - 1) << f.fraction
	return []uint64{
		0, sign, 1, sign | (unit - 1), unit, sign | unit, one, one + 1, sign | (one - 1), infinity - 1, sign | (infinity - 1),
		infinity, sign | infinity, infinity + 1, sign | (infinity + unit/2), sign - 1,
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
