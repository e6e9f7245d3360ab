package devicetest

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

// Run holds a driver to the contract of package device. open is called for each
// test and returns a fresh driver, with two devices at least if it can: what
// needs two is skipped otherwise. Kernels that wait for the host must be given
// the time for it (a second).
func Run(t *testing.T, open func(t *testing.T) device.Driver) {
	runTests(t, open, []benchTest{
		{"driver/open", testOpen},
		{"driver/info", testInfo},
		{"memory/alloc", testAlloc},
		{"memory/free", testFree},
		{"memory/copy", testCopy},
		{"memory/stray", testStray},
		{"memory/host", testHostMem},
		{"memory/async", testAsync},
		{"memory/peer", testPeer},
		{"stream/order", testOrder},
		{"stream/together", testTogether},
		{"stream/query", testQuery},
		{"stream/cancel", testCancel},
		{"stream/close", testStreamClose},
		{"event/streams", testEvents},
		{"event/done", testDone},
		{"event/done/close", testDoneClose},
		{"event/done/capture", testDoneCapture},
		{"event/devices", testDeviceEvents},
		{"event/unrecorded", testUnrecorded},
		{"capture/replay", testReplay},
		{"capture/fork", testFork},
		{"capture/external", testExternal},
		{"capture/records", testRecords},
		{"capture/wrong", testWrongCapture},
		{"module/errors", testModuleErrors},
		{"module/function", testFunction},
		{"module/occupancy", testOccupancy},
		{"launch/errors", testLaunchErrors},
		{"launch/arguments", testArguments},
		{"goroutines", testGoroutines},
	})
}

// Faults holds a driver to what package device says about kernels that fail.
// It is apart from [Run] because a process may not be able to use a real GPU
// after a fault: there, each of its tests wants a process of its own.
func Faults(t *testing.T, open func(t *testing.T) device.Driver) {
	runTests(t, open, []benchTest{
		{"access", testAccessFault},
		{"trap", testTrapFault},
	})
}

type benchTest struct {
	name string
	run  func(b *bench)
}

func runTests(t *testing.T, open func(t *testing.T) device.Driver, tests []benchTest) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(newBench(t, open(t)))
		})
	}
}

// bench is a driver under test, with the first device set up.
type bench struct {
	*testing.T
	driver device.Driver
	dev    device.Device
	stream device.Stream
	mod    device.Module
}

func newBench(t *testing.T, d device.Driver) *bench {
	t.Cleanup(func() { d.Close() })
	b := &bench{T: t, driver: d}
	b.dev = b.open(0)
	b.stream = b.newStream(b.dev)
	b.mod = b.load(b.dev)
	return b
}

// suiteTimeout ends a test that hangs.
const suiteTimeout = 20 * time.Second

func (b *bench) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), suiteTimeout)
	b.Cleanup(cancel)
	return ctx
}

func (b *bench) open(i int) device.Device {
	d, err := b.driver.Open(i)
	require.NoError(b, err)
	return d
}

// second returns another device than the first, or skips the test.
func (b *bench) second() device.Device {
	if b.driver.NumDevices() < 2 {
		b.Skip("needs two devices")
	}
	return b.open(1)
}

func (b *bench) newStream(d device.Device) device.Stream {
	s, err := d.NewStream()
	require.NoError(b, err)
	return s
}

func (b *bench) newEvent(d device.Device) device.Event {
	e, err := d.NewEvent()
	require.NoError(b, err)
	return e
}

func (b *bench) load(d device.Device) device.Module {
	m, err := d.LoadModule("suite.ptx", []byte(suitePTX))
	require.NoError(b, err)
	return m
}

func (b *bench) function(m device.Module, name string) device.Function {
	f, err := m.Function(name)
	require.NoError(b, err)
	return f
}

func (b *bench) alloc(d device.Device, size int64) device.Ptr {
	p, err := d.Alloc(size, b.Name())
	require.NoError(b, err)
	return p
}

func (b *bench) allocHost(d device.Device, size int64) device.HostMem {
	h, err := d.AllocHost(size, b.Name())
	require.NoError(b, err)
	return h
}

// launch queues a kernel of one CTA with 64-bit arguments.
func (b *bench) launch(s device.Stream, m device.Module, name string, threads int, args ...uint64) {
	require.NoError(b, s.Launch(&device.Launch{
		Function: b.function(m, name), Grid: 1, Threads: threads, Args: words(args...), Label: b.Name(),
	}))
}

// launchDone queues a kernel of one thread of the first device, with done recorded
// behind it.
func (b *bench) launchDone(s device.Stream, done device.Event, name string, args ...uint64) {
	require.NoError(b, s.Launch(&device.Launch{
		Function: b.function(b.mod, name), Grid: 1, Threads: 1, Args: words(args...), Done: done, Label: b.Name(),
	}))
}

