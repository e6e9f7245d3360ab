package launch

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/runtime/internal/devcomm"
	"github.com/ncclgo/ncclgo/runtime/internal/fakedevice"
)

var fakeInfo = device.Info{NumSMs: 4, MaxThreadsPerSM: 2048, MaxThreadsPerCTA: 1024}

func newFake(t *testing.T) (*fakedevice.Driver, *fakedevice.Device, *Queue, device.Function) {
	driver := fakedevice.New(1, fakeInfo)
	dev, err := driver.Open(0)
	require.NoError(t, err)
	q, err := NewQueue(dev, 0x1000, 4, "rank 3", true)
	require.NoError(t, err)
	m, err := dev.LoadModule("m", nil)
	require.NoError(t, err)
	f, err := m.Function("kernel")
	require.NoError(t, err)
	driver.TakeLog()
	return driver, dev.(*fakedevice.Device), q, f
}

func run(t *testing.T, q *Queue, f device.Function, s device.Stream, others ...device.Stream) {
	t.Helper()
	runIn(t, q, f, s, others...)
}

// launchAll launches f until no works are left.
func launchAll(t *testing.T, q *Queue, f device.Function, s device.Stream, works []abi.Work) {
	t.Helper()
	for len(works) > 0 {
		rest, err := q.Launch(s, f, 2, 64, works)
		require.NoError(t, err)
		require.Less(t, len(rest), len(works))
		works = rest
	}
}

// TestOrder checks the exact calls: a stream waits if and only if the launch
// before was on another one.
func TestOrder(t *testing.T) {
	driver, dev, q, f := newFake(t)
	a, b, c := dev.NamedStream("a"), dev.NamedStream("b"), dev.NamedStream("c")
	const launch = ": launch kernel grid 2 threads 64"

	run(t, q, f, a)
	run(t, q, f, a)
	require.Equal(t, []string{"a" + launch, "a: done", "a" + launch, "a: done"}, driver.TakeLog())

	run(t, q, f, b)
	run(t, q, f, a)
	require.Equal(t, []string{"b: wait", "b" + launch, "b: done", "a: wait", "a" + launch, "a: done"}, driver.TakeLog())

	// A group on three streams: all join before, all follow after.
	run(t, q, f, a, b, c)
	require.Equal(t, []string{
		"b: record", "a: wait", "c: record", "a: wait",
		"a" + launch, "a: done",
		"b: wait", "c: wait",
	}, driver.TakeLog())

	// What queues nothing leaves no trace, and copies have no Done.
	require.NoError(t, q.Enter(0, a, nil))
	require.NoError(t, q.Leave(a, nil))
	require.Empty(t, driver.TakeLog())
	require.NoError(t, q.Enter(0, b, nil))
	require.NoError(t, q.Copy(b, q.overflow.blocks[0].at, q.overflow.blocks[1].at, 8))
	require.NoError(t, q.Leave(b, nil))
	run(t, q, f, a)
	require.Equal(t, []string{"b: wait", "b: copy 8", "b: record", "a: wait", "a" + launch, "a: done"}, driver.TakeLog())
}

// runIn is run inside whatever capture s is part of.
func runIn(t *testing.T, q *Queue, f device.Function, s device.Stream, others ...device.Stream) {
	t.Helper()
	id, err := CaptureOf(s)
	require.NoError(t, err)
	require.NoError(t, q.Enter(id, s, others))
	launchAll(t, q, f, s, make([]abi.Work, 1))
	require.NoError(t, q.Leave(s, others))
}

// TestCaptureOrder checks the exact calls when captures and other launches take
// turns, on several streams.
func TestCaptureOrder(t *testing.T) {
	driver, dev, q, f := newFake(t)
	a, b, eager := dev.NamedStream("a"), dev.NamedStream("b"), dev.NamedStream("eager")
	const launch = ": launch kernel grid 2 threads 64"
	expect := func(want ...string) {
		t.Helper()
		require.Equal(t, want, driver.TakeLog())
	}
	join, err := dev.NewEvent()
	require.NoError(t, err)

	runIn(t, q, f, eager)
	require.NoError(t, a.BeginCapture())
	driver.TakeLog()
	runIn(t, q, f, a)
	expect("gpu 0: new event", "a: wait external", "a"+launch, "a: record external", "a: record")

	// Outside, the event tells of launches of the graph, on the same stream too.
	runIn(t, q, f, eager)
	expect("eager: wait", "eager"+launch, "eager: done")

	// Another stream of the capture waits inside it.
	require.NoError(t, a.Record(join))
	require.NoError(t, b.Wait(join))
	driver.TakeLog()
	runIn(t, q, f, b)
	expect("b: wait", "b"+launch, "b: record external", "b: record")

	// A second capture meanwhile, with a group on two streams.
	c, d := dev.NamedStream("c"), dev.NamedStream("d")
	require.NoError(t, c.BeginCapture())
	require.NoError(t, c.Record(join))
	require.NoError(t, d.Wait(join))
	driver.TakeLog()
	runIn(t, q, f, c, d)
	expect("gpu 0: new event", "c: wait external", "d: record", "c: wait", "c"+launch, "c: record external", "c: record", "d: wait")
	runIn(t, q, f, a)
	expect("a: wait", "a"+launch, "a: record external", "a: record")

	// The third needs no event: that of the first is over.
	_, err = a.EndCapture()
	require.NoError(t, err)
	require.NoError(t, b.BeginCapture())
	driver.TakeLog()
	runIn(t, q, f, b)
	expect("b: wait external", "b"+launch, "b: record external", "b: record")
	require.Len(t, q.captures, 2)
}

