package devicetest

import "math/big"

// mask returns the low n bits of x.
func mask(x uint64, n int) uint64 {
	if n >= 64 {
		return x
	}
	return x & (1<<n - 1)
}

// bigOf returns the integer that x is in a type of n bits.
func bigOf(x uint64, n int, signed bool) *big.Int {
	b := new(big.Int).SetUint64(mask(x, n))
	if signed && b.Bit(n-1) == 1 {
		b.Sub(b, new(big.Int).Lsh(big.NewInt(1), uint(n)))
	}
	return b
}

// wrapBig returns the low n bits of x in two's complement.
func wrapBig(x *big.Int, n int) uint64 {
	m := new(big.Int).Lsh(big.NewInt(1), uint(n))
	return new(big.Int).Mod(x, m).Uint64()
}

// limits returns the least and the largest integer of a type of n bits.
func limits(n int, signed bool) (lo, hi *big.Int) {
	if signed {
		hi = new(big.Int).Lsh(big.NewInt(1), uint(n-1))
		return new(big.Int).Neg(hi), new(big.Int).Sub(hi, big.NewInt(1))
	}
	hi = new(big.Int).Lsh(big.NewInt(1), uint(n))
	return new(big.Int), hi.Sub(hi, big.NewInt(1))
}

// clampBig limits x to the range of a type of n bits.
func clampBig(x *big.Int, n int, signed bool) *big.Int {
	lo, hi := limits(n, signed)
	switch {
	case x.Cmp(lo) < 0:
		return lo
	case x.Cmp(hi) > 0:
		return hi
	}
	return x
}

// bit returns bit i of x, 0 beyond 63.
func bit(x uint64, i int) uint64 {
	if i < 0 || i > 63 {
		return 0
	}
	return x >> i & 1
}

// bitwise builds an n-bit value from its bits.
func bitwise(n int, f func(i int) uint64) uint64 {
	var x uint64
	for i := range n {
		x |= f(i) & 1 << i
	}
	return x
}

// bitField is bfe: length bits of x from position pos, extended by the field's
// top bit if signed.
func bitField(x uint64, pos, length, n int, signed bool) uint64 {
	var fill uint64
	if signed && length > 0 {
		fill = bit(x, min(pos+length-1, n-1))
	}
	return bitwise(n, func(i int) uint64 {
		if i < length && pos+i < n {
			return bit(x, pos+i)
		}
		return fill
	})
}

// insertField is bfi: the low length bits of a put into b at position pos.
func insertField(a, b uint64, pos, length, n int) uint64 {
	return bitwise(n, func(i int) uint64 {
		if i >= pos && i < pos+length {
			return bit(a, i-pos)
		}
		return bit(b, i)
	})
}

// highestDiffering is bfind: the position of the highest bit that is not a sign
// bit, all ones if there is none.
func highestDiffering(x uint64, n int, signed bool) uint64 {
	var sign uint64
	if signed {
		sign = bit(x, n-1)
	}
	for i := n - 1; i >= 0; i-- {
		if bit(x, i) != sign {
			return uint64(i)
		}
	}
	return 0xffffffff
}

// permuteModes gives for each mode of prmt but the default, and each value of
// the two selector bits, which byte of the pair {b, a} each result byte is,
// lowest first (PTX ISA, prmt).
var permuteModes = map[string][4][4]int{
	"f4e":  {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}},
	"b4e":  {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}},
	"rc8":  {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}},
	"ecl":  {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}},
	"ecr":  {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}},
	"rc16": {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}},
}

// permute is prmt; mode "" is the default.
func permute(a, b, c uint64, mode string) uint64 {
	pair := mask(a, 32) | mask(b, 32)<<32
	var d uint64
	for i := range 4 {
		var from int
		replicate := false
		if mode == "" {
			sel := c >> (4 * i) & 15
			from, replicate = int(sel&7), sel&8 != 0
		} else {
			from = permuteModes[mode][c&3][i]
		}
		v := pair >> (8 * from) & 0xff
		if replicate {
			v = bit(v, 7) * 0xff
		}
		d |= v << (8 * i)
	}
	return d
}

// lut3 is lop3: bit by bit, entry a*4+b*2+c of the table.
func lut3(a, b, c uint64, table int) uint64 {
	return bitwise(32, func(i int) uint64 {
		return bit(uint64(table), int(bit(a, i)<<2|bit(b, i)<<1|bit(c, i)))
	})
}

// nthSet is fns: the position of the n-th set bit of x counted from base up
// for n > 0, down for n < 0; base itself if it is set for n = 0; all ones if
// there is none (PTX ISA, fns).
func nthSet(x uint64, base int, n int32) uint64 {
	switch {
	case n == 0 && bit(x, base) == 1:
		return uint64(base)
	case n > 0:
		for i := base; i < 32; i++ {
			if n -= int32(bit(x, i)); n == 0 {
				return uint64(i)
			}
		}
	case n < 0:
		for i := base; i >= 0; i-- {
			if n += int32(bit(x, i)); n == 0 {
				return uint64(i)
			}
		}
	}
	return 0xffffffff
}
