package sim

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/ncclgo/ncclgo/device/ptx"
)

// Weak asks for the memory model that GPUs have, docs/MEMORY-MODEL.md, in place
// of the sequentially consistent one: strong reads may be stale, late loads may
// see what was written meanwhile, and plain accesses that nothing orders are
// faults of kind device.Race, whatever values they got.
type Weak struct {
	// Facts are the hardware facts beyond the PTX ISA that hold; [AllFacts] is
	// what GPUs with NVLink have.
	Facts Facts
	// PCIe says whether GPUs a and b reach each other over PCIe, where WholeLine
	// does not hold. Nil means that all reach each other over NVLink.
	PCIe func(a, b int) bool
}

// Facts is a set of facts about hardware that the PTX ISA does not promise.
type Facts uint8

const (
	// WholePack: one lane's aligned access of 16 bytes is whole, a vector or not.
	WholePack Facts = 1 << iota
	// WholeLine: the stores of 16 bytes by 8 consecutive lanes of one instruction
	// that fill an aligned line of 128 bytes become visible together, in local
	// memory and over NVLink. It means nothing without WholePack.
	WholeLine
	// OrderedVote: strong loads that are issued after a vote, shuffle, match or
	// redux which depends on an earlier strong load are not satisfied before it.
	OrderedVote

	// AllFacts is all of them.
	AllFacts = WholePack | WholeLine | OrderedVote
)

// String returns the facts by the names docs/MEMORY-MODEL.md has for them, such
// as "H1+H3", or "none".
func (f Facts) String() string {
	var names []string
	for i, name := range []string{"H1", "H2", "H3"} {
		if f>>i&1 != 0 {
			names = append(names, name)
		}
	}
	if f&^AllFacts != 0 {
		names = append(names, fmt.Sprintf("%#x", uint8(f&^AllFacts)))
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, "+")
}

// weakState is a machine's weak memory: who is known to have done what. What is
// known of memory itself lies with the allocations (shadow.go).
type weakState struct {
	viewMaker
	m     *Machine
	facts Facts
	pcie  func(a, b int) bool
	rng   rng

	slots  []slot
	free   []uint32 // slots of warps that ended
	moment uint64   // counts strong writes
	// deaf is whether strong writes stay unseen where their scope, or that of the
	// read, does not reach. Nothing promises that they are seen there, nor that they
	// are not; the seed decides for the whole run, or a poll would get there at last.
	deaf  bool
	scAll *view   // what fence.sc.sys share
	sc    []*view // by GPU: what fence.sc.gpu there and those of sys do
	host  *agent
}

// newWeakState returns nil if no weak memory is asked for.
func newWeakState(m *Machine) *weakState {
	c := m.cfg.Weak
	if c == nil {
		return nil
	}
	ws := &weakState{m: m, facts: c.Facts, pcie: c.PCIe, rng: newRNG(^m.cfg.Seed)}
	if ws.pcie == nil {
		ws.pcie = func(int, int) bool { return false }
	}
	ws.scAll = origin
	ws.deaf = ws.chance(2)
	for range m.cfg.Devices {
		ws.sc = append(ws.sc, origin)
	}
	ws.host = ws.newAgent(-1, "the host", nothingKnown)
	return ws
}

// chance returns true once in n.
func (ws *weakState) chance(n uint64) bool { return ws.rng.next()>>32*n>>32 == 0 }

// laneOrder is the order in which lanes do what they do at one instruction.
type laneOrder bool

const (
	upward   laneOrder = false
	downward laneOrder = true
)

// order chooses the order of the lanes of m.
func (ws *weakState) order(m uint32) laneOrder {
	return laneOrder(m&(m-1) != 0 && ws.chance(2))
}

// take removes the next lane from m.
func (o laneOrder) take(m *uint32) int {
	l := lowest(*m)
	if o == downward {
		l = 31 - bits.LeadingZeros32(*m)
	}
	*m &^= 1 << l
	return l
}

// level is how far a scope reaches.
type level uint8

const (
	ctaLevel level = iota
	gpuLevel
	sysLevel
	numLevels
)

// levelOf returns the level of a scope. A CTA here is alone in its cluster.
func levelOf(s ptx.Scope) level {
	switch s {
	case ptx.GPU:
		return gpuLevel
	case ptx.System:
		return sysLevel
	}
	return ctaLevel
}

// home is where threads are: the CTA, and its GPU. There is one for each CTA.
type home struct {
	gpu   int   // -1 is the host
	sc    *view // what fence.sc of its threads share
	ended bool  // nobody is there any more, nor will be
}

// distance returns the smallest level that includes both.
func (h *home) distance(o *home) level {
	switch {
	case h == o:
		return ctaLevel
	case h.gpu == o.gpu:
		return gpuLevel
	}
	return sysLevel
}