// others is a stream that others made.
type others struct{ device.Capturer }

func (others) Foreign() bool { return true }

// TestForeignCapture captures on streams that others made: one is asked whether
// its capture is over only when it was just given.
func TestForeignCapture(t *testing.T) {
	driver, dev, q, f := newFake(t)
	a, b := others{dev.NamedStream("a")}, others{dev.NamedStream("b")}
	for _, test := range []struct {
		on   others
		kept int
	}{{a, 1}, {a, 1}, {b, 2}, {a, 2}} {
		require.NoError(t, test.on.BeginCapture())
		driver.OnLaunch(func(l *device.Launch) { require.Nil(t, l.Done, "a capture has its own event") })
		runIn(t, q, f, test.on)
		_, err := test.on.EndCapture()
		require.NoError(t, err)
		require.Len(t, q.captures, test.kept)
	}
	driver.OnLaunch(func(l *device.Launch) { require.Same(t, q.done, l.Done) })
	runIn(t, q, f, a)
}

// TestCaptureOverflow captures more works than a kernel's parameter holds: they
// are in parameters all the same.
func TestCaptureOverflow(t *testing.T) {
	driver, dev, q, f := newFake(t)
	seen := watch(t, driver, dev)
	works := numbered(2*abi.InlineWorks + 7)
	s := dev.NamedStream("s")
	require.NoError(t, s.BeginCapture())
	id, err := s.CaptureID()
	require.NoError(t, err)
	require.NoError(t, q.Enter(id, s, nil))
	launchAll(t, q, f, s, works)
	require.NoError(t, q.Leave(s, nil))
	require.Len(t, seen.works, 3)
	require.Equal(t, works, append(append(seen.works[0], seen.works[1]...), seen.works[2]...))
	for _, args := range seen.args {
		require.Zero(t, args.Overflow)
	}
}

// TestOverflowIsInOrder checks that works come by a copy in the launch's stream,
// not by one that the host waits for.
func TestOverflowIsInOrder(t *testing.T) {
	driver, dev, q, f := newFake(t)
	s := dev.NamedStream("s")
	launchAll(t, q, f, s, numbered(abi.InlineWorks+2))
	require.Equal(t, []string{"s: copy 160", "s: launch kernel grid 2 threads 64", "s: done", "s: record"}, driver.TakeLog())
}

// launched decodes what launches were given, as the kernel would see it.
type launched struct {
	args  []abi.KernelArgs
	works [][]abi.Work
}

func watch(t *testing.T, driver *fakedevice.Driver, dev device.Device) *launched {
	var l launched
	driver.OnLaunch(func(launch *device.Launch) {
		var args abi.KernelArgs
		require.NoError(t, devcomm.Decode(launch.Args, &args))
		n := min(int(args.NumWorks), abi.InlineWorks)
		works := append([]abi.Work(nil), args.Works[:n]...)
		if rest := int(args.NumWorks) - n; rest > 0 {
			more := make([]abi.Work, rest)
			bytes := make([]byte, int(devcomm.Size(more)))
			require.NoError(t, dev.CopyOut(bytes, device.Ptr(args.Overflow)))
			require.NoError(t, devcomm.Decode(bytes, more))
			works = append(works, more...)
		} else {
			require.Zero(t, args.Overflow)
		}
		l.args = append(l.args, args)
		l.works = append(l.works, works)
	})
	return &l
}

// numbered returns n works that differ in every field.
func numbered(n int) []abi.Work {
	works := make([]abi.Work, n)
	for i := range works {
		v := uint64(i + 1)
		works[i] = abi.Work{
			SendBuf: abi.Ptr(v << 8), RecvBuf: abi.Ptr(v << 16), RedOpArg: ^v,
			CountLo: v, CountMid: 2 * v, CountHi: 3 * v, Op: 4 * v,
			ChunkBytes: uint32(16 * v), Root: uint32(v), ChannelLo: uint16(v), ChannelHi: uint16(v + 1), Threads: 64,
		}
	}
	return works
}

