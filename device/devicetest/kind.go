package devicetest

import (
	"fmt"
	"math/rand/v2"
)

// kind is the type of one operand: its register, and the values it takes.
type kind struct {
	name    string // as PTX spells it after the dot
	bits    int    // of the value
	signed  bool
	format  *format // of each part, for floating point
	parts   int     // 2 for packed types
	corners []uint64
}

// slotBytes is the room every operand has in a thread's record.
const slotBytes = 8

// PTX types. Register widths follow from bits: 8-bit values live in 16-bit
// registers.
var (
	u8  = intKind("u8", 8, false)
	u16 = intKind("u16", 16, false)
	u32 = intKind("u32", 32, false)
	u64 = intKind("u64", 64, false)
	s8  = intKind("s8", 8, true)
	s16 = intKind("s16", 16, true)
	s32 = intKind("s32", 32, true)
	s64 = intKind("s64", 64, true)

	b8  = intKind("b8", 8, false)
	b16 = intKind("b16", 16, false)
	b32 = intKind("b32", 32, false)
	b64 = intKind("b64", 64, false)

	u16x2 = packedIntKind("u16x2", false)
	s16x2 = packedIntKind("s16x2", true)

	half     = floatKind("f16", f16)
	half2    = packedKind("f16x2", half)
	bfloat   = floatKind("bf16", bf16)
	bfloat2  = packedKind("bf16x2", bfloat)
	single   = floatKind("f32", f32)
	double   = floatKind("f64", f64)
	fp8e4m3  = packedKind("e4m3x2", floatKind("e4m3", e4m3))
	fp8e5m2  = packedKind("e5m2x2", floatKind("e5m2", e5m2))
	tfloat32 = floatKind("tf32", tf32)

	pred = &kind{name: "pred", bits: 1, parts: 1, corners: []uint64{0, 1}}
	// amount is a shift amount or a bit position: mostly small.
	amount = &kind{name: "u32", bits: 32, parts: 1, corners: []uint64{
		0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 24, 30, 31, 32, 33, 40, 47, 48, 63, 64, 65, 127, 128, 255,
		256, 257, 0x120, 0xffffffff, 0x80000000,
	}}
)

func intKind(name string, n int, signed bool) *kind {
	k := &kind{name: name, bits: n, signed: signed, parts: 1}
	top := uint64(1) << (n - 1)
	k.corners = []uint64{0, 1, 2, 3, top - 1, top, top + 1, mask(^uint64(0), n), mask(^uint64(1), n), top >> 1,
		1 << (n / 2), 1<<(n/2) - 1, 1<<(n/2-1) - 1, mask(^uint64(0)<<(n/2), n), 0x55, 10, 7, mask(^uint64(6), n)}
	if n >= 32 {
		k.corners = append(k.corners, 1<<24, 1<<24+1, 1<<25-1, 0x00ff00ff, mask(0x5555555555555555, n), mask(0xaaaaaaaaaaaaaaaa, n))
	}
	if n >= 64 {
		k.corners = append(k.corners, 1<<53, 1<<53+1, 1<<54-1, 1<<62-1,
			0xffffff7fffffffff, 0xffffff8000000001, 0xfffffffffffffc00, 0x7ffffffffffffe00)
	}
	return k
}

func packedIntKind(name string, signed bool) *kind {
	k := &kind{name: name, bits: 32, signed: signed, parts: 2}
	part := intKind("", 16, signed)
	k.corners = pairUp(part.corners, 16)
	return k
}

// pairUp makes packed corners: each one with several partners.
func pairUp(parts []uint64, n int) []uint64 {
	var all []uint64
	for i, lo := range parts {
		for _, step := range []int{0, 1, 5} {
			all = append(all, lo|parts[(i*7+step)%len(parts)]<<n)
		}
	}
	return all
}

