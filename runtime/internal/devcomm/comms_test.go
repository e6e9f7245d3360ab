package devcomm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/internal/result"
)

// fakeDevice holds memory and nothing else; its n-th request can be made to fail.
type fakeDevice struct {
	device.Device // nil: what is not below is not to be called
	host          *fakeHost
	memory        map[device.Ptr][]byte
	labels        map[device.Ptr]string
	peers         []device.Device
}

// fakeHost is what the devices of one test share.
type fakeHost struct {
	next    device.Ptr
	live    int // allocations not freed
	calls   int
	failsAt int // number of the call that fails; 0: none
}

var errFake = errors.New("out of memory")

func (h *fakeHost) call() error {
	if h.calls++; h.calls == h.failsAt {
		return errFake
	}
	return nil
}

func fakes(n int) (*fakeHost, []*fakeDevice, []device.Device) {
	h := &fakeHost{next: 1 << 20}
	var all []*fakeDevice
	var devices []device.Device
	for range n {
		d := &fakeDevice{host: h, memory: map[device.Ptr][]byte{}, labels: map[device.Ptr]string{}}
		all, devices = append(all, d), append(devices, d)
	}
	return h, all, devices
}

func (d *fakeDevice) Alloc(size int64, label string) (device.Ptr, error) {
	if err := d.host.call(); err != nil {
		return 0, err
	}
	p := d.host.next
	d.host.next += device.Ptr(size+511) / 512 * 512
	d.host.live++
	d.memory[p] = make([]byte, size)
	d.labels[p] = label
	return p, nil
}

func (d *fakeDevice) Free(p device.Ptr) error {
	if d.memory[p] == nil {
		return fmt.Errorf("%#x is not allocated", p)
	}
	delete(d.memory, p)
	d.host.live--
	return nil
}

func (d *fakeDevice) CopyIn(dst device.Ptr, src []byte) error {
	if err := d.host.call(); err != nil {
		return err
	}
	copy(d.memory[dst][:len(src)], src)
	return nil
}

func (d *fakeDevice) Label(p device.Ptr, _ int64, label string) { d.labels[p] = label }

func (d *fakeDevice) EnablePeer(other device.Device) error {
	if err := d.host.call(); err != nil {
		return err
	}
	d.peers = append(d.peers, other)
	return nil
}

func (d *fakeDevice) AllocHost(size int64, label string) (device.HostMem, error) {
	p, err := d.Alloc(size, label)
	return &fakeHostMem{d, p}, err
}

type fakeHostMem struct {
	dev *fakeDevice
	p   device.Ptr
}

func (m *fakeHostMem) Ptr() device.Ptr { return m.p }
func (m *fakeHostMem) Free() error     { return m.dev.Free(m.p) }
func (m *fakeHostMem) Write(off int64, src []byte) {
	if err := m.dev.CopyIn(m.p+device.Ptr(off), src); err != nil {
		panic(err)
	}
}
func (m *fakeHostMem) Load32(off int64) uint32 {
	var v uint32
	if err := Decode(m.dev.memory[m.p][off:], &v); err != nil {
		panic(err)
	}
	return v
}
func (m *fakeHostMem) Store32(off int64, v uint32) {
	copy(m.dev.memory[m.p][off:], Append(nil, v))
}

func config(nchannels, nranks int) Config {
	c := Config{FirstStep: 1<<32 - 16}
	for ch := range nchannels {
		c.Rings = append(c.Rings, rand.New(rand.NewPCG(uint64(nranks), uint64(ch))).Perm(nranks))
	}
	c.BufferBytes = [abi.NumProtos]int64{abi.ProtoLL: 1024, abi.ProtoLL128: 16 << 10, abi.ProtoSimple: 8192}
	return c
}

func decode[T any](t *testing.T, b []byte) T {
	var v T
	require.NoError(t, Decode(b, &v))
	return v
}

