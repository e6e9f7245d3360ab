package sim

import (
	"encoding/binary"

	"github.com/ncclgo/ncclgo/device/ptx"
)

const (
	lanes      = 32
	full       = ^uint32(0)
	maxThreads = 1024
	numBars    = 16
)

// cta is a resident CTA.
type cta struct {
	kernel   *kernel
	index    int
	sm       int
	warps    []*warp
	liveWarp int // warps with live lanes
	shared   *alloc
	window   *alloc // shared memory at its generic addresses
	bars     [numBars]barrier

	// Of the weak model.
	home   *home
	gather []gathering // by barrier
}

// newCTA makes CTA i of k resident on an SM.
func newCTA(k *kernel, i, sm int) *cta {
	size := k.fn.prog.entry.SharedSize
	c := &cta{kernel: k, index: i, sm: sm}
	c.shared = &alloc{size: uint64(size), data: make([]byte, size), gpu: k.gpu.index, label: "shared memory"}
	c.window = &alloc{base: sharedWindow, size: uint64(size), data: c.shared.data, gpu: k.gpu.index, label: "shared memory"}
	if k.gpu.m.weak != nil {
		c.home = &home{gpu: k.gpu.index, sc: origin}
		c.gather = make([]gathering, numBars)
		c.shared.shadow = &shadow{}
		c.window.shadow = c.shared.shadow
	}
	n := roundWarp(k.threads) / lanes
	c.liveWarp = n
	for wi := range n {
		c.warps = append(c.warps, newWarp(c, wi))
	}
	return c
}

// constant is a row that holds the same value in all lanes of all warps.
type constant struct {
	row    int32
	wide   bool // of the 64-bit file
	value  uint64
	global *ptx.Var // add the address of this module variable
}

// newWarp makes warp index of c, with its registers zero and its constant rows
// filled.
func newWarp(c *cta, index int) *warp {
	k := c.kernel
	p, m := k.fn.prog, k.gpu.m
	var w *warp
	if spare := m.spare[p]; len(spare) > 0 {
		w = spare[len(spare)-1]
		m.spare[p] = spare[:len(spare)-1]
		clear(w.r32)
		clear(w.r64)
		clear(w.pred)
		*w = warp{r32: w.r32, r64: w.r64, pred: w.pred, local: w.local, splits: w.splits[:0], weak: w.weak}
		clear(w.local)
	} else {
		w = &warp{r32: make([]row32, p.rows32), r64: make([]row64, p.rows64), pred: make([]uint32, p.preds),
			local: make([]byte, lanes*p.localStride)}
	}
	w.m, w.cta, w.index, w.code, w.readyAt = m, c, index, p.code, -1
	w.exists = full
	if rest := k.threads - index*lanes; rest < lanes {
		w.exists = 1<<rest - 1
	}
	w.live = w.exists
	w.splits = append(w.splits, split{mask: w.live})
	for i := range w.cache {
		w.cache[i] = nowhere
	}
	w.cache[slotShared] = c.shared
	w.cache[slotParam] = k.params
	if ws := m.weak; ws != nil {
		w.weak = ws.newWeakWarp(w)
	}
	w.pred[predTrue] = full
	for _, k := range k.fn.consts {
		if k.wide {
			fill(&w.r64[k.row], k.value)
		} else {
			fill(&w.r32[k.row], uint32(k.value))
		}
	}
	for _, s := range p.sregs {
		for l := range lanes {
			w.r32[s.row][l] = w.sreg32(s.sreg, l)
		}
	}
	return w
}

// recycle keeps the warps of a CTA that ended for the next one.
func (m *Machine) recycle(c *cta) {
	p := c.kernel.fn.prog
	m.spare[p] = append(m.spare[p], c.warps...)
}

func fill[T lane](r *[lanes]T, v T) {
	for l := range r {
		r[l] = v
	}
}

// sreg32 returns a special register that does not change while a warp runs.
func (w *warp) sreg32(s ptx.Sreg, l int) uint32 {
	c := w.cta
	bit := uint32(1) << l
	switch s {
	case ptx.TidX:
		return uint32(w.index*lanes + l)
	case ptx.NTidX:
		return uint32(c.kernel.threads)
	case ptx.NTidY, ptx.NTidZ, ptx.NCTAIDY, ptx.NCTAIDZ:
		return 1
	case ptx.CTAIDX:
		return uint32(c.index)
	case ptx.NCTAIDX:
		return uint32(c.kernel.grid)
	case ptx.LaneID:
		return uint32(l)
	case ptx.WarpID:
		return uint32(w.index)
	case ptx.NWarpID:
		return uint32(c.kernel.gpu.info.MaxThreadsPerSM / lanes)
	case ptx.SMID:
		return uint32(c.sm)
	case ptx.NSMID:
		return uint32(c.kernel.gpu.info.NumSMs)
	case ptx.LaneMaskEQ:
		return bit
	case ptx.LaneMaskLT:
		return bit - 1
	case ptx.LaneMaskLE:
		return bit | (bit - 1)
	case ptx.LaneMaskGT:
		return ^(bit | (bit - 1))
	case ptx.LaneMaskGE:
		return ^(bit - 1)
	case ptx.TotalSmemSize:
		return uint32(c.kernel.fn.prog.entry.SharedSize)
	case ptx.WarpSize:
		return lanes
	}
	return 0 // the y and z coordinates, %dynamic_smem_size
}

// sreg64 returns a special register that is read when it is used.
func (w *warp) sreg64(s ptx.Sreg) uint64 {
	now := w.m.now
	switch s {
	case ptx.GridID:
		return w.cta.kernel.gridID
	case ptx.Clock, ptx.Clock64:
		return now - startTime
	case ptx.ClockHi:
		return (now - startTime) >> 32
	case ptx.GlobalTimerHi:
		return now >> 32
	}
	return now
}

var le = binary.LittleEndian