func floatKind(name string, f *format) *kind {
	k := &kind{name: name, bits: f.bits(), signed: true, format: f, parts: 1}
	ulp := uint64(1) << f.drop
	one := f.one()
	two := one + f.minNormal()
	half := one - f.minNormal()
	positive := []uint64{
		0, ulp, 2 * ulp, 3 * ulp, // zero and the smallest subnormal numbers
		f.minNormal() - ulp, f.minNormal(), f.minNormal() + ulp,
		half, half - ulp, half + ulp, one, one - ulp, one + ulp, two, two + ulp,
		one | f.minNormal()>>1, two | f.minNormal()>>1, two | f.minNormal()>>2, // 1.5 3 2.5
		f.max(), f.max() - ulp, f.max() - f.minNormal()/2, f.nan(),
	}
	if !f.finite {
		positive = append(positive,
			f.inf(),
			f.inf()+ulp,                    // signalling, smallest payload
			f.inf()|f.minNormal()>>1|3*ulp, // quiet, with a payload
		)
	}
	if f.man > 8 {
		positive = append(positive,
			f.pack(intNumber(bigOf(1<<f.man, 64, false)), nearestEven), // above it there are no fractions
			f.pack(intNumber(bigOf(2<<f.man, 64, false)), nearestEven), // above it odd integers are lost
			f.pack(intNumber(bigOf(2<<f.man+2, 64, false)), nearestEven),
			f.pack(number{mant: bigOf(1<<(f.man+1)-1, 64, false), exp: -1}, nearestEven),
			f.pack(number{mant: bigOf(1<<(f.man+1)+1, 64, false), exp: -f.man}, towardZero),
		)
	}
	// The limits of the integer types and the neighbours of halfway cases there.
	for _, n := range []uint{7, 8, 15, 16, 31, 32, 63, 64} {
		if int(n) <= f.maxExp() {
			b := f.pack(number{mant: bigOf(1, 64, false), exp: int(n)}, nearestEven)
			positive = append(positive, b, b-ulp)
		}
	}
	// Halfway and next to halfway for the narrower formats.
	for _, narrow := range []*format{f32, f16, bf16, e4m3, e5m2, tf32} {
		if narrow.man >= f.man || narrow.exp > f.exp {
			continue
		}
		tie := one | f.minNormal()>>(narrow.man+1)
		positive = append(positive, tie, tie-ulp, tie+ulp, tie|f.minNormal()>>narrow.man)
		for _, edge := range []uint64{narrow.max(), narrow.minNormal(), 1 << narrow.drop} {
			e := f.pack(narrow.unpack(edge), nearestEven)
			step := f.minNormal() >> (narrow.man + 1)
			positive = append(positive, e, e+step, e+step-ulp, e-step, e>>1, e-f.minNormal(), e-f.minNormal()+ulp)
		}
	}
	for _, p := range positive {
		p = mask(p, f.bits()-1)
		k.corners = append(k.corners, p, p|f.sign())
	}
	return k
}

func packedKind(name string, part *kind) *kind {
	return &kind{name: name, bits: 2 * part.bits, signed: true, format: part.format, parts: 2,
		corners: pairUp(part.corners, part.bits)}
}

// width is the size in bits of the register that holds k.
func (k *kind) width() int { return max(16, k.bits) }

// partBits is the size of one part of a packed kind.
func (k *kind) partBits() int { return k.bits / k.parts }

// split returns the parts of x, lowest first.
func (k *kind) split(x uint64) []uint64 {
	var out []uint64
	for i := range k.parts {
		out = append(out, mask(x>>(i*k.partBits()), k.partBits()))
	}
	return out
}

// perPart applies f to each part of a packed operation, all operands of kind k.
func (k *kind) perPart(a []uint64, f func(a []uint64) uint64) uint64 {
	n := k.partBits()
	var d uint64
	part := make([]uint64, len(a))
	for p := range k.parts {
		for i, x := range a {
			part[i] = mask(x>>(p*n), n)
		}
		d |= mask(f(part), n) << (p * n)
	}
	return d
}

// same reports whether got is what want asks for: the same bits, or NaN where
// NaN is wanted, since the ISA leaves most payloads open.
func (k *kind) same(got, want uint64) bool {
	if k.format == nil {
		return got == want
	}
	w := k.split(want)
	for i, g := range k.split(got) {
		if k.format.isNaN(w[i]) {
			if !k.format.isNaN(g) {
				return false
			}
			continue
		}
		// Storage below the mantissa (tf32) is undefined.
		if g>>k.format.drop != w[i]>>k.format.drop {
			return false
		}
	}
	return true
}

// random returns any value of k, with small and extreme magnitudes as likely as
// others.
func (k *kind) random(r *rand.Rand) uint64 {
	if k == amount {
		return r.Uint64N(70)
	}
	x := mask(r.Uint64(), k.bits)
	switch {
	case k.format == nil && k.parts == 1 && r.IntN(3) == 0:
		return mask(uint64(int64(x<<(64-k.bits))>>(64-k.bits+r.IntN(k.bits))), k.bits)
	case k.format != nil && k.parts == 1 && r.IntN(2) == 0:
		// Near one, where results neither overflow nor vanish.
		f := k.format
		span := uint64(min(8, f.bias()-1))
		e := uint64(f.bias()) - span + r.Uint64N(2*span)
		return x&f.sign() | e<<(f.man+f.drop) | x&(f.minNormal()-1)
	}
	return x
}

// near returns a value close to x.
func (k *kind) near(x uint64, r *rand.Rand) uint64 {
	x += r.Uint64N(5) - 2
	if k.format != nil && r.IntN(2) == 0 {
		x ^= 1 << (k.bits - 1)
	}
	return mask(x, k.bits)
}

func (k *kind) String() string { return k.name }

// text prints a value for a report.
func (k *kind) text(x uint64) string {
	if k.bits == 1 {
		return fmt.Sprint(x)
	}
	return fmt.Sprintf("0x%0*x", k.bits/4, x)
}
