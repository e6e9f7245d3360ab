package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

// meet waits until as many CTAs as y says have come.
const meet = `
setp.ne.u32 p, t, 0; @p bra GO;
atom.global.add.u32 x, [a], 1;
mov.u32 y, %nctaid.x;
WAIT: ld.relaxed.gpu.global.u32 x, [a]; setp.lt.u32 p, x, y; @p bra WAIT;
GO: bar.sync 0;`

// A small GPU holds 4 CTAs.
func TestResidency(t *testing.T) {
	t.Run("as many as there is room for", func(t *testing.T) {
		l := newLab(t, sim.Config{})
		l.launch(shape{grid: 4, threads: 64}, meet)
		require.NoError(t, l.sync(0))
	})
	t.Run("one more", func(t *testing.T) {
		l := newLab(t, sim.Config{})
		f := l.fault(shape{grid: 5, threads: 64, label: "rank 0"}, meet)
		require.Equal(t, device.NotResident, f.Kind, "%v", f)
		require.Equal(t, "rank 0", f.Label)
		require.Contains(t, f.Detail, "on GPU 0, 4 CTAs of this kernel are resident, 0 have ended, and 1 cannot become resident")
		require.NotEmpty(t, f.Others)
	})
	t.Run("limited by threads", func(t *testing.T) {
		l := newLab(t, sim.Config{})
		f := l.fault(shape{grid: 3, threads: 192}, meet)
		require.Equal(t, device.NotResident, f.Kind)
	})
	t.Run("CTAs that need not meet take turns", func(t *testing.T) {
		l := newLab(t, sim.Config{})
		l.launch(shape{grid: 1000, threads: 32}, `
mad.wide.u32 at, cta, 4, a; mov.u32 x, %smid; add.u32 x, x, 1; st.global.u32 [at], x;`)
		require.NoError(t, l.sync(0))
		sms := map[uint32]int{}
		for _, w := range l.words(1000) {
			sms[w]++
		}
		require.Len(t, sms, 2)
		require.Greater(t, min(sms[1], sms[2]), 300)
		require.Equal(t, uint64(1000), l.m.Stats().CTAs)
	})
	t.Run("kernels of two streams share a GPU", func(t *testing.T) {
		l := newLab(t, sim.Config{})
		s, err := l.devs[0].NewStream()
		require.NoError(t, err)
		flag := l.alloc(0, 64, "flag")
		l.launch(shape{threads: 32}, poll, l.out, 0, flag)
		l.streams[0], s = s, l.streams[0]
		l.launch(shape{threads: 1}, `
st.global.u32 [a], 8;`, flag)
		l.streams[0] = s
		require.NoError(t, l.sync(0))
	})
}

func TestOccupancy(t *testing.T) {
	l := newLab(t, sim.Config{Devices: []device.Info{sim.H200()}})
	f := l.function(0, "")
	for threads, want := range map[int]int{1024: 2, 512: 4, 32: 32, 33: 32, 96: 21} {
		n, err := f.Occupancy(threads)
		require.NoError(t, err)
		require.Equal(t, want, n, "%d threads", threads)
	}
	for _, threads := range []int{0, 1025} {
		_, err := f.Occupancy(threads)
		require.Error(t, err)
	}
}
