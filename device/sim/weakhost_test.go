package sim_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

// A warp that ended is named too, also after another had its place.
func TestWeakRaceWithAnEndedKernel(t *testing.T) {
	l := newLab(t, sim.Config{Weak: &sim.Weak{}})
	other, err := l.devs[0].NewStream()
	require.NoError(t, err)
	l.launch(shape{threads: 64, label: "first"}, "setp.eq.u32 p, t, 40; @p st.global.u32 [a], 1;")
	for range 3 {
		l.launch(shape{threads: 64, label: "next"}, "mov.u32 x, t;")
	}
	done, err := l.streams[0].Query()
	for !done && err == nil {
		done, err = l.streams[0].Query()
	}
	require.NoError(t, err)
	// The host knows of all that now, so its launches on any stream do.
	l.streams[0] = other
	l.launch(shape{threads: 1, label: "late"}, "ld.global.u32 x, [a];")
	require.NoError(t, l.sync(0))

	// Not so what runs beside it.
	l = newLab(t, sim.Config{Weak: &sim.Weak{}})
	other, err = l.devs[0].NewStream()
	require.NoError(t, err)
	l.launch(shape{threads: 64, label: "first"}, "setp.eq.u32 p, t, 40; @p st.global.u32 [a], 1;")
	l.launch(shape{threads: 64, label: "next"}, "mov.u32 x, t;")
	first := l.streams[0]
	l.streams[0] = other
	l.launch(shape{threads: 1, label: "beside"}, "nanosleep.u32 100000;\nld.global.u32 x, [a];")
	err = l.sync(0)
	var f *device.Fault
	require.ErrorAs(t, err, &f)
	require.Equal(t, "beside", f.Label)
	require.Equal(t, "first", f.Others[0].Label)
	require.Equal(t, []int{1, 8}, []int{f.Others[0].Warp, f.Others[0].Lane})
	require.Error(t, first.Synchronize(context.Background()))
}

// What orders streams and the host orders memory.
func TestWeakStreams(t *testing.T) {
	const store, load = "st.global.u32 [a], 5;", "ld.global.u32 x, [a];\nst.global.u32 [a+4], x;"
	for _, test := range []struct {
		name  string
		order func(l *lab, from, to device.Stream)
		races bool
	}{
		{"nothing", func(*lab, device.Stream, device.Stream) {}, true},
		{"the host", func(l *lab, from, _ device.Stream) { require.NoError(l, from.Synchronize(context.Background())) }, false},
		{"an event", func(l *lab, from, to device.Stream) {
			e, err := l.devs[0].NewEvent()
			require.NoError(l, err)
			require.NoError(l, from.Record(e))
			require.NoError(l, to.Wait(e))
		}, false},
		{"an event too early", func(l *lab, from, to device.Stream) {
			e, err := l.devs[0].NewEvent()
			require.NoError(l, err)
			require.NoError(l, to.Wait(e))
			require.NoError(l, from.Record(e))
		}, true},
		{"the host, by the event", func(l *lab, from, to device.Stream) {
			e, err := l.devs[0].NewEvent()
			require.NoError(l, err)
			require.NoError(l, from.Record(e))
			require.NoError(l, e.Synchronize(context.Background()))
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, sim.Config{Weak: &sim.Weak{}, Seed: 2})
			from := l.streams[0]
			to, err := l.devs[0].NewStream()
			require.NoError(t, err)
			l.launch(shape{threads: 1}, store)
			test.order(l, from, to)
			l.streams[0] = to
			l.launch(shape{threads: 1}, load)
			err = errors.Join(to.Synchronize(context.Background()), from.Synchronize(context.Background()))
			if !test.races {
				require.NoError(t, err)
				require.Equal(t, []uint32{5, 5}, l.words(2))
				return
			}
			var f *device.Fault
			require.ErrorAs(t, err, &f)
			require.Equal(t, device.Race, f.Kind)
		})
	}
}

