package topo

import "slices"

// packing puts rings of equal bandwidth into the links of a view. All are laid first,
// whatever links have room for; then ring after ring is taken out and laid again, where
// it costs least, and links cost the more the fuller they are and the longer they have
// been too full, until each has what it can carry (negotiated congestion, as wires are
// laid on chips). The rings that carry most on the way are kept.
type packing struct {
	*terrain
	room     []float64 // of links, then of ports, GB/s
	hops     [][]toll  // [from*vertices+to], by vertex: GPUs, then ports; nil: not allowed
	vertices int

	tours *tours
	load  []float64 // GB/s
	past  []float64 // by how much there was too much, in rings
	price []float64 // of 1 GB/s
	rings []packed
	best  []packed
	first []packed // where looking for tours begins
	tour  []int
}

// toll is what 1 GB/s along a hop takes of a link or a port.
type toll struct {
	of    int32
	share float64
}

// packed is a channel: its GPUs in order, and the ports by which it comes and goes, none
// if there is no network.
type packed struct {
	in, out int
	order   []int
}

// newPacking allows nothing worse than that.
func newPacking(t *terrain, worst reach, steps int) *packing {
	p := &packing{terrain: t, vertices: t.gpus + t.nets, room: make([]float64, t.s.numLinks+t.nets)}
	for _, nodes := range t.s.Nodes {
		for _, n := range nodes {
			for i := range n.Links {
				p.room[n.Links[i].seq] = float64(n.Links[i].BW)
			}
		}
	}
	p.hops = make([][]toll, p.vertices*p.vertices)
	for a := range t.gpus {
		for b := range t.gpus {
			p.allow(a, b, &t.gpuGPU[a*t.gpus+b], worst.intra)
		}
	}
	n := t.gpus
	if t.inter {
		n++
		for port, net := range t.s.Nodes[NodeNET] {
			p.room[t.s.numLinks+port] = float64(net.Net.BW)
			if net.Net.Latency > worst.latency {
				continue
			}
			for gpu := range t.gpus {
				p.allow(gpu, t.gpus+port, &t.gpuNET[gpu*t.nets+port], worst.inter)
				p.allow(t.gpus+port, gpu, &t.netGPU[port*t.gpus+gpu], worst.inter)
				if in := p.hop(t.gpus+port, gpu); *in != nil {
					for _, same := range t.samePort[port] {
						*in = append(*in, toll{int32(t.s.numLinks + same), 1})
					}
				}
			}
		}
	}
	p.tours = newTours(n, steps)
	p.load = make([]float64, len(p.room))
	p.past = make([]float64, len(p.room))
	p.price = make([]float64, len(p.room))
	return p
}

func (p *packing) hop(from, to int) *[]toll { return &p.hops[from*p.vertices+to] }

// allow makes a route a hop unless it is worse than is allowed.
func (p *packing) allow(from, to int, r *route, worst PathType) {
	if r.links == 0 || r.kind > worst {
		return
	}
	tolls := make([]toll, 0, len(r.steps))
	for i := range r.steps {
		st := &r.steps[i]
		share := 1.
		if st.pci && r.viaIntel {
			share = 6. / 5 // as in ledger.take
		}
		tolls = append(tolls, toll{st.link, share})
		if st.eighth {
			tolls = append(tolls, toll{st.back, share / 8})
		}
		if st.full {
			tolls = append(tolls, toll{st.back, share})
		}
	}
	*p.hop(from, to) = tolls
}

const (
	// rounds is how often all rings of an attempt are laid.
	rounds = 16
	// dearer is by how much what is too full costs more after each.
	dearer = 1.5
)

// attempt looks for n rings that carry target each. The best that it comes by are in
// p.best; it returns what each of these carries, 0 if there is no ring at all.
func (p *packing) attempt(n int, target float64) float64 {
	clear(p.load)
	clear(p.past)
	p.rings = p.rings[:0]
	most, factor := 0., 1.
	for range rounds {
		for i := range n {
			if p.tours.left <= 0 {
				return most
			}
			if i < len(p.rings) {
				p.put(&p.rings[i], -target)
			} else {
				p.rings = append(p.rings, p.begin(i))
			}
			p.setPrices(target, factor)
			if !p.lay(&p.rings[i]) {
				return most
			}
			p.put(&p.rings[i], target)
		}
		part := p.part()
		if bw := part * target; bw > most {
			most = bw
			p.best = p.best[:0]
			for _, r := range p.rings {
				p.best = append(p.best, packed{r.in, r.out, slices.Clone(r.order)})
			}
		}
		if part >= 1-1e-9 {
			break
		}
		for i, load := range p.load {
			p.past[i] += max(0, load-p.room[i]) / target
		}
		factor *= dearer
	}
	return most
}

