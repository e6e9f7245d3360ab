package sim

import (
	"fmt"
	"slices"

	"github.com/ncclgo/ncclgo/device"
)

// kernel is one launch.
type kernel struct {
	fn      *function
	gpu     *gpu
	stream  *stream
	grid    int
	threads int
	label   string
	ctas    []string // labels
	params  *alloc
	gridID  uint64
	smem    int // bytes an SM gives to each CTA

	// Of the weak model: what its launch comes after on the host's side, what its
	// threads leave behind, and what reports need of it.
	behind knowledge
	leaves knowledge
	life   *kernelLife

	next     int    // the first CTA not yet resident
	resident []*cta // resident and not ended
	ended    int
}

// newKernel checks a launch.
func (g *gpu) newKernel(l *device.Launch) (*kernel, error) {
	if l == nil {
		return nil, fmt.Errorf("sim: GPU %d: launch: no launch given", g.index)
	}
	fn, ok := l.Function.(*function)
	if !ok || fn.gpu != g {
		return nil, fmt.Errorf("sim: GPU %d: launch: the function is not loaded on this device", g.index)
	}
	name, e := fn.prog.name, fn.prog.entry
	switch {
	case fn.module.unloaded:
		return nil, fmt.Errorf("sim: launch %s: its module is unloaded", name)
	case l.Grid < 1:
		return nil, fmt.Errorf("sim: launch %s: the grid has %d CTAs; it needs at least 1", name, l.Grid)
	case l.Threads < 1 || l.Threads > fn.MaxThreads():
		return nil, fmt.Errorf("sim: launch %s: %d threads in a CTA; allowed are 1 to %d", name, l.Threads, fn.MaxThreads())
	case product(e.ReqNTID) != 0 && l.Threads != product(e.ReqNTID):
		return nil, fmt.Errorf("sim: launch %s: %d threads in a CTA; .reqntid demands %d", name, l.Threads, product(e.ReqNTID))
	case len(l.Args) != e.ParamBytes:
		return nil, fmt.Errorf("sim: launch %s: a parameter block of %d bytes; the kernel's has %d", name, len(l.Args), e.ParamBytes)
	case l.CTALabels != nil && len(l.CTALabels) < l.Grid:
		return nil, fmt.Errorf("sim: launch %s: %d CTA labels for %d CTAs", name, len(l.CTALabels), l.Grid)
	}
	if e.SharedSize > g.info.SharedPerCTA {
		return nil, fmt.Errorf("sim: launch %s: %d bytes of shared memory; a CTA may have %d", name, e.SharedSize, g.info.SharedPerCTA)
	}
	if n := g.occupancy(l.Threads, fn.prog); n == 0 {
		return nil, fmt.Errorf("sim: launch %s: an SM of GPU %d has no room for one CTA of %d threads and %d bytes of shared memory", name, g.index, l.Threads, e.SharedSize)
	}
	if need := g.footprint(l, fn.prog); need > g.m.cfg.MemoryBytes-g.m.used {
		return nil, fmt.Errorf("sim: launch %s: its resident CTAs need %d bytes of shared and local memory; %d of the %d bytes that the machine may simulate are in use; free some, or make a machine with a larger Config.MemoryBytes",
			name, need, g.m.used, g.m.cfg.MemoryBytes)
	}
	g.m.gridIDs++
	k := &kernel{
		fn: fn, gpu: g, grid: l.Grid, threads: l.Threads, label: l.Label, ctas: l.CTALabels,
		params: &alloc{size: uint64(len(l.Args)), data: slices.Clone(l.Args), gpu: g.index, readOnly: true, label: "parameters of " + name},
		gridID: g.m.gridIDs, smem: g.sharedOf(fn.prog),
	}
	if ws := g.m.weak; ws != nil {
		k.behind = ws.host.now()
	}
	return k, nil
}

func product(n [3]int) int { return n[0] * max(n[1], 1) * max(n[2], 1) }

// Shared memory is given out in units of 128 bytes, and from compute capability
// 8.0 on the system takes 1 KiB of each CTA's (CUDA C++ Programming Guide,
// compute capabilities; CUDA occupancy calculator).
func (g *gpu) sharedOf(p *program) int {
	n := p.entry.SharedSize
	if g.info.SM >= 80 {
		n += kib
	}
	return (n + 127) &^ 127
}

// occupancy returns how many CTAs an empty SM holds. Registers do not count:
// those of PTX are virtual, and how many a thread gets is ptxas's choice, which
// .maxntid and .minnctapersm bound to what fits.
func (g *gpu) occupancy(threads int, p *program) int {
	n := min(g.info.MaxCTAsPerSM, g.info.MaxThreadsPerSM/roundWarp(threads))
	if s := g.sharedOf(p); s > 0 {
		n = min(n, g.info.SharedPerSM/s)
	}
	return n
}

// footprint returns the bytes of shared and local memory of as many CTAs as can
// be resident together.
func (g *gpu) footprint(l *device.Launch, p *program) int64 {
	ctas := min(l.Grid, g.occupancy(l.Threads, p)*g.info.NumSMs)
	return int64(ctas) * int64(p.entry.SharedSize+roundWarp(l.Threads)*p.localStride)
}

// roundWarp rounds threads up to whole warps.
func roundWarp(threads int) int { return (threads + lanes - 1) / lanes * lanes }

// ctaLabel joins the launch's label and the CTA's.
func (k *kernel) ctaLabel(i int) string { return joinLabels(k.label, k.ctas, i) }

func joinLabels(launch string, ctas []string, i int) string {
	if ctas == nil || ctas[i] == "" {
		return launch
	}
	if launch == "" {
		return ctas[i]
	}
	return launch + " " + ctas[i]
}

// start begins a kernel whose turn in its stream has come.
func (m *Machine) start(k *kernel) {
	if m.weak != nil {
		m.weak.kernelStarts(k)
	}
	m.running = append(m.running, k)
	m.place(k.gpu)
}

// place makes CTAs of g's kernels resident, earlier kernels first, as far as
// there is room: each on the SM with the fewest CTAs.
func (m *Machine) place(g *gpu) {
	for _, k := range m.running {
		for k.gpu == g && k.next < k.grid {
			best := -1
			for i, s := range g.sms {
				if s.ctas > 0 && s.threads >= roundWarp(k.threads) && s.shared >= k.smem &&
					(best < 0 || s.ctas > g.sms[best].ctas) {
					best = i
				}
			}
			if best < 0 {
				return
			}
			s := &g.sms[best]
			s.ctas--
			s.threads -= roundWarp(k.threads)
			s.shared -= k.smem
			c := newCTA(k, k.next, best)
			k.resident = append(k.resident, c)
			k.next++
			for _, w := range c.warps {
				m.setReady(w)
			}
		}
	}
}

// endCTA gives back what c held and ends its kernel with the last one.
func (m *Machine) endCTA(c *cta) {
	k := c.kernel
	s := &k.gpu.sms[c.sm]
	s.ctas++
	s.threads += roundWarp(k.threads)
	s.shared += k.smem
	k.resident = slices.DeleteFunc(k.resident, func(o *cta) bool { return o == c })
	k.ended++
	m.stats.CTAs++
	if m.weak != nil {
		m.weak.ctaEnds(c)
	}
	m.recycle(c)
	if k.ended == k.grid {
		if m.weak != nil {
			m.weak.kernelEnds(k)
		}
		m.stats.Kernels++
		m.running = slices.DeleteFunc(m.running, func(o *kernel) bool { return o == k })
		k.stream.pop()
		m.pumpable = true
	}
	m.place(k.gpu)
}
