package devicetest

import (
	"errors"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

const header = ".version 7.8\n.target sm_70\n.address_size 64\n"

// testModuleErrors loads text that is wrong: the error says where.
func testModuleErrors(b *bench) {
	entry := func(body string) string {
		return header + ".visible .entry k()\n{\n\t.reg .b32 a, b;\n" + body + "\n\tret;\n}\n"
	}
	for _, bad := range []struct{ name, text, line, says string }{
		{"unknown instruction", entry("\tfrobnicate.u32 a, b;"), "7", "frobnicate"},
		{"unknown modifier", entry("\tadd.sideways.u32 a, a, b;"), "7", "sideways"},
		{"undeclared register", entry("\tadd.u32 a, a, nowhere;"), "7", "nowhere"},
		{"unknown label", entry("\tbra NOWHERE;"), "7", "NOWHERE"},
		{"missing semicolon", entry("\tadd.u32 a, a, b"), "8", ""},
		{"missing brace", strings.TrimSuffix(entry(""), "}\n"), "", ""},
		{"no version", ".target sm_70\n", "", ""},
		{"not PTX", "int main() { return 0; }\n", "", ""},
		{"empty", "", "", ""},
	} {
		m, err := b.dev.LoadModule("bad.ptx", []byte(bad.text))
		require.Error(b, err, bad.name)
		require.Nil(b, m, bad.name)
		require.Contains(b, err.Error(), "bad.ptx", bad.name)
		// The assembler of a GPU driver gives the line in its own words, and none for
		// text that it does not take for PTX.
		if bad.line != "" && !strings.Contains(err.Error(), "line "+bad.line) {
			require.Contains(b, err.Error(), "bad.ptx:"+bad.line, bad.name)
		}
		require.Contains(b, err.Error(), bad.says, bad.name)
	}
	_, err := b.dev.LoadModule("good.ptx", []byte(entry("\tadd.u32 a, a, b;")))
	require.NoError(b, err, "a refused module leaves the device usable")
}

func testFunction(b *bench) {
	f := b.function(b.mod, "fill")
	require.Equal(b, "fill", f.Name())
	require.LessOrEqual(b, f.MaxThreads(), b.dev.Info().MaxThreadsPerCTA)
	require.Positive(b, f.MaxThreads())
	require.Equal(b, 256, b.function(b.mod, "limited").MaxThreads())
	for _, name := range []string{"", "Fill", "nothing"} {
		g, err := b.mod.Function(name)
		require.Error(b, err)
		require.Nil(b, g)
		require.Contains(b, err.Error(), name)
	}
	m := b.load(b.dev)
	require.NoError(b, m.Unload())
}

func testOccupancy(b *bench) {
	info := b.dev.Info()
	f := b.function(b.mod, "fill")
	last := info.MaxCTAsPerSM
	for threads := 32; threads <= f.MaxThreads(); threads += 32 {
		n, err := f.Occupancy(threads)
		require.NoError(b, err)
		require.LessOrEqual(b, n, last, "more threads, no more CTAs: %d", threads)
		require.LessOrEqual(b, n*threads, info.MaxThreadsPerSM)
		require.Positive(b, n)
		last = n
	}
	n, err := b.function(b.mod, "shared40k").Occupancy(32)
	require.NoError(b, err)
	require.Positive(b, n)
	require.LessOrEqual(b, n*40<<10, info.SharedPerSM)
	for _, threads := range []int{0, -1, f.MaxThreads() + 1} {
		_, err := f.Occupancy(threads)
		require.Error(b, err, "%d threads", threads)
	}
}

// testLaunchErrors queues what cannot run. Each is refused at once and leaves
// the device usable.
func testLaunchErrors(b *bench) {
	x := b.alloc(b.dev, 4096)
	good := device.Launch{Function: b.function(b.mod, "fill"), Grid: 1, Threads: 32, Args: words(uint64(x), 5)}
	for _, bad := range []struct {
		name string
		edit func(l *device.Launch)
		says string
	}{
		{"no function", func(l *device.Launch) { l.Function = nil }, ""},
		{"no CTAs", func(l *device.Launch) { l.Grid = 0 }, ""},
		{"negative CTAs", func(l *device.Launch) { l.Grid = -4 }, ""},
		{"no threads", func(l *device.Launch) { l.Threads = 0 }, ""},
		{"negative threads", func(l *device.Launch) { l.Threads = -32 }, ""},
		{"too many threads", func(l *device.Launch) { l.Threads = l.Function.MaxThreads() + 1 }, "fill"},
		{"more threads than the kernel allows", func(l *device.Launch) {
			l.Function, l.Threads, l.Args = b.function(b.mod, "limited"), 257, words(0)
		}, "limited"},
		{"no arguments", func(l *device.Launch) { l.Args = nil }, "fill"},
		{"few arguments", func(l *device.Launch) { l.Args = l.Args[:8] }, "fill"},
		{"many arguments", func(l *device.Launch) { l.Args = append(l.Args, 1, 2, 3, 4, 5, 6, 7, 8) }, "fill"},
		{"few CTA labels", func(l *device.Launch) { l.Grid, l.CTALabels = 3, []string{"ch 0"} }, "fill"},
	} {
		l := good
		l.Args = append([]byte(nil), good.Args...)
		bad.edit(&l)
		require.NotPanics(b, func() {
			err := b.stream.Launch(&l)
			require.Error(b, err, bad.name)
			require.Contains(b, err.Error(), bad.says, bad.name)
		}, bad.name)
	}
	require.NotPanics(b, func() { require.Error(b, b.stream.Launch(nil)) })
	if b.driver.NumDevices() > 1 {
		l := good
		l.Function = b.function(b.load(b.open(1)), "fill")
		require.Error(b, b.stream.Launch(&l), "a kernel of another device")
	}
	require.NoError(b, b.stream.Launch(&good))
	b.sync(b.stream)
	require.Equal(b, []uint32{5, 6, 7}, b.read(b.dev, x, 3))
}

// testArguments passes arguments of many sizes, and changes the block once
// Launch returned.
func testArguments(b *bench) {
	out := b.alloc(b.dev, 64)
	args := make([]byte, 48) // u64 at 0, u8 at 8, u32 at 12, u16 at 16, 16 bytes at 32
	copy(args, words(uint64(out)))
	args[8] = 0xfe
	copy(args[12:], []byte{1, 2, 3, 0x84})
	copy(args[16:], []byte{0x34, 0xf2})
	copy(args[40:], []byte{1, 2, 3, 4, 5, 6, 7, 8})
	l := &device.Launch{Function: b.function(b.mod, "params"), Grid: 1, Threads: 1, Args: args, Label: "arguments"}
	require.NoError(b, b.stream.Launch(l))
	clear(args)
	*l = device.Launch{}
	b.sync(b.stream)
	require.Equal(b, []uint32{0xfe, 0x84030201, 0xf234, 0, 0x04030201, 0x08070605}, b.read(b.dev, out, 6))
}

// testAccessFault runs a kernel that leaves its memory: the stream reports it,
// and so does every later call.
func testAccessFault(b *bench) {
	next := b.function(b.mod, "fill")
	b.launch(b.stream, b.mod, "fail", 1, 0x10)
	err := b.stream.Synchronize(b.context())
	require.Error(b, err)
	var f *device.Fault
	if errors.As(err, &f) {
		require.Equal(b, device.OutOfBounds, f.Kind)
		require.Equal(b, "fail", f.Kernel)
		require.Contains(b, f.Label, b.Name())
		require.Equal(b, "suite.ptx", f.File)
		require.Equal(b, lineOf("ld.global.u32 x, [p];\n\tadd.u32 x, x, 1;"), f.Line)
		require.Contains(b, f.Text, "ld.global.u32")
		require.Equal(b, device.Ptr(0x10), f.Addr)
		require.Equal(b, []int{0, 0, 0}, []int{f.CTA, f.Warp, f.Lane})
		require.Zero(b, f.Device)
	}
	b.sticky(err, next)
}

func testTrapFault(b *bench) {
	next := b.function(b.mod, "fill")
	b.launch(b.stream, b.mod, "stop", 32)
	err := b.stream.Synchronize(b.context())
	require.Error(b, err)
	var f *device.Fault
	if errors.As(err, &f) {
		require.Equal(b, device.Trapped, f.Kind)
		require.Equal(b, "stop", f.Kernel)
		require.Equal(b, lineOf("trap;"), f.Line)
	}
	b.sticky(err, next)
}

// lineOf is the line of suitePTX at which text starts.
func lineOf(text string) int {
	before, _, ok := strings.Cut(suitePTX, text)
	if !ok {
		panic("suitePTX has no " + text)
	}
	return strings.Count(before, "\n") + 1
}

// sticky checks that later calls on the device, a launch of next among them,
// report first.
func (b *bench) sticky(first error, next device.Function) {
	var f, g *device.Fault
	for _, err := range []error{
		b.stream.Synchronize(b.context()),
		b.stream.Launch(&device.Launch{Function: next, Grid: 1, Threads: 1, Args: words(0, 0)}),
		func() error { _, err := b.stream.Query(); return err }(),
		func() error { _, err := b.dev.Alloc(64, "after a fault"); return err }(),
	} {
		require.Error(b, err)
		if errors.As(first, &f) {
			require.ErrorAs(b, err, &g)
			require.Same(b, f, g)
		}
	}
}
