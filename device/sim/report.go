package sim

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/ptx"
)

// maxPlaces is how many waiting places a report lists. If there are more launches
// than that, it lists one place of each.
const maxPlaces = 64

// declare prepares the report and starts the grace period.
func (w *watch) declare(m *Machine) {
	f := &device.Fault{Kind: device.Stuck, Device: -1, CTA: -1, Warp: -1, Lane: -1}
	places := m.waitingPlaces()
	total := 0
	for _, p := range places {
		total += p.splits
	}
	f.Detail = fmt.Sprintf("no warp can progress: %d wait", total)
	listed := choosePlaces(places)
	if len(listed) < len(places) {
		f.Detail += fmt.Sprintf(" (%d of %d places listed)", len(listed), len(places))
	}
	for _, p := range listed {
		p.fault.Detail += p.size()
		f.Others = append(f.Others, p.fault)
	}
	for _, k := range m.running {
		if k.next < k.grid {
			f.Kind, f.Device, f.Kernel, f.Label, f.File = device.NotResident, k.gpu.index, k.fn.prog.name, k.label, k.fn.prog.file
			f.Detail += fmt.Sprintf("; on GPU %d, %d CTAs of this kernel are resident, %d have ended, and %d cannot become resident: an SM holds %d of them, the GPU has %d SMs",
				k.gpu.index, len(k.resident), k.ended, k.grid-k.next, k.gpu.occupancy(k.threads, k.fn.prog), k.gpu.info.NumSMs)
			break
		}
	}
	for _, missing := range m.notStarted() {
		f.Detail += "; " + missing
	}
	w.fault, w.since = f, time.Now()
}

// place is the splits of a CTA that wait for the same.
type place struct {
	cta    *cta
	fault  *device.Fault
	splits int
	lanes  int
}

func (p *place) size() string {
	if p.splits == 1 {
		return fmt.Sprintf(" (%d lanes)", p.lanes)
	}
	return fmt.Sprintf(" (%d warps, %d lanes)", p.splits, p.lanes)
}

// waitingPlaces returns where resident CTAs wait, kernel by kernel and CTA by CTA.
func (m *Machine) waitingPlaces() []*place {
	type key struct {
		cta    *cta
		line   int
		detail string
	}
	known := map[key]*place{}
	var all []*place
	m.eachWarp(func(w *warp) bool {
		for i := range w.splits {
			s := &w.splits[i]
			f := w.waitsFor(s)
			k := key{w.cta, f.Line, f.Detail}
			p := known[k]
			if p == nil {
				p = &place{cta: w.cta, fault: f}
				known[k] = p
				all = append(all, p)
			}
			p.splits++
			p.lanes += bits.OnesCount32(s.mask)
		}
		return true
	})
	return all
}

// choosePlaces returns the places to list, in the order of all. When there are too
// many the launches take turns, and in a launch its CTAs, so that nobody has a
// second place before everybody has one.
func choosePlaces(all []*place) []*place {
	// What a CTA polls says more than where the rest of it waits meanwhile.
	var order []*place
	for _, polls := range []bool{true, false} {
		for _, p := range all {
			if (p.fault.Addr != 0) == polls {
				order = append(order, p)
			}
		}
	}
	takeTurns(order, func(p *place) *cta { return p.cta })
	launches := takeTurns(order, func(p *place) *kernel { return p.cta.kernel })
	chosen := map[*place]bool{}
	for _, p := range order[:min(len(order), max(maxPlaces, launches))] {
		chosen[p] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(p *place) bool { return !chosen[p] })
}

// takeTurns puts the first place of each party before the second of any, and so
// on, and returns how many parties there are.
func takeTurns[P comparable](places []*place, party func(*place) P) int {
	turn, had := map[*place]int{}, map[P]int{}
	for _, p := range places {
		turn[p] = had[party(p)]
		had[party(p)]++
	}
	slices.SortStableFunc(places, func(p, q *place) int { return cmp.Compare(turn[p], turn[q]) })
	return len(had)
}