func TestTables(t *testing.T) {
	const nranks, nchannels = 5, 3
	h, fake, devices := fakes(nranks)
	c := config(nchannels, nranks)
	comms, err := New(devices, c)
	require.NoError(t, err)
	require.Equal(t, nranks, comms.NumRanks())

	peers := map[[3]int]abi.Peer{} // by channel, rank, peer
	for r := range nranks {
		base := device.Ptr(comms.Comm(r))
		raw := fake[r].memory[base]
		comm := decode[abi.Comm](t, raw)
		require.EqualValues(t, r, comm.Rank)
		require.EqualValues(t, nranks, comm.NumRanks)
		require.EqualValues(t, nchannels, comm.NumChannels)
		require.Equal(t, [abi.NumProtos]uint32{128, 2048, 1024}, comm.SlotBytes)
		require.Equal(t, fmt.Sprintf("rank %d abort flag and reports", r), fake[r].labels[device.Ptr(comm.AbortFlag)])
		require.Equal(t, comm.AbortFlag+counterBytes, comm.Reports)
		require.Equal(t, fmt.Sprintf("rank %d Comm", r), fake[r].labels[base])
		for ch, ring := range c.Rings {
			channel := decode[abi.Channel](t, raw[Size(abi.Comm{})+int64(ch)*Size(abi.Channel{}):])
			index := slices.Index(ring, r)
			require.EqualValues(t, index, channel.Ring.Index)
			require.EqualValues(t, ring[(index+1)%nranks], channel.Ring.Next)
			require.EqualValues(t, ring[(index+nranks-1)%nranks], channel.Ring.Prev)
			order := decode[[nranks]uint32](t, raw[device.Ptr(channel.Ring.Ranks)-base:])
			for i, rank := range order {
				require.EqualValues(t, ring[(index+i)%nranks], rank)
			}
			for p, peer := range decode[[nranks]abi.Peer](t, raw[device.Ptr(channel.Peers)-base:]) {
				peers[[3]int{ch, r, p}] = peer
			}
		}
	}
	for key, p := range peers {
		ch, from, to := key[0], key[1], key[2]
		ring := c.Rings[ch]
		if ring[(slices.Index(ring, from)+1)%nranks] != to {
			require.Zero(t, p.Send, "%v is no hop of the ring", key)
			continue
		}
		require.Equal(t, p.Send, peers[[3]int{ch, to, from}].Recv, "both ends see one connection")
		require.EqualValues(t, c.FirstStep, p.Send.Step)
		for what, at := range map[string]struct {
			dev   int
			ptr   abi.Ptr
			bytes int
		}{
			fmt.Sprintf("rank %d ch %d LL recv from %d", to, ch, from):     {to, p.Send.Fifo[abi.ProtoLL], 1024},
			fmt.Sprintf("rank %d ch %d LL128 recv from %d", to, ch, from):  {to, p.Send.Fifo[abi.ProtoLL128], 16 << 10},
			fmt.Sprintf("rank %d ch %d Simple recv from %d", to, ch, from): {to, p.Send.Fifo[abi.ProtoSimple], 8192},
			fmt.Sprintf("rank %d ch %d tail of %d", to, ch, from):          {to, p.Send.Tail, counterBytes},
			fmt.Sprintf("rank %d ch %d head of %d", from, ch, to):          {from, p.Send.Head, counterBytes},
		} {
			memory := fake[at.dev].memory[device.Ptr(at.ptr)]
			require.Len(t, memory, at.bytes, what)
			require.Equal(t, what, fake[at.dev].labels[device.Ptr(at.ptr)])
			if at.bytes == counterBytes {
				require.Equal(t, c.FirstStep, decode[uint64](t, memory), what)
			}
		}
		require.Contains(t, fake[from].peers, devices[to])
		require.Contains(t, fake[to].peers, devices[from])
	}
	require.NoError(t, comms.Close())
	require.Zero(t, h.live)
}

