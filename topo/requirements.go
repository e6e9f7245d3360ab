package topo

// Arities that limit how many heads a channel has (NCCL v2.30
// src/include/device.h).
const (
	maxNVLSHeads    = 32 // NCCL_MAX_NVLS_ARITY
	maxCollNetHeads = 8  // NCCL_MAX_DIRECT_ARITY + 1
)

// Budgets of a search in steps: of all attempts together until a graph was
// found, and of one attempt (NCCL_SEARCH_*TIMEOUT*, NCCL v2.30
// src/graph/search.cc).
const (
	totalSteps       = 1 << 19
	attemptSteps     = 1 << 14
	sameChannelSteps = 1 << 8
)

// What a channel may carry inside a host and to the network, GB/s, by compute
// capability, fastest first (speedArrayIntra, speedArrayInter and their
// variants, NCCL v2.30 src/graph/search.cc).
var (
	intraSpeeds = []float32{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3}
	interSpeeds = []float32{48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24, .12}

	intraSpeedsSM90 = []float32{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3}
	interSpeedsSM90 = []float32{48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12}

	intraSpeedsSM100 = []float32{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18}
	interSpeedsSM100 = []float32{96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12}
)

// channelSpeeds returns the speeds that a search tries.
func channelSpeeds(minSM int, inter bool) []float32 {
	switch {
	case minSM >= 100 && inter:
		return interSpeedsSM100
	case minSM >= 100:
		return intraSpeedsSM100
	case minSM >= 90 && inter:
		return interSpeedsSM90
	case minSM >= 90:
		return intraSpeedsSM90
	case inter:
		return interSpeeds
	default:
		return intraSpeeds
	}
}

// search is the search for one graph: attempts with one set of requirements
// each, those of walker.g, that are relaxed until something is found and then
// tightened.
type search struct {
	w     *walker
	start candidate // the first requirements, and the result if there is none
	// speeds are what a channel may carry, speed the position of what it is
	// required to carry.
	speeds []float32
	speed  int

	minSM        int
	throughAMD   bool // hosts have AMD CPUs
	crossNIC     CrossNIC
	intra, inter typeRange
	left         int // of totalSteps
}

// typeRange is the best and the worst path between what a channel joins.
type typeRange struct{ best, worst PathType }

func newSearch(w *walker, p *SearchParams, pattern Pattern, minimum, maximum int, collNet bool) *search {
	cpu := w.s.Nodes[NodeCPU][0].CPU
	c := &search{
		w: w, minSM: w.minSM(),
		throughAMD: cpu.Arch == ArchX86 && cpu.Vendor == VendorAMD,
		intra:      typeRange{PathLOC, PathSYS},
		inter:      typeRange{PathPIX, PathSYS},
	}
	c.speeds = channelSpeeds(c.minSM, w.inter)
	switch {
	case pattern == PatternNVLS:
		maximum = min(maxNVLSHeads, w.gpus)
		if !w.inter {
			// Inside a host all GPUs pull alike.
			minimum = maximum
		}
	case pattern == PatternCollNetDirect:
		maximum = min(maxCollNetHeads, w.gpus)
	case pattern == PatternRing && minimum == 1 && maximum > 1 && w.splitNVLink():
		// Trees will need two channels, and have as many as rings.
		minimum = 2
	}
	if w.gpus > 1 {
		c.intra = w.gpuTypes()
	}
	if w.inter {
		c.inter = w.netTypes()
	}
	if c.minSM < 90 {
		// A balanced tree may have to come back the long way.
		c.inter.worst = PathSYS
	}
	if w.nets > 1 && (pattern == PatternRing || pattern == PatternBalancedTree) {
		c.crossNIC = p.CrossNIC
	}
	c.start = newCandidate(pattern, w.gpus, minimum, maximum)
	c.start.collNet = collNet
	c.start.typeIntra, c.start.typeInter = c.intra.best, c.inter.best
	c.start.same = pattern != PatternNVLS
	c.start.crossNIC = c.firstCrossNIC()
	return c
}

// firstCrossNIC returns what an attempt begins with: pairs come after channels
// that keep to one rail.
func (c *search) firstCrossNIC() CrossNIC {
	if c.crossNIC == CrossNICAll {
		return CrossNICAll
	}
	return CrossNICNever
}

// run searches and returns the result.
func (c *search) run() *candidate {
	if c.w.gpus == 1 && c.start.pattern != PatternRing {
		c.start.pattern = PatternTree
	}
	c.w.g, c.w.best = c.start.clone(), c.start.clone()
	c.firstSpeed()
	for c.left = totalSteps; ; {
		c.attempt()
		if c.enough() || !c.relax() {
			break
		}
	}
	c.w.best.duplicate(c.minSM)
	c.startTightening()
	for c.tighten() {
		c.attempt()
	}
	best := &c.w.best
	if best.n == 0 && !best.collNet && best.pattern != PatternNVLS {
		c.simpleOrder()
	}
	return best
}

// firstSpeed requires the highest speed that the links may allow.
func (c *search) firstSpeed() {
	v, g := c.w.s, &c.w.g
	total := v.TotalBW
	if devs := len(v.Nodes[NodeDEV]); devs > 1 && g.pattern != PatternRing {
		// What does not return to where it began has one hop less.
		total = float32(float64(total) * (float64(devs) / float64(devs-1)))
	}
	fits := func(speed float32) bool { return speed <= v.MaxBW && times(g.min, speed) <= total }
	for c.speed = 0; c.speed < len(c.speeds)-1 && !fits(c.speeds[c.speed]); {
		c.speed++
	}
	c.setSpeed()
}