// notStarted says which GPUs run no kernel although somebody prepared memory on
// them, and which launches wait for their turn: who is waited for may be there.
// The labels of what is polled tell who it is.
func (m *Machine) notStarted() []string {
	running, queued := map[*gpu]bool{}, map[*gpu]bool{}
	for _, k := range m.running {
		running[k.gpu] = true
	}
	var list []string
	for _, s := range m.streams {
		i := slices.IndexFunc(s.queue, func(it item) bool { return it.launch != nil })
		if s.active != nil || i < 0 {
			continue
		}
		queued[s.gpu] = true
		k := s.queue[i].launch
		name := k.fn.prog.name
		if k.label != "" {
			name = k.label + ": " + name
		}
		list = append(list, fmt.Sprintf("on GPU %d, %s is queued behind an event that is not complete", s.gpu.index, name))
	}
	for _, g := range m.gpus {
		if g.mem.used > 0 && !running[g] && !queued[g] {
			list = append(list, fmt.Sprintf("GPU %d runs no kernel and has none queued", g.index))
		}
	}
	return list
}

// waitsFor describes what a split waits for.
func (w *warp) waitsFor(s *split) *device.Fault {
	lane := lowest(s.mask)
	switch s.state {
	case atBarrier:
		b := &w.cta.bars[s.bar]
		return w.faultAt("", s.pc, lane, "waits at barrier %d: %d of %d threads have arrived", s.bar, b.arrived, b.want)
	case atSync:
		member := w.sync.member[lane]
		return w.faultAt("", s.pc, lane, "waits for lanes %#x of member mask %#x", member&w.exists&^w.sync.waiting, member)
	}
	pc, polled := w.mainLoad(s.mask)
	if polled == nil {
		return w.faultAt("", s.pc, lane, "waits for a time")
	}
	lane = lowest(s.mask & polled.seen)
	addr := polled.addr[lane]
	says := "polls, reads %s"
	if w.outOfReach(w.code[pc].mem, lane, addr) {
		says = "polls, and never sees that memory holds %s: the scope of the write or of the poll does not include the other's thread"
	}
	f := w.faultAt("", pc, lane, says, w.valueAt(w.code[pc].mem, lane, addr))
	f.Addr, f.AddrLabel = device.Ptr(addr), w.m.describe(addr)
	if f.AddrLabel == "" && w.code[pc].mem.space == ptx.Shared {
		f.AddrLabel = "shared memory"
	}
	return f
}

// mainLoad returns the load that lanes of mask repeat most: the wait itself
// rather than a look at an abort flag now and then.
func (w *warp) mainLoad(mask uint32) (pc int32, best *site) {
	if w.track == nil {
		return 0, nil
	}
	for p, s := range w.track.sites {
		if s.seen&mask == 0 {
			continue
		}
		if best == nil || s.count > best.count || s.count == best.count && p < pc {
			pc, best = p, s
		}
	}
	return pc, best
}

// valueAt formats what a load reads at addr now.
func (w *warp) valueAt(a *access, lane int, addr uint64) string {
	al, f := w.find(a.space, lane, addr, a.bytes)
	var b []byte
	switch {
	case f != nil:
		return "nothing"
	case al == nil:
		off := uint64(lane*w.cta.kernel.fn.prog.localStride) + addr&(1<<windowBits-1)
		b = w.local[off : off+a.bytes]
	default:
		b = al.data[addr-al.base:][:a.bytes]
	}
	text := ""
	for i := 0; i < len(b); i += a.elem {
		if i > 0 {
			text += ", "
		}
		v := uint64(0)
		for j := min(a.elem, 8) - 1; j >= 0; j-- {
			v = v<<8 | uint64(b[i+j])
		}
		text += fmt.Sprintf("%#x", v)
	}
	return text
}
