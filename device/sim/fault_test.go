package sim_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/ptx"
	"github.com/ncclgo/ncclgo/device/sim"
)

func TestAddressFaults(t *testing.T) {
	cases := []struct {
		name, body, at string
		kind           device.FaultKind
		lane           int
		addr           func(l *lab) device.Ptr
		label          string
		says           string
	}{
		{name: "load beyond", body: `
add.s64 at, at, 16320;
ld.global.u32 x, [at];`, at: "ld.global.u32 x", kind: device.OutOfBounds, lane: 16,
			addr: func(l *lab) device.Ptr { return l.out + 16384 }, label: "0 bytes beyond the 16384 of out"},
		{name: "store before", body: `
st.global.u32 [at+-8], t;`, at: "st.global", kind: device.OutOfBounds, lane: 0,
			addr: func(l *lab) device.Ptr { return l.out - 8 }},
		{name: "one lane's vector beyond", body: `
add.s64 at, a, 16376; setp.eq.u32 p, lane, 5; @p st.global.v2.u64 [at+8], {a, a};`, at: "st.global.v2", kind: device.OutOfBounds, lane: 5,
			addr: func(l *lab) device.Ptr { return l.out + 16384 }},
		{name: "null", body: `
mov.u64 b, 0;
ld.u32 x, [b];`, at: "ld.u32 x", kind: device.OutOfBounds, says: "no allocation"},
		{name: "misaligned", body: `
setp.eq.u32 p, lane, 3; @p add.s64 at, at, 2;
ld.global.u32 x, [at];`, at: "ld.global.u32 x", kind: device.Misaligned, lane: 3,
			addr: func(l *lab) device.Ptr { return l.out + 14 }, label: "out +0xe"},
		{name: "an atomic beyond", body: `
atom.global.add.u32 x, [a+16384], 1;`, at: "atom", kind: device.OutOfBounds, addr: func(l *lab) device.Ptr { return l.out + 16384 }},
		{name: "shared memory beyond", body: `
mov.u64 b, sm;
ld.shared.u32 x, [b+256];`, at: "ld.shared", kind: device.OutOfBounds, addr: func(*lab) device.Ptr { return 256 }, says: "256 bytes of shared memory"},
		{name: "shared memory beyond, generic", body: `
mov.u64 b, sm; cvta.shared.u64 b, b;
ld.u64 c, [b+256];`, at: "ld.u64 c", kind: device.OutOfBounds, says: "shared memory"},
		{name: "local memory beyond", body: `
mov.u64 b, lo; add.s64 b, b, 64;
st.local.u32 [b], x;`, at: "st.local", kind: device.OutOfBounds, says: "local memory"},
		{name: "a parameter beyond", body: `
mov.u64 b, A;
ld.param.u64 c, [b+24];`, at: "ld.param.u64 c, [b+24]", kind: device.OutOfBounds, says: "parameters"},
		{name: "a store to a parameter", body: `
mov.u64 b, A; cvta.param.u64 b, b;
st.u32 [b], x;`, at: "st.u32 [b]", kind: device.ReadOnly},
		{name: "a store to a constant", body: `
mov.u64 b, limit; cvta.const.u64 b, b;
st.u32 [b], x;`, at: "st.u32 [b]", kind: device.ReadOnly, label: "limit"},
		{name: "an atomic on a constant", body: `
mov.u64 b, limit; cvta.const.u64 b, b; ld.u32 x, [b];
atom.add.u32 x, [b], 1;`, at: "atom.add", kind: device.ReadOnly, label: "limit"},
		{name: "a reduction on a constant", body: `
mov.u64 b, limit; cvta.const.u64 b, b;
red.or.b32 [b], 0;`, at: "red.or", kind: device.ReadOnly, label: "limit"},
		{name: "an atomic on a parameter", body: `
mov.u64 b, A; cvta.param.u64 b, b;
atom.exch.b32 x, [b], 1;`, at: "atom.exch", kind: device.ReadOnly},
		{name: "trap", body: `
setp.eq.u32 p, lane, 7;
@p trap;`, at: "trap", kind: device.Trapped, lane: 7},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, sim.Config{})
			f := l.fault(shape{threads: 32, label: "rank 3", ctas: []string{"ch 1"}}, c.body)
			require.Equal(t, c.kind, f.Kind, "%v", f)
			require.Equal(t, "k", f.Kernel)
			require.Equal(t, "rank 3 ch 1", f.Label)
			require.Equal(t, "test.ptx", f.File)
			require.Equal(t, bodyLine(c.body, c.at), f.Line)
			require.Contains(t, f.Text, c.at[:2])
			require.Equal(t, []int{0, 0, 0, c.lane}, []int{f.Device, f.CTA, f.Warp, f.Lane})
			if c.addr != nil {
				require.Equal(t, c.addr(l), f.Addr)
			}
			if c.label != "" {
				require.Equal(t, c.label, f.AddrLabel)
			}
			require.Contains(t, f.Detail, c.says)
		})
	}
}

