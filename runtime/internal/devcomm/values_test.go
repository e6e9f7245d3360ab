package devcomm

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/check"
)

// reference fills in a channel's part of the result from the ring's order alone.
// Each loop of the part is cut into a chunk for each place in the ring; chunk k is
// added up from place k+1 on around the ring to place k. chunk is in elements.
func reference(r *run, scalars []uint64, chunk int, ring []int, inputs [][]byte, p part, want []byte) {
	n, size := len(ring), r.dataType.Size()
	reduction := check.Reduction{Type: r.dataType, Op: r.op, NumRanks: r.divisor(n), Scalars: scalars}
	unit := 16 / size
	order, chunks := make([]int, n), make([][]byte, n)
	for done := 0; done < p.count; {
		per := chunk
		if rest := p.count - done; rest < n*chunk {
			per = (rest + n - 1) / n
			per = (per + unit - 1) / unit * unit
		}
		for k := range n {
			lo, hi := min(p.count, done+k*per), min(p.count, done+(k+1)*per)
			for j := range n {
				order[j] = ring[(k+1+j)%n]
				chunks[j] = inputs[j][(p.first+lo)*size : (p.first+hi)*size]
			}
			reduction.Fold(want[(p.first+lo)*size:(p.first+hi)*size], chunks, order)
		}
		done += n * per
	}
}

// layouts are the bits of exponent and fraction of the floating-point types.
var layouts = map[coll.DataType]struct{ exponent, fraction int }{
	coll.Float16: {5, 10}, coll.Float32: {8, 23}, coll.Float64: {11, 52}, coll.BFloat16: {8, 7},
	coll.F8E4M3: {4, 3}, coll.F8E5M2: {5, 2},
}

// random returns a value of type t: floats of moderate size, so that sums round,
// and now and then one of [specials].
func random(t coll.DataType, rng *rand.Rand) uint64 {
	l, isFloat := layouts[t]
	if !isFloat {
		return rng.Uint64() >> (64 - 8*t.Size())
	}
	if rng.IntN(16) == 0 {
		all := specials(t)
		return all[rng.IntN(len(all))]
	}
	one := 1<<(l.exponent-1) - 1
	exponent := uint64(one - 4 + rng.IntN(9))
	return rng.Uint64N(2)<<(l.exponent+l.fraction) | exponent<<l.fraction | rng.Uint64N(1<<l.fraction)
}

// specials are the values of a floating-point type at which something changes:
// zeros, the ends of the subnormals and of the normals, ones and their
// neighbours, infinity, quiet and signalling NaNs. Of E4M3, which has no infinity,
// some are large numbers.
func specials(t coll.DataType) []uint64 {
	l := layouts[t]
	sign, unit := uint64(1)<<(l.exponent+l.fraction), uint64(1)<<l.fraction
	infinity := sign - unit
	one := (uint64(1)<<(l.exponent-1) - 1) << l.fraction
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
