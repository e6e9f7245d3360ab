package topo

// isHead reports whether a channel has gpu as its head.
func (w *walker) isHead(gpu int) bool {
	for c := range w.g.n {
		if int(w.g.intra[c*w.gpus]) == gpu {
			return true
		}
	}
	return false
}

// pullFrom makes a GPU the head of an NVLS channel: it takes twice what the
// others do.
func (w *walker) pullFrom(head int) {
	share := func(gpu int) float32 {
		if gpu == head {
			return 2
		}
		return 1
	}
	down := 0
	for down < w.gpus && w.reserve(&w.nvsGPU[down], share(down), true) {
		down++
	}
	if down == w.gpus {
		up := 0
		for up < w.gpus && w.reserve(&w.gpuNVS[up], share(up), true) {
			up++
		}
		if up == w.gpus {
			w.visit(none, w.gpus, turns{none, none}, followAny)
		}
		for up--; up >= 0; up-- {
			w.reserve(&w.gpuNVS[up], -share(up), true)
		}
	}
	for down--; down >= 0; down-- {
		w.reserve(&w.nvsGPU[down], -share(down), true)
	}
}

// gather makes a GPU the head of a CollNet channel, which all others send to
// and receive from.
func (w *walker) gather(head int) {
	share := float32(1 / float64(w.gpus-1))
	out := 0
	for out < w.gpus && w.reserve(&w.gpuGPU[head*w.gpus+out], share, true) {
		out++
	}
	if out == w.gpus {
		in := 0
		for in < w.gpus && w.reserve(&w.gpuGPU[in*w.gpus+head], share, true) {
			in++
		}
		if in == w.gpus {
			position := w.g.n*w.gpus + 1
			for gpu := range w.gpus {
				if gpu != head {
					w.g.intra[position] = int32(gpu)
					position++
				}
			}
			w.visit(none, w.gpus, turns{none, none}, followAny)
		}
		for in--; in >= 0; in-- {
			w.reserve(&w.gpuGPU[in*w.gpus+head], -share, true)
		}
	}
	for out--; out >= 0; out-- {
		w.reserve(&w.gpuGPU[head*w.gpus+out], -share, true)
	}
}
