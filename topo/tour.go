package topo

// exactTour is the most vertices for which the cheapest tour is computed rather than
// looked for: each more doubles the work.
const exactTour = 9

// noWay is more than any tour costs.
const noWay = 1e15

// tours finds cheap tours: closed ways through all vertices, of which a ring of
// GPUs is one, and so is a channel that comes from a network port and returns to it.
type tours struct {
	n     int
	cost  []float64 // [from*n+to]; noWay or more where there is none
	best  []float64 // [set*n+last]: the cheapest way from vertex 0 through a set
	from  []int8    // [set*n+last]: the vertex before last
	order []int     // the tour that was found
	left  int       // steps that may still be taken
}

func newTours(n, steps int) *tours {
	t := &tours{n: n, cost: make([]float64, n*n), order: make([]int, n), left: steps}
	if n <= exactTour {
		t.best = make([]float64, n<<(n-1))
		t.from = make([]int8, n<<(n-1))
	}
	return t
}

// cheapest finds a tour from vertex 0 on and returns its cost. Of many vertices it is
// what comes of start, a tour, by changes for the better.
func (t *tours) cheapest(start []int) float64 {
	if t.n <= exactTour {
		return t.exact()
	}
	return t.improved(start)
}

// exact goes through all sets of vertices, smaller ones first (Held and Karp). A step
// is a way that gets longer by a vertex.
func (t *tours) exact() float64 {
	n, all := t.n, 1<<(t.n-1)-1
	if n == 1 {
		return 0
	}
	t.left -= (all + 1) * (n - 1) * (n - 1) / 4
	for i := range t.best {
		t.best[i] = noWay
	}
	for v := 1; v < n; v++ {
		t.best[1<<(v-1)*n+v] = t.cost[v]
	}
	for set := 1; set <= all; set++ {
		for last := 1; last < n; last++ {
			far := t.best[set*n+last]
			if far >= noWay {
				continue
			}
			for next := 1; next < n; next++ {
				if set>>(next-1)&1 != 0 {
					continue
				}
				i := (set|1<<(next-1))*n + next
				if c := far + t.cost[last*n+next]; c < t.best[i] {
					t.best[i], t.from[i] = c, int8(last)
				}
			}
		}
	}
	last, least := 0, noWay
	for v := 1; v < n; v++ {
		if c := t.best[all*n+v] + t.cost[v*n]; c < least {
			last, least = v, c
		}
	}
	if last == 0 {
		return noWay
	}
	t.order[0] = 0
	for set, at := all, n-1; at > 0; at-- {
		t.order[at] = last
		set, last = set&^(1<<(last-1)), int(t.from[set*n+last])
	}
	return least
}

// longestPiece is how many vertices in a row are moved together.
const longestPiece = 3

// improved moves pieces of a tour to where they make it cheapest, until none does. A
// step is a place that a piece is tried at.
func (t *tours) improved(start []int) float64 {
	copy(t.order, start)
	for moved := true; moved && t.left > 0; {
		moved = false
		for length := 1; length <= longestPiece; length++ {
			for i := 1; i+length <= t.n; i++ {
				if to := t.betterPlace(i, length); to != none {
					t.move(i, length, to)
					moved = true
				}
			}
		}
	}
	total := 0.
	for i := range t.order {
		total += t.edge(i)
	}
	return total
}

func (t *tours) at(i int) int { return t.order[i%t.n] }

// edge returns the cost from position i to the next.
func (t *tours) edge(i int) float64 { return t.cost[t.at(i)*t.n+t.at(i+1)] }

// betterPlace returns the position behind which the piece of that length from
// position i on had best be put, none if it is well where it is.
func (t *tours) betterPlace(i, length int) int {
	t.left -= t.n
	first, last := t.at(i), t.at(i+length-1)
	gain := t.edge(i-1) + t.edge(i+length-1) - t.cost[t.at(i-1)*t.n+t.at(i+length)]
	most, to := 1e-9*(1+gain), none
	for j := range t.n {
		if j >= i-1 && j < i+length {
			continue
		}
		if worth := gain + t.edge(j) - t.cost[t.at(j)*t.n+first] - t.cost[last*t.n+t.at(j+1)]; worth > most {
			most, to = worth, j
		}
	}
	return to
}

// move puts the piece behind position to.
func (t *tours) move(i, length, to int) {
	var piece [longestPiece]int
	copy(piece[:length], t.order[i:])
	if to < i {
		copy(t.order[to+1+length:i+length], t.order[to+1:i])
		copy(t.order[to+1:], piece[:length])
		return
	}
	copy(t.order[i:], t.order[i+length:to+1])
	copy(t.order[to+1-length:], piece[:length])
}
