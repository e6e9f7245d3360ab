package topo

// follow is how GPUs follow one another in a channel.
type follow uint8

const (
	followAny    follow = iota // as the search finds
	followPCI                  // in their order in the system
	followReplay               // as in the channel before
)

// none stands for no position in a channel, no GPU and no port.
const none = -1

// perfect is the budget left after a graph that can't be improved was found.
const perfect = -1

// pciOrderSteps is the budget of the walk in PCI order that a search from a
// port begins with (NCCL v2.30 src/graph/search.cc).
const pciOrderSteps = 1 << 10

// walker is a depth-first search: it extends a candidate by GPU after GPU and
// channel after channel and keeps the best. Each visit costs one step of its
// budget, and no visit allocates.
type walker struct {
	*terrain
	ledger  ledger
	netFree []float32 // [net]: GB/s that no channel has
	used    []uint64  // [gpu]: the channels it is in, a bit each
	scores  []score   // of the GPUs that may follow, for all levels of a walk

	g      candidate
	best   candidate
	budget int
}

func newWalker(v *System, p *SearchParams) *walker {
	w := &walker{terrain: newTerrain(v, p), ledger: newLedger(v), used: make([]uint64, len(v.Nodes[NodeGPU]))}
	for _, net := range v.Nodes[NodeNET] {
		w.netFree = append(w.netFree, net.Net.BW)
	}
	return w
}

// turns says at which position of a channel it goes back to the network, and at
// which to its first GPU, none for nowhere.
type turns struct{ net, first int }

func (w *walker) turns() turns {
	t := turns{none, none}
	switch {
	case !w.inter && w.g.pattern == PatternRing:
		t.first = w.gpus - 1
	case !w.inter:
	case w.g.pattern == PatternRing:
		t.net = w.gpus - 1
	case w.g.pattern == PatternSplitTree:
		t.net = 1
	default:
		t.net = 0
	}
	return t
}

// channel searches for channel number w.g.n.
func (w *walker) channel() {
	t := w.turns()
	switch {
	case w.inter:
		w.fromPorts(t)
		return
	case w.g.pattern == PatternNVLS:
		w.try(nil, false, w.g.n, 0, t, followAny)
		return
	case w.g.n == 0:
		w.try(nil, false, 0, 0, t, followPCI)
	default:
		w.try(nil, false, w.replayed(0), 0, t, followReplay)
	}
	if !w.g.same || w.g.n == 0 {
		for gpu := range w.gpus {
			w.try(nil, false, gpu, 0, t, followAny)
		}
	}
}

// replayed returns the GPU at a position of the channel before.
func (w *walker) replayed(position int) int {
	return int(w.g.intra[(w.g.n-1)*w.gpus+position])
}

// try goes to a GPU, at that position of the channel, by a route, nil for the
// beginning of a channel, and on from there.
func (w *walker) try(r *route, inside bool, gpu, position int, t turns, f follow) {
	if r != nil && !w.reserve(r, 1, inside) {
		return
	}
	bit := uint64(1) << w.g.n
	w.used[gpu] ^= bit
	w.visit(gpu, position, t, f)
	w.used[gpu] ^= bit
	if r != nil {
		w.reserve(r, -1, inside)
	}
}

// reserve takes share times a channel's bandwidth, inside the host or towards
// the network, along a route, or gives it back where share is negative. It
// reports whether there was enough of it.
func (w *walker) reserve(r *route, share float32, inside bool) bool {
	bw, worst := w.g.bwInter, w.g.typeInter
	if inside {
		bw, worst = w.g.bwIntra, w.g.typeIntra
	}
	// As in NCCL only whole shares are held to the type of path.
	if r.kind >= PathDIS || share == 1 && (r.kind > worst || w.g.isTree() && r.back > worst) {
		return false
	}
	bw = float32(bw * share)
	if n := w.ledger.take(r, len(r.steps), bw); n < len(r.steps) {
		w.ledger.take(r, n, -bw)
		return false
	}
	w.g.hops = int(float32(w.g.hops) + float32(share*float32(r.links)))
	return true
}

// visit adds a GPU to the channel and goes on from there.
func (w *walker) visit(gpu, position int, t turns, f follow) {
	if w.budget <= 0 {
		return
	}
	w.budget--
	if position == w.gpus {
		w.complete()
		return
	}
	w.g.intra[w.g.n*w.gpus+position] = int32(gpu)
	switch {
	case position == t.net:
		w.toPort(gpu, position, t, f)
	case w.g.pattern == PatternNVLS:
		w.pullFrom(gpu)
	case w.g.pattern == PatternCollNetDirect:
		w.gather(gpu)
	case position < w.gpus-1:
		w.next(gpu, position, t, f)
	case position == t.first:
		first := int(w.g.intra[w.g.n*w.gpus])
		r := &w.gpuGPU[gpu*w.gpus+first]
		if w.reserve(r, 1, true) {
			w.visit(first, position+1, turns{t.net, none}, f)
			w.reserve(r, -1, true)
		}
	default:
		w.visit(gpu, w.gpus, turns{none, none}, f)
	}
}

// complete ends a channel: keeps the candidate if it is the best so far and
// goes on with the next channel.
func (w *walker) complete() {
	w.g.n++
	if w.g.betterThan(&w.best) {
		w.best.set(&w.g)
		if w.g.n == w.g.max {
			w.budget = perfect
		}
	}
	if w.g.n < w.g.max {
		w.channel()
	}
	w.g.n--
}

// next goes on to the GPUs that may follow one in a channel.
func (w *walker) next(gpu, position int, t turns, f follow) {
	row := w.gpuGPU[gpu*w.gpus : (gpu+1)*w.gpus]
	switch {
	case f == followPCI:
		w.try(&row[position+1], true, position+1, position+1, t, f)
	case f == followReplay:
		to := w.replayed(position + 1)
		w.try(&row[to], true, to, position+1, t, f)
	case w.hasNVS:
		for _, to := range w.neighbours(gpu) {
			if to != none {
				w.try(&row[to], true, to, position+1, t, f)
			}
		}
	case t.net == none:
		bit := uint64(1) << w.g.n
		order := w.followers(gpu, none)
		for i := range order {
			if to := int(order[i].gpu); w.used[to]&bit == 0 {
				w.try(&row[to], true, to, position+1, t, f)
			}
		}
	default:
		begin := len(w.scores)
		alike := w.pushNext(gpu, int(w.g.inter[w.g.n*2]))
		end := len(w.scores)
		// Where all are alike the nearest to the network are kept for later.
		reverse := alike && t.net != position+1
		for i := begin; i < end; i++ {
			at := i
			if reverse {
				at = begin + end - 1 - i
			}
			to := int(w.scores[at].gpu)
			w.try(&row[to], true, to, position+1, t, f)
		}
		w.scores = w.scores[:begin]
	}
}