func TestReports(t *testing.T) {
	_, fake, devices := fakes(2)
	comms, err := New(devices, config(2, 2))
	require.NoError(t, err)
	reports, err := comms.Reports()
	require.NoError(t, err)
	require.Empty(t, reports)

	comm := decode[abi.Comm](t, fake[1].memory[device.Ptr(comms.Comm(1))])
	host := fake[1].memory[device.Ptr(comm.AbortFlag)]
	copy(host[device.Ptr(comm.Reports)-device.Ptr(comm.AbortFlag)+device.Ptr(Size(abi.Report{})):],
		Append(nil, &abi.Report{State: abi.ReportCredit, Peer: 0, Step: 1<<32 + 5, Op: 7}))
	reports, err = comms.Reports()
	require.NoError(t, err)
	require.Equal(t, []Report{{Rank: 1, Channel: 1, Wait: Credit, Peer: 0, Step: 1<<32 + 5, Op: 7}}, reports)
	require.Equal(t, "rank 1 ch 1: op 7 waited for credit from 0 at step 4294967301", reports[0].String())

	comms.Abort()
	require.EqualValues(t, 1, decode[uint32](t, host))
}

func TestNewRefuses(t *testing.T) {
	ring := [][]int{{0, 1}}
	var long []int
	for r := range 64 {
		long = append(long, r)
	}
	for name, tt := range map[string]struct {
		nranks int
		config Config
		says   string
	}{
		"no ranks":        {0, Config{Rings: ring}, "no ranks"},
		"no channels":     {2, Config{}, "0 rings"},
		"65 channels":     {2, Config{Rings: slices.Repeat(ring, 65)}, "65 rings"},
		"a rank twice":    {2, Config{Rings: [][]int{{0, 0}}}, "ring of channel 0 is [0 0]; it must hold each of the 2 ranks once"},
		"a rank missing":  {3, Config{Rings: ring}, "[0 1]"},
		"a rank too many": {1, Config{Rings: ring}, "[0 1]"},
		"odd buffer":      {2, Config{Rings: ring, BufferBytes: [3]int64{100, 0, 0}}, "the LL buffer has 100 bytes; give a multiple of 256"},
		"part of a tile":  {2, Config{Rings: ring, BufferBytes: [3]int64{0, 12288, 0}}, "the LL128 buffer has 12288 bytes; give a multiple of 8192"},
		"negative buffer": {2, Config{Rings: ring, BufferBytes: [3]int64{0, 0, -128}}, "-128 bytes"},
		"huge buffer":     {2, Config{Rings: ring, BufferBytes: [3]int64{0, 0, 1 << 34}}, "17179869184 bytes"},
		"huge together":   {64, Config{Rings: [][]int{long}, BufferBytes: [3]int64{0, 0, 1 << 31}}, "up to 1073741824 with 64 ranks"},
	} {
		t.Run(name, func(t *testing.T) {
			h, _, devices := fakes(tt.nranks)
			comms, err := New(devices, tt.config)
			require.Nil(t, comms)
			require.ErrorIs(t, err, result.ErrInvalidArgument)
			require.ErrorContains(t, err, tt.says)
			require.Zero(t, h.calls, "refused before anything is touched")
		})
	}
}

// Whichever request fails, nothing is left allocated.
func TestNewFreesWhatItMade(t *testing.T) {
	h, _, devices := fakes(3)
	comms, err := New(devices, config(2, 3))
	require.NoError(t, err)
	require.NoError(t, comms.Close())
	for at := range h.calls {
		h, _, devices := fakes(3)
		h.failsAt = at + 1
		comms, err := New(devices, config(2, 3))
		require.Nil(t, comms)
		require.ErrorIs(t, err, errFake)
		require.Equal(t, result.UnhandledCUDAError, result.CodeOf(err))
		require.Zero(t, h.live, "call %d", at)
	}
}

func TestAppendDecode(t *testing.T) {
	conn := abi.Conn{Fifo: [abi.NumProtos]abi.Ptr{0x1122334455667788, 2, 3}, Tail: 4, Head: 5, Step: 1<<32 - 16}
	b := Append([]byte{0xee}, &conn)
	require.Len(t, b, 1+64)
	require.Equal(t, []byte{0xee, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}, b[:9])
	require.Equal(t, []byte{0xf0, 0xff, 0xff, 0xff, 0}, b[1+40:1+45])
	require.Equal(t, conn, decode[abi.Conn](t, b[1:]))

	require.ErrorContains(t, Decode(b[1:60], &conn), "59 bytes do not hold a *abi.Conn")
	require.Panics(t, func() { Append(nil, "text") })
}