func TestLaunchWorks(t *testing.T) {
	for _, test := range []struct {
		name  string
		works int
		want  []int // works of each launch
	}{
		{"one", 1, []int{1}},
		{"as many as fit inline", abi.InlineWorks, []int{abi.InlineWorks}},
		{"one more", abi.InlineWorks + 1, []int{abi.InlineWorks + 1}},
		{"a full block", abi.InlineWorks + overflowWorks, []int{abi.InlineWorks + overflowWorks}},
		{"more than a block", abi.InlineWorks + overflowWorks + 5, []int{abi.InlineWorks + overflowWorks, 5}},
	} {
		t.Run(test.name, func(t *testing.T) {
			driver, dev, q, f := newFake(t)
			seen := watch(t, driver, dev)
			works := numbered(test.works)
			s := dev.NamedStream("s")
			require.NoError(t, q.Enter(0, s, nil))
			launchAll(t, q, f, s, works)

			var got []abi.Work
			for i, n := range test.want {
				require.Len(t, seen.works[i], n)
				require.Equal(t, abi.Ptr(0x1000), seen.args[i].Comm)
				got = append(got, seen.works[i]...)
			}
			require.Len(t, seen.works, len(test.want))
			require.Equal(t, works, got)
		})
	}
}

// TestOverflowInUse checks that works wait for no block: while launches that use
// all of them run, further works are split over launches.
func TestOverflowInUse(t *testing.T) {
	driver, dev, q, f := newFake(t)
	q.overflow.blocks[0].done = busyEvent{q.overflow.blocks[0].done}
	q.overflow.blocks[0].used = true
	seen := watch(t, driver, dev)
	s := dev.NamedStream("s")
	works := numbered(2*abi.InlineWorks + 7)

	launchAll(t, q, f, s, works)
	require.Len(t, seen.works, 1, "another block was free")

	for i := range q.overflow.blocks {
		q.overflow.blocks[i].done = busyEvent{q.overflow.blocks[i].done}
		q.overflow.blocks[i].used = true
	}
	launchAll(t, q, f, s, works)
	require.Len(t, seen.works, 4)
	require.Equal(t, works, append(append(seen.works[1], seen.works[2]...), seen.works[3]...))
}

// busyEvent is an event that never completes.
type busyEvent struct{ device.Event }

func (busyEvent) Query() (bool, error) { return false, nil }

// TestCaptureFailures makes each request inside a capture fail in turn.
func TestCaptureFailures(t *testing.T) {
	cause := errors.New("broken")
	for _, test := range []struct{ request, want string }{
		{"new event", "wait for the launch before: new event: broken"},
		{"wait external", "wait for the launch before: broken"},
		{"record external", "record event: broken"},
	} {
		driver, dev, q, f := newFake(t)
		s := dev.NamedStream("s")
		require.NoError(t, s.BeginCapture())
		driver.Fail(func(request string) error {
			if strings.Contains(request, test.request) {
				return cause
			}
			return nil
		})
		id, err := s.CaptureID()
		require.NoError(t, err)
		err = q.Enter(id, s, nil)
		if err == nil {
			_, err = q.Launch(s, f, 1, 32, make([]abi.Work, 1))
		}
		if err == nil {
			err = q.Leave(s, nil)
		}
		require.EqualError(t, err, test.want)
		require.ErrorIs(t, err, cause)
	}
}

// TestFailures makes each request fail in turn: the failure is reported with what
// was being done.
func TestFailures(t *testing.T) {
	cause := errors.New("broken")
	for _, test := range []struct{ request, want string }{
		{"b: wait", "wait for the launch before: broken"},
		{"c: record", "record event: broken"},
		{"launch", "launch kernel: broken"},
		{"c: wait", "wait for the group's launch: broken"},
	} {
		t.Run(test.request, func(t *testing.T) {
			driver, dev, q, f := newFake(t)
			run(t, q, f, dev.NamedStream("a"))
			driver.Fail(func(request string) error {
				if strings.Contains(request, test.request) {
					return cause
				}
				return nil
			})
			b, others := dev.NamedStream("b"), []device.Stream{dev.NamedStream("c")}
			err := q.Enter(0, b, others)
			if err == nil {
				_, err = q.Launch(b, f, 1, 32, make([]abi.Work, 1))
			}
			if err == nil {
				err = q.Leave(b, others)
			}
			require.EqualError(t, err, test.want)
			require.ErrorIs(t, err, cause)
		})
	}
}

// TestNewQueueFrees makes each request of NewQueue fail in turn: nothing leaks.
func TestNewQueueFrees(t *testing.T) {
	for failing := 0; ; failing++ {
		driver := fakedevice.New(1, fakeInfo)
		dev, _ := driver.Open(0)
		n := 0
		driver.Fail(func(string) error {
			if n++; n-1 == failing {
				return errors.New("broken")
			}
			return nil
		})
		q, err := NewQueue(dev, 0, 1, "rank 0", true)
		if err == nil {
			require.Greater(t, failing, 2*overflowBlocks, "every request was made to fail")
			require.NoError(t, q.Wait(context.Background()))
			require.NoError(t, q.Close())
			require.Zero(t, driver.Live())
			return
		}
		require.Nil(t, q)
		require.Zero(t, driver.Live(), "after %v", err)
	}
}