// startTightening requires what was found.
func (c *search) startTightening() {
	g, best := &c.w.g, &c.w.best
	g.set(best)
	for c.speed = 0; c.speed < len(c.speeds)-1 && c.speeds[c.speed] > best.bwInter; {
		c.speed++
	}
	c.setSpeed()
	g.min = best.n
	c.w.budget = perfect
}

func (c *search) setSpeed() {
	c.w.g.bwIntra, c.w.g.bwInter = c.speeds[c.speed], c.speeds[c.speed]
}

// attempt searches with the present requirements.
func (c *search) attempt() {
	w := c.w
	w.budget = attemptSteps
	if w.g.same {
		w.budget = sameChannelSteps
	}
	w.g.n = 0
	c.left -= w.budget
	w.channel()
}

// enough reports whether the best graph can't be improved.
func (c *search) enough() bool {
	w := c.w
	return w.budget == perfect || times(w.best.n, w.best.bwInter) >= w.s.TotalBW
}

// relax lowers the requirements by one notch, as an odometer counts: a wheel turns,
// or, at its end, goes back to its beginning and the next one turns. It reports
// whether another attempt is worth it (ncclTopoCompute, NCCL v2.30
// src/graph/search.cc).
func (c *search) relax() bool {
	if c.relaxOrder() {
		return true
	}
	c.left += c.w.budget
	if c.left < 0 && c.w.best.n > 0 {
		return false
	}
	return c.relaxTree() || c.relaxIntra() || c.relaxInter() || c.relaxPorts() || c.relaxSpeed()
}

// relaxOrder allows channels of different orders.
func (c *search) relaxOrder() bool {
	g := &c.w.g
	if g.same && !(c.throughAMD && g.typeIntra == PathSYS) {
		g.same = false
		return true
	}
	g.same = c.start.same
	return false
}

// relaxTree has one GPU talk to the network in place of two.
func (c *search) relaxTree() bool {
	g := &c.w.g
	if c.minSM >= 90 && g.pattern == PatternBalancedTree {
		g.pattern = PatternTree
		return true
	}
	g.pattern = c.w.best.pattern
	return false
}

// relaxIntra allows worse paths between GPUs, none better than what was found.
func (c *search) relaxIntra() bool {
	g, best := &c.w.g, &c.w.best
	worst := c.intra.worst
	if c.w.inter {
		worst = g.typeInter
	}
	if g.typeIntra < min(worst, PathNET) && (best.n == 0 || g.typeIntra < best.typeIntra) {
		g.typeIntra++
		return true
	}
	g.typeIntra = c.intra.best
	return false
}

// relaxInter allows worse paths to the network, another GPU's cards in any case.
func (c *search) relaxInter() bool {
	g, best := &c.w.g, &c.w.best
	if c.w.inter && g.typeInter < min(c.inter.worst, PathNET) && (best.n == 0 || g.typeInter < max(best.typeInter, PathPXN)) {
		g.typeInter++
		return true
	}
	g.typeInter = c.inter.best
	return false
}

// relaxPorts lets channels go out by another port than they came in.
func (c *search) relaxPorts() bool {
	g, best := &c.w.g, &c.w.best
	if c.crossNIC == CrossNICPairs && g.crossNIC == CrossNICNever && (best.pattern == PatternRing || best.pattern == PatternBalancedTree) {
		g.crossNIC = CrossNICPairs
		return true
	}
	g.crossNIC = c.firstCrossNIC()
	return false
}

// relaxSpeed lowers the bandwidth, but not much below half of what was found.
func (c *search) relaxSpeed() bool {
	best := &c.w.best
	if c.speed < len(c.speeds)-1 && (best.n == 0 || float64(c.speeds[c.speed+1]/best.bwInter) > .49) {
		c.speed++
		c.setSpeed()
		return true
	}
	return false
}

// tighten raises the bandwidth by one notch: of rings all, of NVLS that to the
// network, of trees that between GPUs. It reports whether another attempt is
// worth it.
func (c *search) tighten() bool {
	g, best := &c.w.g, &c.w.best
	if c.w.budget == 0 || c.speed == 0 {
		return false
	}
	switch {
	case best.pattern == PatternRing:
		c.speed--
		c.setSpeed()
	case best.pattern == PatternNVLS && g.bwInter == best.bwInter && g.bwInter < g.bwIntra*2:
		g.min, g.max = best.n, best.n
		c.speed--
		g.bwInter = c.speeds[c.speed]
	case g.bwIntra == best.bwIntra && g.bwIntra < g.bwInter*2:
		c.speed--
		g.bwIntra = c.speeds[c.speed]
	default:
		return false
	}
	return true
}

// fallbackBW is what a channel is said to carry for which no path was found,
// GB/s (NCCL v2.30 src/graph/search.cc).
const fallbackBW = 0.1

// simpleOrder makes a graph of one channel through the GPUs as they come.
func (c *search) simpleOrder() {
	g := &c.w.best
	for gpu := range g.gpus {
		g.intra[gpu] = int32(gpu)
	}
	g.n, g.simple, g.bwIntra, g.typeIntra = 1, true, fallbackBW, PathSYS
	g.bwInter, g.typeInter = 0, PathDIS
	g.inter[0], g.inter[1] = none, none
	if c.w.nets > 0 {
		in := c.w.nics.choose(preferredOnly, 0)
		out := c.w.nics.choose(preferredOnly, g.gpus-1)
		if len(in) > 0 && len(out) > 0 {
			g.inter[0], g.inter[1] = int32(in[0]), int32(out[0])
			g.bwInter, g.typeInter = fallbackBW, PathSYS
		}
	}
}