// The last bytes of an allocation whose size is no multiple of the access's.
func TestAccessAcrossTheEnd(t *testing.T) {
	l := newLab(t, sim.Config{})
	b := l.alloc(0, 20, "odd")
	f := l.fault(shape{threads: 1}, `
ld.global.u32 x, [b+16];
ld.global.v4.u32 {x, y, z, t}, [b+16];`, l.out, b)
	require.Equal(t, device.OutOfBounds, f.Kind)
	require.Equal(t, headerLines+2, f.Line)
	require.Equal(t, "odd +0x10", f.AddrLabel)
}

func TestUseAfterFree(t *testing.T) {
	l := newLab(t, sim.Config{})
	const body = `
ld.global.u32 x, [b+256];`
	b := l.alloc(0, 4096, "scratch")
	l.launch(shape{threads: 32}, body, l.out, b)
	require.NoError(t, l.sync(0))
	require.NoError(t, l.devs[0].Free(b))
	other := l.alloc(0, 4096, "another")
	require.NotEqual(t, b, other)
	f := l.fault(shape{threads: 32}, body, l.out, b)
	require.Equal(t, device.UseAfterFree, f.Kind)
	require.Equal(t, "scratch +0x100, freed", f.AddrLabel)
	require.Error(t, l.devs[0].Free(b))
}

func TestLabels(t *testing.T) {
	l := newLab(t, sim.Config{})
	b := l.alloc(0, 4096, "block")
	l.devs[0].Label(b+1024, 1024, "half")
	l.devs[0].Label(b+1024, 64, "head")
	for off, want := range map[device.Ptr]string{2: "block +0x2", 1026: "head +0x2", 1122: "half +0x62", 2050: "block +0x802"} {
		m := newLab(t, sim.Config{})
		p := m.alloc(0, 4096, "block")
		m.devs[0].Label(p+1024, 1024, "half")
		m.devs[0].Label(p+1024, 64, "head")
		f := m.fault(shape{threads: 1}, `
ld.global.u32 x, [b];`, m.out, p+off)
		require.Equal(t, want, f.AddrLabel)
	}
}

func TestPeerAccess(t *testing.T) {
	l := newLab(t, sim.Config{Devices: []device.Info{smallGPU(), smallGPU()}})
	b := l.alloc(1, 4096, "remote")
	const body = `
st.global.u32 [b], 5;`
	t.Run("enabled", func(t *testing.T) {
		l := newLab(t, sim.Config{Devices: []device.Info{smallGPU(), smallGPU()}})
		require.NoError(t, l.devs[0].EnablePeer(l.devs[1]))
		l.launch(shape{threads: 1}, body, l.out, l.alloc(1, 4096, "remote"))
		require.NoError(t, l.sync(0))
	})
	f := l.fault(shape{threads: 1}, body, l.out, b)
	require.Equal(t, device.OutOfBounds, f.Kind)
	require.Equal(t, "remote", f.AddrLabel)
	require.Contains(t, f.Detail, "EnablePeer was not called")
	require.Error(t, l.devs[0].EnablePeer(l.devs[0]))
}

