package conformance

import (
	"runtime"
	"sync"
	"time"
)

// outcome is what came of some runs.
type outcome struct {
	runs         [NumModes]int
	instructions uint64        // of warps
	busy         time.Duration // of cores
	failures     []error       // in the order of the runs
}

func (o *outcome) add(p outcome) {
	for m := range o.runs {
		o.runs[m] += p.runs[m]
	}
	o.instructions += p.instructions
	o.busy += p.busy
	o.failures = append(o.failures, p.failures...)
}

// doAll makes runs on all cores.
func doAll(runs []Run) (all outcome) {
	outcomes := make([]outcome, len(runs))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				outcomes[i] = runs[i].timed()
			}
		})
	}
	for i := range runs {
		next <- i
	}
	close(next)
	workers.Wait()
	for _, o := range outcomes {
		all.add(o)
	}
	return all
}

func (r *Run) timed() (o outcome) {
	start := time.Now()
	instructions, err := r.Do()
	o.runs[r.Mode], o.instructions, o.busy = 1, instructions, time.Since(start)
	if err != nil {
		o.failures = []error{err}
	}
	return o
}
