package sim_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

// lab runs small kernels on small GPUs.
type lab struct {
	testing.TB
	m       *sim.Machine
	devs    []device.Device
	streams []device.Stream
	out     device.Ptr // on GPU 0, outWords words
}

const outWords = 4096

// smallGPU has 2 SMs of 2 CTAs of up to 256 threads.
func smallGPU() device.Info {
	i := sim.H100()
	i.Name, i.NumSMs, i.MaxCTAsPerSM, i.MaxThreadsPerSM, i.MemoryBytes = "small", 2, 2, 256, 1<<30
	return i
}

func newLab(tb testing.TB, cfg sim.Config) *lab {
	tb.Helper()
	if cfg.Devices == nil {
		cfg.Devices = []device.Info{smallGPU()}
	}
	m, err := sim.New(cfg)
	require.NoError(tb, err)
	tb.Cleanup(func() { m.Close() })
	l := &lab{TB: tb, m: m}
	for i := range m.NumDevices() {
		d, err := m.Open(i)
		require.NoError(tb, err)
		s, err := d.NewStream()
		require.NoError(tb, err)
		l.devs, l.streams = append(l.devs, d), append(l.streams, s)
	}
	l.out = l.alloc(0, 4*outWords, "out")
	return l
}

func (l *lab) alloc(gpu int, size int64, label string) device.Ptr {
	l.Helper()
	p, err := l.devs[gpu].Alloc(size, label)
	require.NoError(l, err)
	return p
}

// header declares what test kernels use; their parameters are three words of 64
// bits. Its last line is headerLines, so line n of a body is headerLines+n.
const header = `.version 8.3
.target sm_90
.address_size 64
.const .u32 limit = 7;
.visible .entry k(.param .u64 A, .param .u64 B, .param .u64 C)
{
.reg .pred p, q; .reg .b32 t, x, y, z, lane, cta; .reg .b64 a, b, c, at, rx, ry;
.shared .align 16 .b8 sm[256];
.local .align 8 .b8 lo[64];
ld.param.u64 a, [A]; ld.param.u64 b, [B]; ld.param.u64 c, [C];
mov.u32 t, %tid.x; mov.u32 lane, %laneid; mov.u32 cta, %ctaid.x;
mad.wide.u32 at, t, 4, a;
`

var headerLines = strings.Count(header, "\n")

func (l *lab) function(gpu int, body string) device.Function {
	l.Helper()
	mod, err := l.devs[gpu].LoadModule("test.ptx", []byte(header+strings.TrimPrefix(body, "\n")+"\nret;\n}\n"))
	require.NoError(l, err)
	f, err := mod.Function("k")
	require.NoError(l, err)
	return f
}

type shape struct {
	gpu, grid, threads int
	label              string
	ctas               []string
}

// launch queues a kernel with the given body; its first argument is l.out unless
// others are given.
func (l *lab) launch(s shape, body string, args ...device.Ptr) {
	l.Helper()
	if len(args) == 0 {
		args = []device.Ptr{l.out}
	}
	args = append(args, 0, 0, 0)[:3]
	var block []byte
	for _, a := range args {
		block = binary.LittleEndian.AppendUint64(block, uint64(a))
	}
	require.NoError(l, l.streams[s.gpu].Launch(&device.Launch{Function: l.function(s.gpu, body),
		Grid: max(s.grid, 1), Threads: s.threads, Args: block, Label: s.label, CTALabels: s.ctas}))
}

func (l *lab) sync(gpu int) error { return l.streams[gpu].Synchronize(context.Background()) }

// run runs a kernel and returns the first words of l.out.
func (l *lab) run(threads int, body string) []uint32 {
	l.Helper()
	l.launch(shape{threads: threads}, body)
	require.NoError(l, l.sync(0))
	return l.words(threads)
}

func (l *lab) words(n int) []uint32 {
	l.Helper()
	b := make([]byte, 4*n)
	require.NoError(l, l.devs[0].CopyOut(b, l.out))
	w := make([]uint32, n)
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return w
}

// fault runs a kernel that must fail and returns how.
func (l *lab) fault(s shape, body string, args ...device.Ptr) *device.Fault {
	l.Helper()
	l.launch(s, body, args...)
	var f *device.Fault
	require.ErrorAs(l, l.sync(s.gpu), &f)
	return f
}

// generate returns f(0), f(1), ..., f(n-1).
func generate(n int, f func(i int) int) []uint32 {
	w := make([]uint32, n)
	for i := range w {
		w[i] = uint32(f(i))
	}
	return w
}

// bodyLine returns the line of the text in the body's module that contains s.
func bodyLine(body, s string) int {
	lines := strings.Split(strings.TrimPrefix(body, "\n"), "\n")
	i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, s) })
	if i < 0 {
		panic(fmt.Sprintf("no line with %q", s))
	}
	return headerLines + 1 + i
}