// After a fault every call returns it, pinned host memory can be read, Close
// returns nil, and a new machine runs what the old one did not.
func TestFaultIsSticky(t *testing.T) {
	for name, body := range map[string]string{
		"trap":  "\nst.global.u32 [b], 9; trap;",
		"stuck": "\nst.global.u32 [b], 9;" + poll,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, sim.Config{})
			h, err := l.devs[0].AllocHost(64, "report")
			require.NoError(t, err)
			mod, err := l.devs[0].LoadModule("test.ptx", []byte(header+"ret;\n}\n"))
			require.NoError(t, err)
			event, err := l.devs[0].NewEvent()
			require.NoError(t, err)
			first := error(l.fault(shape{threads: 32}, body, l.out, h.Ptr(), l.alloc(0, 64, "flag")))
			calls := map[string]func() error{
				"Alloc":              func() error { _, err := l.devs[0].Alloc(16, ""); return err },
				"AllocHost":          func() error { _, err := l.devs[0].AllocHost(16, ""); return err },
				"CopyIn":             func() error { return l.devs[0].CopyIn(l.out, []byte{1}) },
				"CopyOut":            func() error { return l.devs[0].CopyOut([]byte{1}, l.out) },
				"Free":               func() error { return l.devs[0].Free(l.out) },
				"HostMem.Free":       h.Free,
				"NewStream":          func() error { _, err := l.devs[0].NewStream(); return err },
				"NewEvent":           func() error { _, err := l.devs[0].NewEvent(); return err },
				"Open":               func() error { _, err := l.m.Open(0); return err },
				"Function":           func() error { _, err := mod.Function("k"); return err },
				"Unload":             mod.Unload,
				"Stream.Query":       func() error { _, err := l.streams[0].Query(); return err },
				"Stream.Synchronize": func() error { return l.sync(0) },
				"Stream.Record":      func() error { return l.streams[0].Record(event) },
				"Event.Synchronize":  func() error { return event.Synchronize(context.Background()) },
			}
			for name, call := range calls {
				require.Equal(t, first, call(), name)
			}
			require.Equal(t, uint32(9), h.Load32(0))
			require.NoError(t, l.m.Close())
			require.Equal(t, uint32(9), h.Load32(0))
			require.NoError(t, l.m.Close())
			for name, call := range calls {
				require.ErrorContains(t, call(), "the machine is closed", name)
			}
			require.NoError(t, l.streams[0].Close())

			again := newLab(t, sim.Config{})
			require.Equal(t, []uint32{5}, again.run(1, "\nst.global.u32 [at], 5;"))
		})
	}
}

func TestLoadRefusesWhatItCannotRun(t *testing.T) {
	l := newLab(t, sim.Config{})
	const body = `
multimem.st.global.f32 [a], 1.0;
add.u32 x, x, 1;
multimem.red.global.add.f32 [a], 1.0;`
	_, err := l.devs[0].LoadModule("bad.ptx", []byte(header+body[1:]+"\nret;\n}\n"))
	var list ptx.ErrorList
	require.ErrorAs(t, err, &list)
	require.Len(t, list, 2)
	require.Equal(t, "bad.ptx", list[0].File)
	require.Equal(t, bodyLine(body, "multimem.st"), list[0].Line)
	require.Contains(t, list[0].Text, "multimem.st.global")

	old := smallGPU()
	old.SM = 80
	o := newLab(t, sim.Config{Devices: []device.Info{old}})
	_, err = o.devs[0].LoadModule("new.ptx", []byte(header+"ret;\n}\n"))
	require.ErrorContains(t, err, "GPU 0 is sm_80")
}

func TestConfigIsChecked(t *testing.T) {
	bad := func(edit func(i *device.Info)) []device.Info {
		i := sim.H200()
		edit(&i)
		return []device.Info{i}
	}
	good := []device.Info{sim.V100(), sim.A100(), sim.L4(), sim.H100(), sim.H200()}
	for name, cfg := range map[string]sim.Config{
		"Devices is empty":  {},
		"Devices has 65":    {Devices: slices.Repeat(good[:1], 65)},
		"Quantum is -1":     {Devices: good, Quantum: -1},
		"MemoryBytes is -1": {Devices: good, MemoryBytes: -1},
		"StuckGrace is -1s": {Devices: good, StuckGrace: -1e9},
		"NumSMs is 0":       {Devices: bad(func(i *device.Info) { i.NumSMs = 0 })},
		"MemoryBytes is 0":  {Devices: bad(func(i *device.Info) { i.MemoryBytes = 0 })},
		"SM is 0":           {Devices: bad(func(i *device.Info) { i.SM = 0 })},
		"PTX allows 1024":   {Devices: bad(func(i *device.Info) { i.MaxThreadsPerCTA = 2048 })},
	} {
		_, err := sim.New(cfg)
		require.ErrorContains(t, err, name)
	}
	m, err := sim.New(sim.Config{Devices: good})
	require.NoError(t, err)
	require.Equal(t, "PTX machine, 5 GPUs, seed 0", m.Describe())
	m, err = sim.New(sim.Config{Devices: good[4:], Seed: 3})
	require.NoError(t, err)
	require.Equal(t, "PTX machine, 1 x NVIDIA H200 (sm_90, 132 SMs), seed 3", m.Describe())
	require.Equal(t, fmt.Sprint(1), fmt.Sprint(m.NumDevices()))
}