// words lays 64-bit arguments out.
func words(args ...uint64) []byte {
	var buf []byte
	for _, a := range args {
		buf = binary.LittleEndian.AppendUint64(buf, a)
	}
	return buf
}

func (b *bench) sync(s device.Stream) {
	require.NoError(b, s.Synchronize(b.context()))
}

// read returns n 32-bit words of device memory.
func (b *bench) read(d device.Device, p device.Ptr, n int) []uint32 {
	buf := make([]byte, 4*n)
	require.NoError(b, d.CopyOut(buf, p))
	out := make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(buf[4*i:])
	}
	return out
}

// suitePTX has the kernels of Run. Each takes 64-bit arguments. thread i of a
// CTA works on the 32-bit word i.
const suitePTX = `.version 7.8
.target sm_70
.address_size 64

// fill(p, v): p[i] = v + i
.visible .entry fill(.param .u64 p_p, .param .u64 p_v)
{
	.reg .b32 i, v;
	.reg .b64 p;
	ld.param.u64 p, [p_p];
	ld.param.u32 v, [p_v];
	mov.u32 i, %tid.x;
	mad.wide.u32 p, i, 4, p;
	add.u32 v, v, i;
	st.global.u32 [p], v;
	ret;
}

// step(p, m, a): p[i] = p[i] * m + a
.visible .entry step(.param .u64 p_p, .param .u64 p_m, .param .u64 p_a)
{
	.reg .b32 i, m, a, x;
	.reg .b64 p;
	ld.param.u64 p, [p_p];
	ld.param.u32 m, [p_m];
	ld.param.u32 a, [p_a];
	mov.u32 i, %tid.x;
	mad.wide.u32 p, i, 4, p;
	ld.global.u32 x, [p];
	mad.lo.u32 x, x, m, a;
	st.global.u32 [p], x;
	ret;
}

// add(dst, src, v): dst[i] = src[i] + v
.visible .entry add(.param .u64 p_dst, .param .u64 p_src, .param .u64 p_v)
{
	.reg .b32 i, v, x;
	.reg .b64 dst, src;
	ld.param.u64 dst, [p_dst];
	ld.param.u64 src, [p_src];
	ld.param.u32 v, [p_v];
	mov.u32 i, %tid.x;
	mad.wide.u32 dst, i, 4, dst;
	mad.wide.u32 src, i, 4, src;
	ld.global.u32 x, [src];
	add.u32 x, x, v;
	st.global.u32 [dst], x;
	ret;
}

// wait(flag, v, out): until *flag == v; then *out = v + 1
.visible .entry wait(.param .u64 p_flag, .param .u64 p_v, .param .u64 p_out)
{
	.reg .pred p;
	.reg .b32 v, x;
	.reg .b64 flag, out;
	ld.param.u64 flag, [p_flag];
	ld.param.u32 v, [p_v];
	ld.param.u64 out, [p_out];
POLL:
	ld.relaxed.sys.global.u32 x, [flag];
	setp.ne.u32 p, x, v;
	@p bra POLL;
	fence.acq_rel.sys;
	add.u32 x, x, 1;
	st.relaxed.sys.global.u32 [out], x;
	ret;
}

// post(flag, v): ends the wait for value v at flag
.visible .entry post(.param .u64 p_flag, .param .u64 p_v)
{
	.reg .b32 v;
	.reg .b64 flag;
	ld.param.u64 flag, [p_flag];
	ld.param.u32 v, [p_v];
	st.relaxed.sys.global.u32 [flag], v;
	ret;
}

// fail(p): a load from address p, then a store beside it
.visible .entry fail(.param .u64 p_p)
{
	.reg .b32 x;
	.reg .b64 p;
	ld.param.u64 p, [p_p];
	ld.global.u32 x, [p];
	add.u32 x, x, 1;
	st.global.u32 [p+4], x;
	ret;
}

.visible .entry stop()
{
	trap;
	ret;
}

// params(out, a, b, c, d): stores arguments of every size and alignment
.visible .entry params(.param .u64 p_out, .param .u8 p_a, .param .u32 p_b, .param .u16 p_c, .param .align 16 .b8 p_d[16])
{
	.reg .b32 x;
	.reg .b64 out, y;
	ld.param.u64 out, [p_out];
	ld.param.u8 x, [p_a];
	st.global.u32 [out], x;
	ld.param.u32 x, [p_b];
	st.global.u32 [out+4], x;
	ld.param.u16 x, [p_c];
	st.global.u32 [out+8], x;
	ld.param.u64 y, [p_d+8];
	st.global.u64 [out+16], y;
	ret;
}

.visible .entry limited(.param .u64 p_p)
.maxntid 256, 1, 1
{
	ret;
}

.visible .entry shared40k(.param .u64 p_p)
{
	.shared .align 16 .b8 buf[40960];
	.reg .b32 x;
	mov.u32 x, %tid.x;
	st.shared.u32 [buf], x;
	ret;
}
`