// limit returns a bandwidth that rings can't exceed together, which the last attempt
// makes known: where links have prices no ring costs less than the cheapest one, and all
// together cost no more than the room of all links. The prices that show most are those
// of what was too full.
func (p *packing) limit() float64 {
	if p.tours.n > exactTour {
		return noWay
	}
	total := 0.
	for i, past := range p.past {
		p.price[i] = past
		total += float64(past * p.room[i])
	}
	least, first, ports := noWay, 0, 1
	if p.inter {
		first, ports = 1, p.nets
	}
	for port := range ports {
		p.setCosts(first, port)
		least = min(least, p.tours.cheapest(nil))
	}
	if least <= 0 {
		return noWay
	}
	return total / least
}

// begin returns the i-th ring before it is laid.
func (p *packing) begin(i int) packed {
	if len(p.first) > 0 {
		r := p.first[i%len(p.first)]
		return packed{r.in, r.out, slices.Clone(r.order)}
	}
	r := packed{none, none, nil}
	for gpu := range p.gpus {
		r.order = append(r.order, gpu)
	}
	return r
}

// slack is what is too little to count, GB/s.
const slack = 1e-4

// part returns what part of its load the fullest link can carry.
func (p *packing) part() float64 {
	least := noWay
	for i, load := range p.load {
		if load > 0 {
			least = min(least, p.room[i]/max(load, 1e-9))
		}
	}
	return least
}

// setPrices sets what each link costs one more ring of that bandwidth.
func (p *packing) setPrices(bw, factor float64) {
	for i, room := range p.room {
		over := max(0, p.load[i]+bw-room-slack)
		p.price[i] = (1 + p.past[i]) * (1/room + float64(factor*over)/bw)
	}
}

func (p *packing) costOf(from, to int) float64 {
	tolls := *p.hop(from, to)
	if tolls == nil {
		return noWay
	}
	sum := 0.
	for _, t := range tolls {
		sum += float64(t.share * p.price[t.of])
	}
	return sum
}

// lay puts a ring where it costs least, and reports whether there is any way.
func (p *packing) lay(r *packed) bool {
	t := p.tours
	first, ports := 0, []int{none}
	if p.inter {
		first, ports = 1, p.ports(r.in)
	}
	start := make([]int, first, t.n)
	for _, gpu := range r.order {
		start = append(start, gpu+first)
	}
	least := noWay
	for _, port := range ports {
		p.setCosts(first, port)
		if cost := t.cheapest(start); cost < least {
			least = cost
			r.in, r.out = port, port
			p.tour = append(p.tour[:0], t.order[first:]...)
		}
	}
	if least >= noWay {
		return false
	}
	r.order = r.order[:0]
	for _, v := range p.tour {
		r.order = append(r.order, v-first)
	}
	return true
}

// setCosts sets the costs of tours: the GPUs are its vertices from first on, and if that
// is 1 vertex 0 is a port.
func (p *packing) setCosts(first, port int) {
	t := p.tours
	for a := range p.gpus {
		for b := range p.gpus {
			if a != b {
				t.cost[(a+first)*t.n+b+first] = p.costOf(a, b)
			}
		}
		if first == 1 {
			t.cost[(a+1)*t.n] = p.costOf(a, p.gpus+port)
			t.cost[a+1] = p.costOf(p.gpus+port, a)
		}
	}
}

// ports returns the ports that a ring is tried through: that which it has, and the two
// by which it gets in and out at the least cost.
func (p *packing) ports(own int) []int {
	var list []int
	if own != none {
		list = append(list, own)
	}
	for range 2 {
		best, least := none, noWay
		for port := range p.nets {
			in, out := noWay, noWay
			for gpu := range p.gpus {
				in = min(in, p.costOf(p.gpus+port, gpu))
				out = min(out, p.costOf(gpu, p.gpus+port))
			}
			if in+out < least && !slices.Contains(list, port) {
				best, least = port, in+out
			}
		}
		if best != none {
			list = append(list, best)
		}
	}
	return list
}

// put adds bandwidth to the load of all that a ring goes over.
func (p *packing) put(r *packed, bw float64) {
	p.putChain(r, bw)
	first, last := r.order[0], r.order[len(r.order)-1]
	switch {
	case r.in != none:
		p.add(p.gpus+r.in, first, bw)
		p.add(last, p.gpus+r.out, bw)
	case first != last:
		p.add(last, first, bw)
	}
}

// putChain does so for the hops from GPU to GPU but the last.
func (p *packing) putChain(r *packed, bw float64) {
	for i := 1; i < len(r.order); i++ {
		p.add(r.order[i-1], r.order[i], bw)
	}
}

func (p *packing) add(from, to int, bw float64) {
	for _, t := range *p.hop(from, to) {
		p.load[t.of] += float64(t.share * bw)
	}
}
