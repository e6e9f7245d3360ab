package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

// weakMachine is a machine with weak memory, its GPU and a stream.
func weakMachine(t *testing.T) (*Machine, device.Device, device.Stream) {
	gpu := H100()
	gpu.NumSMs = 4
	m, err := New(Config{Devices: []device.Info{gpu}, Weak: &Weak{}})
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	d, err := m.Open(0)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	return m, d, s
}

// kernelOf loads a kernel with one parameter, [a].
func kernelOf(t *testing.T, d device.Device, body string) device.Function {
	mod, err := d.LoadModule("k.ptx", []byte(".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 A)\n{\n"+
		".reg .pred p; .reg .b32 x; .reg .b64 a;\nld.param.u64 a, [A];\n"+body+"\nret;\n}\n"))
	require.NoError(t, err)
	f, err := mod.Function("k")
	require.NoError(t, err)
	return f
}

// Streams that come, copy and go leave no slots behind.
func TestSlotsOfStreams(t *testing.T) {
	m, d, _ := weakMachine(t)
	p, err := d.Alloc(64, "memory")
	require.NoError(t, err)
	for range 50 {
		s, err := d.NewStream()
		require.NoError(t, err)
		require.NoError(t, s.MemsetAsync(p, 1, 64))
		require.NoError(t, s.Synchronize(context.Background()))
		require.NoError(t, s.Close())
	}
	require.LessOrEqual(t, len(m.weak.slots), 3)
}

// A warp has the slot of one that ended before it, and of no other.
func TestSlotsOfWarps(t *testing.T) {
	m, d, s := weakMachine(t)
	p, err := d.Alloc(64, "memory")
	require.NoError(t, err)
	f := kernelOf(t, d, "st.global.u32 [a], 1;")
	for range 10 {
		require.NoError(t, s.Launch(&device.Launch{Function: f, Grid: 1, Threads: 1, Args: le.AppendUint64(nil, uint64(p))}))
	}
	require.NoError(t, s.Synchronize(context.Background()))
	require.Equal(t, 2, len(m.weak.slots), "the host's, and one for kernels in a row")

	// CTAs of a grid come after none of it.
	idle := kernelOf(t, d, "mov.u32 x, 1;")
	grid := 2 * enoughSlots
	require.NoError(t, s.Launch(&device.Launch{Function: idle, Grid: grid, Threads: 1, Args: le.AppendUint64(nil, uint64(p))}))
	require.NoError(t, s.Synchronize(context.Background()))
	require.Equal(t, enoughSlots, len(m.weak.slots))
}

// cellAt returns what is known of a granule of device memory.
func cellAt(m *Machine, p device.Ptr) *cell {
	al := m.regionOf(uint64(p)).find(uint64(p))
	return al.cells().at(uint64(p) - al.base)
}

// A word that was written once and is polled by every launch.
func TestReadersOfAVersion(t *testing.T) {
	m, d, s := weakMachine(t)
	p, err := d.Alloc(64, "memory")
	require.NoError(t, err)
	args := le.AppendUint64(nil, uint64(p))
	launch := func(f device.Function, grid, threads int) {
		require.NoError(t, s.Launch(&device.Launch{Function: f, Grid: grid, Threads: threads, Args: args}))
		require.NoError(t, s.Synchronize(context.Background()))
	}
	launch(kernelOf(t, d, "st.relaxed.sys.global.u32 [a], 1;"), 1, 1)
	poll := kernelOf(t, d, "ld.relaxed.sys.global.u32 x, [a];\nsetp.ne.u32 p, x, 1;\n@p trap;")
	most, commonFrom := 0, 0
	for i := range 40 {
		launch(poll, 4, 1024)
		vs := cellAt(m, p).more.versions
		most = max(most, len(vs[len(vs)-1].others()))
		if commonFrom == 0 && vs[len(vs)-1].common {
			commonFrom = i
		}
	}
	require.Greater(t, most, keptReaders/2)
	require.Less(t, most, keptReaders)
	require.Positive(t, commonFrom)
	// Whoever comes next is still ordered behind it.
	launch(kernelOf(t, d, "st.global.u32 [a], 2;"), 1, 1)
}

// A counter that every launch adds to.
func TestReleasesOfAtomics(t *testing.T) {
	m, d, s := weakMachine(t)
	p, err := d.Alloc(64, "memory")
	require.NoError(t, err)
	add := kernelOf(t, d, "atom.release.gpu.global.add.u32 x, [a], 1;")
	for range 20 {
		require.NoError(t, s.Launch(&device.Launch{Function: add, Grid: 8, Threads: 32, Args: le.AppendUint64(nil, uint64(p))}))
		require.NoError(t, s.Synchronize(context.Background()))
	}
	more := cellAt(m, p).more
	require.LessOrEqual(t, len(more.versions[keptVersions-1].passed()), 8+1)
	require.Empty(t, more.older, "who races with what was replaced races with the last")

	// Plain stores of a word have their writers in the way of one another.
	store := kernelOf(t, d, "st.relaxed.gpu.global.u32 [a+8], 1;")
	for range 3 {
		require.NoError(t, s.Launch(&device.Launch{Function: store, Grid: 64, Threads: 128, Args: le.AppendUint64(nil, uint64(p))}))
		require.NoError(t, s.Synchronize(context.Background()))
	}
	require.Equal(t, keptOlder, len(cellAt(m, p+8).more.older))
}
