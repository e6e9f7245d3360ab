package sim

// splitState says why a split does not run.
type splitState uint8

const (
	runnable  splitState = iota
	asleep               // until split.until
	atBarrier            // of the CTA
	atSync               // bar.warp.sync, shfl, vote and the like, until the other lanes come
)

// split is the lanes of a warp that are at one instruction together.
//
// Lanes separate at branches that not all of them take, and splits join when
// they reach the same instruction. Each makes progress of its own, as lanes do
// since compute capability 7.0: the split that is furthest behind in the code
// runs first, because the others most likely wait for it to join, but none
// waits more than fairness instructions of its warp.
type split struct {
	pc    int32
	mask  uint32
	state splitState
	bar   uint8  // atBarrier: which
	until uint64 // asleep: the time it wakes
	since uint64 // warp.steps when it last ran
}

// fairness is how many instructions of its warp a runnable split may wait.
const fairness = 192

// pick returns the index of the split to run next, or -1 if none is runnable:
// one that has waited too long, or else the one furthest behind.
func (w *warp) pick() int {
	best, late := -1, -1
	for i := range w.splits {
		s := &w.splits[i]
		if s.state != runnable {
			continue
		}
		if best < 0 || s.pc < w.splits[best].pc {
			best = i
		}
		if w.steps-s.since > fairness && (late < 0 || s.since < w.splits[late].since) {
			late = i
		}
	}
	if late >= 0 {
		return late
	}
	return best
}

// joint returns the pc at which the split at index i, now at pc, would next meet
// a runnable split if it ran straight on, or -1.
func (w *warp) joint(i int, pc int32) int32 {
	next := int32(-1)
	for j := range w.splits {
		if s := &w.splits[j]; j != i && s.state == runnable && s.pc >= pc && (next < 0 || s.pc < next) {
			next = s.pc
		}
	}
	return next
}

// join merges the runnable splits that are at the pc of the split at index i
// into it.
func (w *warp) join(i int) {
	pc := w.splits[i].pc
	kept := w.splits[:0]
	at := 0
	var mask uint32
	for j, o := range w.splits {
		if o.state == runnable && o.pc == pc {
			mask |= o.mask
			if j != i {
				continue
			}
			at = len(kept)
		}
		kept = append(kept, o)
	}
	kept[at].mask = mask
	w.splits = kept
}

// divide takes the lanes of mask out of the split at index i, if it has others,
// and returns the index of a split with just these lanes.
func (w *warp) divide(i int, mask uint32) int {
	s := w.splits[i]
	if s.mask == mask {
		return i
	}
	w.splits[i].mask &^= mask
	s.mask = mask
	s.since = w.steps
	w.splits = append(w.splits, s)
	return len(w.splits) - 1
}

// drop removes the split at index i.
func (w *warp) drop(i int) {
	w.splits = append(w.splits[:i], w.splits[i+1:]...)
}

// wake makes splits runnable whose time has come and reports whether one did.
func (w *warp) wake(now uint64) bool {
	woke := false
	w.sleeping = false
	for i := range w.splits {
		s := &w.splits[i]
		switch {
		case s.state != asleep:
		case s.until <= now:
			s.state = runnable
			s.since = w.steps
			woke = true
		default:
			w.sleeping = true
		}
	}
	return woke
}

// nextWake returns the earliest time a sleeping split wakes.
func (w *warp) nextWake() uint64 {
	next := never
	for i := range w.splits {
		if s := &w.splits[i]; s.state == asleep {
			next = min(next, s.until)
		}
	}
	return next
}
