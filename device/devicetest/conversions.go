package devicetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

// Conversions runs the conversions between float formats that reductions are made
// of on device 0 of the driver that open returns: over every operand of 8 or 16
// bits, and for those of 32 bits over every value, halfway case and neighbour of
// the narrower format and 2^20 random ones (2^16 with -short). Results are
// compared bit for bit, NaN included. What device 0 does not have is skipped by
// name.
func Conversions(t *testing.T, open func(t *testing.T) device.Driver) {
	driver := open(t)
	defer driver.Close()
	dev, err := driver.Open(0)
	require.NoError(t, err)
	stream, err := dev.NewStream()
	require.NoError(t, err)
	for _, s := range sweeps() {
		t.Run(s.name, func(t *testing.T) {
			if need := s.isa.sm; dev.Info().SM < need {
				t.Skipf("skipped: needs a GPU of sm_%d", need)
			}
			s.run(t, dev, stream)
		})
	}
}

// sweep is a conversion over many operands. A thread has its operand in w and its
// neighbour's in v, and leaves the result in w.
type sweep struct {
	name string
	code string
	isa  isa
	in   func() []uint32
	ref  func(w, v uint32) uint32
}

func sweeps() []sweep {
	fp8 := isa{"8.1", 89}
	var all []sweep
	for _, c := range []*codes{codesE4M3, codesE5M2} {
		narrow := c.saturated()
		all = append(all,
			sweep{"f16x2." + c.name + "x2", "cvt.u16.u32 h, w; cvt.rn.f16x2." + c.name + "x2 w, h;", fp8, words16,
				func(w, _ uint32) uint32 {
					return codesF16.round(c.value(w&0xff)) | codesF16.round(c.value(w>>8))<<16
				}},
			sweep{c.name + "x2.f16x2", "cvt.rn.satfinite." + c.name + "x2.f16x2 h, w; cvt.u32.u16 w, h;", fp8, pairs16,
				func(w, _ uint32) uint32 {
					return narrow.round(codesF16.value(w&0xffff)) | narrow.round(codesF16.value(w>>16))<<8
				}},
			sweep{c.name + "x2.f32", "cvt.rn.satfinite." + c.name + "x2.f32 h, f, g; cvt.u32.u16 w, h;", fp8, words32(c),
				func(w, v uint32) uint32 { return narrow.round(float(w))<<8 | narrow.round(float(v)) }},
		)
	}
	return append(all,
		sweep{"f32.bf16", "cvt.u16.u32 h, w; cvt.f32.bf16 f, h; mov.b32 w, f;", hopper, words16,
			// A payload is kept here, as an H200 does.
			func(w, _ uint32) uint32 { return w << 16 }},
		sweep{"f32.f16", "cvt.u16.u32 h, w; cvt.f32.f16 f, h; mov.b32 w, f;", baseline, words16,
			func(w, _ uint32) uint32 {
				if v := codesF16.value(w); !math.IsNaN(v) {
					return math.Float32bits(float32(v))
				}
				return 0x7fffffff
			}},
		sweep{"bf16.f32", "cvt.rn.bf16.f32 h, f; cvt.u32.u16 w, h;", ampere, words32(codesBF16),
			func(w, _ uint32) uint32 { return codesBF16.round(float(w)) }},
		sweep{"bf16x2.f32", "cvt.rn.bf16x2.f32 w, f, g;", ampere, words32(codesBF16),
			func(w, v uint32) uint32 { return codesBF16.round(float(w))<<16 | codesBF16.round(float(v)) }},
		sweep{"f16.f32", "cvt.rn.f16.f32 h, f; cvt.u32.u16 w, h;", baseline, words32(codesF16),
			func(w, _ uint32) uint32 { return codesF16.round(float(w)) }},
		sweep{"bf16.f32.f16", "cvt.u16.u32 h, w; cvt.f32.f16 f, h; cvt.rn.bf16.f32 h, f; cvt.u32.u16 w, h;", ampere, words16,
			func(w, _ uint32) uint32 { return codesBF16.round(codesF16.value(w)) }},
		sweep{"f16.f32.bf16", "shl.b32 w, w, 16; mov.b32 f, w; cvt.rn.f16.f32 h, f; cvt.u32.u16 w, h;", baseline, words16,
			func(w, _ uint32) uint32 { return codesF16.round(codesBF16.value(w)) }},
		sweep{"bf16.f16", "cvt.u16.u32 h, w; cvt.rn.bf16.f16 h, h; cvt.u32.u16 w, h;", hopper, words16,
			func(w, _ uint32) uint32 { return codesBF16.round(codesF16.value(w)) }},
		sweep{"f16.bf16", "cvt.u16.u32 h, w; cvt.rn.f16.bf16 h, h; cvt.u32.u16 w, h;", hopper, words16,
			func(w, _ uint32) uint32 { return codesF16.round(codesBF16.value(w)) }},
	)
}

func float(bits uint32) float64 { return float64(math.Float32frombits(bits)) }

