package sim

import "math/bits"

// startTime is %globaltimer when a machine is made: a fixed moment, so that
// runs repeat.
const startTime = 1_000_000_000_000_000_000

// never is a time that does not come.
const never = ^uint64(0)

// rng is splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, 2014): one state for all choices of a machine.
type rng uint64

func newRNG(seed uint64) rng { return rng(seed) }

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// runWarps picks warps and runs them until the budget ends at m.executed ==
// end, a stream can proceed, no warp is ready, or an error.
func (m *Machine) runWarps(end uint64) {
	quantum := uint64(m.cfg.Quantum)
	if e := m.executed + watchPeriod; e < end {
		end = e
	}
	for m.executed < end && len(m.ready) > 0 && !m.pumpable {
		// One draw gives both choices: the warp from the upper half, the
		// instructions from the lower.
		x := m.rng.next()
		w := m.ready[x>>32*uint64(len(m.ready))>>32]
		n := int(x&0xffffffff*quantum>>32) + 1
		m.cur = w
		before := m.executed
		if !w.run(n) {
			return
		}
		m.now += m.executed - before
		if m.now >= m.nextWake {
			m.wakeDue()
		}
	}
}

// setReady makes w eligible to run.
func (m *Machine) setReady(w *warp) {
	if w.readyAt < 0 {
		w.readyAt = len(m.ready)
		m.ready = append(m.ready, w)
	}
}

// park takes w out of the eligible warps.
func (m *Machine) park(w *warp) {
	if i := w.readyAt; i >= 0 {
		last := len(m.ready) - 1
		m.ready[i] = m.ready[last]
		m.ready[i].readyAt = i
		m.ready[last] = nil
		m.ready = m.ready[:last]
		w.readyAt = -1
	}
}

// sleep notes that a split of w sleeps until the given time.
func (m *Machine) sleep(w *warp, until uint64) {
	m.nextWake = min(m.nextWake, until)
	if !w.sleeping {
		w.sleeping = true
		m.sleepers = append(m.sleepers, w)
	}
}

// wakeDue wakes the splits whose time has come.
func (m *Machine) wakeDue() {
	kept := m.sleepers[:0]
	m.nextWake = never
	for _, w := range m.sleepers {
		if w.wake(m.now) {
			m.setReady(w)
		}
		if w.sleeping {
			kept = append(kept, w)
			m.nextWake = min(m.nextWake, w.nextWake())
		}
	}
	clear(m.sleepers[len(kept):])
	m.sleepers = kept
}

// wakeNext lets time jump to the next moment at which somebody wakes, and
// reports whether somebody did.
func (m *Machine) wakeNext() bool {
	if len(m.sleepers) == 0 {
		return false
	}
	m.now = max(m.now, m.nextWake)
	m.wakeDue()
	return true
}

// lowest returns the lowest lane of a mask.
func lowest(m uint32) int { return bits.TrailingZeros32(m) }
