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
// others do, from the NVSwitch and to it.
func (w *walker) pullFrom(head int) {
	share := func(gpu int) float32 {
		if gpu == head {
			return 2
		}
		return 1
	}
	w.withAll(func(gpu int) *route { return &w.nvsGPU[gpu] }, share, func() {
		w.withAll(func(gpu int) *route { return &w.gpuNVS[gpu] }, share, w.endHead)
	})
}

// gather makes a GPU the head of a CollNet channel, which sends to all others and
// receives from them.
func (w *walker) gather(head int) {
	part := float32(1 / float64(w.gpus-1))
	share := func(int) float32 { return part }
	w.withAll(func(gpu int) *route { return &w.gpuGPU[head*w.gpus+gpu] }, share, func() {
		w.withAll(func(gpu int) *route { return &w.gpuGPU[gpu*w.gpus+head] }, share, func() {
			others := w.g.intra[w.g.n*w.gpus+1 : (w.g.n+1)*w.gpus]
			for i := range others {
				others[i] = int32(i)
				if i >= head {
					others[i]++
				}
			}
			w.endHead()
		})
	})
}

// endHead ends a channel that is no more than its head.
func (w *walker) endHead() { w.visit(none, w.gpus, turns{none, none}, followAny) }

// withAll calls then while a share of the bandwidth of every GPU's route is taken,
// if all have that much.
func (w *walker) withAll(at func(gpu int) *route, share func(gpu int) float32, then func()) {
	taken := 0
	for taken < w.gpus && w.reserve(at(taken), share(taken), true) {
		taken++
	}
	if taken == w.gpus {
		then()
	}
	for taken--; taken >= 0; taken-- {
		w.reserve(at(taken), -share(taken), true)
	}
}