// words16 is every word of 16 bits.
func words16() []uint32 {
	words := make([]uint32, 1<<16)
	for i := range words {
		words[i] = uint32(i)
	}
	return words
}

// pairs16 is pairs of which both the low and the high halves are every word of 16
// bits, in unlike orders.
func pairs16() []uint32 {
	words := words16()
	for i, w := range words {
		// An odd factor permutes the words.
		words[i] = w | w*0x9e37<<16
	}
	return words
}

// words32 is float32 operands for a conversion to a narrower format: each of its
// values and the halfway case above it, with the float32 numbers next to them, of
// both signs; what is not a number; and random words, half of them in the range of
// the format.
func words32(to *codes) func() []uint32 {
	return func() []uint32 {
		words := []uint32{0x7f800000, 0x7f800001, 0x7fbfffff, 0x7fc00000, 0x7fffffff, 0x7f7fffff, 0, 1, 0x007fffff, 0x00800000}
		for i, v := range to.magnitudes[:to.finite] {
			for _, x := range []float64{v, (v + to.magnitudes[i+1]) / 2} {
				b := math.Float32bits(float32(x))
				words = append(words, b, b+1)
				if b > 0 {
					words = append(words, b-1)
				}
			}
		}
		for _, w := range words {
			words = append(words, w|1<<31)
		}
		n := 1 << 20
		if testing.Short() {
			n = 1 << 16
		}
		r := rand.New(rand.NewPCG(uint64(to.width), uint64(to.finite)))
		least, most := to.magnitudes[1]/4, to.magnitudes[to.finite]
		span := math.Log2(most / least)
		for range n / 2 {
			x := math.Copysign(least*math.Exp2(span*r.Float64()), float64(r.IntN(2))-0.5)
			words = append(words, r.Uint32(), math.Float32bits(float32(x)))
		}
		for len(words)%ctaThreads != 0 {
			words = append(words, r.Uint32())
		}
		return words
	}
}

// sweepModule is the module of a sweep. Its threads are as many as there are operands.
func (s *sweep) module() string {
	return fmt.Sprintf(`.version %s
.target sm_%d
.address_size 64
.visible .entry sweep(.param .u64 p_in, .param .u64 p_out)
{
	.reg .b16 h;
	.reg .b32 w, v, i, n;
	.reg .f32 f, g;
	.reg .b64 in, out, at;
	ld.param.u64 in, [p_in];
	ld.param.u64 out, [p_out];
	mov.u32 i, %%tid.x;
	mov.u32 n, %%ctaid.x;
	mad.lo.u32 i, n, %d, i;
	mad.wide.u32 at, i, 4, in;
	ld.global.u32 w, [at];
	xor.b32 n, i, 1;
	mad.wide.u32 at, n, 4, in;
	ld.global.u32 v, [at];
	mov.b32 f, w;
	mov.b32 g, v;
	%s
	mad.wide.u32 at, i, 4, out;
	st.global.u32 [at], w;
	ret;
}
`, s.isa.ptx, s.isa.sm, ctaThreads, strings.ReplaceAll(s.code, "; ", ";\n\t"))
}

func (s *sweep) run(t *testing.T, dev device.Device, stream device.Stream) {
	const reported = 3
	text := s.module()
	module, err := dev.LoadModule("sweep.ptx", []byte(text))
	require.NoError(t, err, "%s", numbered(text))
	f, err := module.Function("sweep")
	require.NoError(t, err)
	words := s.in()
	size := int64(4 * len(words))
	in, err := dev.Alloc(size, "sweep in")
	require.NoError(t, err)
	out, err := dev.Alloc(size, "sweep out")
	require.NoError(t, err)
	buf := make([]byte, 0, size)
	for _, w := range words {
		buf = binary.LittleEndian.AppendUint32(buf, w)
	}
	require.NoError(t, dev.CopyIn(in, buf))
	args := binary.LittleEndian.AppendUint64(nil, uint64(in))
	args = binary.LittleEndian.AppendUint64(args, uint64(out))
	require.NoError(t, stream.Launch(&device.Launch{Function: f, Grid: len(words) / ctaThreads, Threads: ctaThreads, Args: args, Label: s.name}))
	ctx, cancel := context.WithTimeout(context.Background(), rowTimeout)
	defer cancel()
	require.NoError(t, stream.Synchronize(ctx))
	require.NoError(t, dev.CopyOut(buf, out))
	bad := 0
	for i, w := range words {
		got, want := binary.LittleEndian.Uint32(buf[4*i:]), s.ref(w, words[i^1])
		if got == want {
			continue
		}
		if bad++; bad <= reported {
			t.Errorf("%s: %#x, want %#x, from %#x and %#x", s.code, got, want, w, words[i^1])
		}
	}
	if bad > reported {
		t.Errorf("%d of %d results are wrong", bad, len(words))
	}
	require.NoError(t, dev.Free(in))
	require.NoError(t, dev.Free(out))
	require.NoError(t, module.Unload())
}