// A captured copy is the replaying stream's, and comes after what that has done.
func TestWeakReplayedCopy(t *testing.T) {
	l := newLab(t, sim.Config{Weak: &sim.Weak{}})
	capturer, ok := l.streams[0].(device.Capturer)
	require.True(t, ok)
	require.NoError(t, capturer.BeginCapture())
	l.launch(shape{threads: 1}, "ld.global.u32 x, [a+64]; add.u32 x, x, 1; st.global.u32 [a], x;")
	require.NoError(t, l.streams[0].CopyAsync(l.out+64, l.out, 4))
	g, err := capturer.EndCapture()
	require.NoError(t, err)
	for range 6 {
		s, err := l.devs[0].NewStream()
		require.NoError(t, err)
		require.NoError(t, g.Launch(s))
		l.streams = append(l.streams, s)
	}
	for i := range l.streams {
		require.NoError(t, l.sync(i))
	}
	require.Equal(t, []uint32{6}, l.words(1))
}

// Copies are accesses too: those of the host, and those of streams.
func TestWeakCopies(t *testing.T) {
	spin := "mov.u32 x, 0; LOOP: add.u32 x, x, 1; setp.lt.u32 p, x, 20000; @p bra LOOP; "
	for _, test := range []struct {
		name string
		copy func(l *lab, beside device.Stream) error
		says string
	}{
		{"the host writes", func(l *lab, _ device.Stream) error { return l.devs[0].CopyIn(l.out, make([]byte, 64)) }, "a copy by the host"},
		{"the host reads", func(l *lab, _ device.Stream) error { return l.devs[0].CopyOut(make([]byte, 64), l.out) }, "a copy by the host"},
		{"a stream writes", func(l *lab, s device.Stream) error { return s.MemsetAsync(l.out, 0, 64) }, "a memset by a stream of GPU 0"},
		{"a stream reads", func(l *lab, s device.Stream) error { return s.CopyAsync(l.out+1024, l.out, 64) }, "a copy by a stream of GPU 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, sim.Config{Weak: &sim.Weak{}})
			beside, err := l.devs[0].NewStream()
			require.NoError(t, err)
			l.launch(shape{threads: 1, label: "kernel"}, "st.global.u32 [a], 1;"+spin+"st.global.u32 [a], 2;")
			done, err := l.streams[0].Query()
			require.NoError(t, err)
			require.False(t, done)
			err = test.copy(l, beside)
			if err == nil {
				err = errors.Join(beside.Synchronize(context.Background()), l.sync(0))
			}
			var f *device.Fault
			require.ErrorAs(t, err, &f)
			require.Equal(t, device.Race, f.Kind)
			require.Contains(t, err.Error(), test.says)
			require.Contains(t, err.Error(), "kernel: k: ")

			// In its place it is right.
			l = newLab(t, sim.Config{Weak: &sim.Weak{}})
			l.launch(shape{threads: 1}, "st.global.u32 [a], 1;")
			require.NoError(t, l.sync(0))
			require.NoError(t, test.copy(l, l.streams[0]))
			l.launch(shape{threads: 1}, "ld.global.u32 x, [a]; st.global.u32 [a+4], x;")
			require.NoError(t, l.sync(0))
		})
	}
}

// The host's stores to pinned memory are strong, and what a kernel released there
// the host acquires.
func TestWeakHostMemory(t *testing.T) {
	for seed := range uint64(20) {
		l := newLab(t, sim.Config{Weak: &sim.Weak{}, Seed: seed})
		h, err := l.devs[0].AllocHost(64, "flags")
		require.NoError(t, err)
		l.launch(shape{threads: 1}, `
			POLL: ld.relaxed.sys.global.u32 x, [b];
			setp.eq.u32 p, x, 0;
			@p bra POLL;
			fence.acq_rel.sys;
			st.global.u32 [a], x;
			fence.acq_rel.sys;
			st.relaxed.sys.global.u32 [b+4], x;
			WAIT: ld.relaxed.sys.global.u32 x, [b];
			setp.ne.u32 p, x, 9;
			@p bra WAIT;`, l.out, h.Ptr())
		step := func() {
			done, err := l.streams[0].Query()
			require.NoError(t, err)
			require.False(t, done)
		}
		step()
		h.Store32(0, 3)
		for h.Load32(4) != 3 {
			step()
		}
		require.Equal(t, []uint32{3}, l.words(1), "what the kernel released")
		h.Store32(0, 9)
		require.NoError(t, l.sync(0))
	}
}
