package nccl

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/planner"
	"github.com/ncclgo/ncclgo/runtime/internal/devcomm"
	"github.com/ncclgo/ncclgo/topo"
)

// shared is what the ranks of one communicator in this process have in common.
// All but what a mutex guards is read-only once InitAll has returned.
type shared struct {
	comms   []*Comm // by rank
	system  *topo.System
	layout  *topo.Layout
	ring    *topo.Graph // of layout
	model   *planner.Model
	options planner.Options
	// refused has, for each operator and type, why no kernel serves it; nil if
	// one does.
	refused [coll.NumRedOps][coll.NumDataTypes]*result.Error
	log     *slog.Logger
	observe func(LaunchInfo)

	aborted atomic.Bool

	open      atomic.Int32 // ranks that are not closed, or whose Close waits
	anyClosed atomic.Bool  // Comm.closedAfter of a rank is set

	// mu keeps device memory from being freed while it is looked at or waited
	// for: read-locked by those who do, locked by the last rank that is closed.
	// NB: nobody else may lock it. A pending Lock keeps readers out, so Abort
	// could not end the wait that the Lock waits for.
	mu     sync.RWMutex
	memory *devcomm.Comms // guarded by mu; nil once freed
}

// abort sets the flag that all kernels of the communicator look at.
func (s *shared) abort() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.memory == nil || s.aborted.Swap(true) {
		return
	}
	s.memory.Abort()
	s.log.Warn("aborted", "subsys", "COLL", "ranks", len(s.comms))
}

// reports returns where the channels of all ranks were when they were aborted.
func (s *shared) reports() ([]Report, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.memory == nil {
		return nil, nil
	}
	return s.memory.Reports()
}

// leave counts a closed rank. With the last one it frees what the communicator
// holds on the devices.
func (s *shared) leave() error {
	if s.open.Add(-1) > 0 {
		return nil
	}
	// All ranks have waited, so whoever still holds the lock is about to leave.
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.free()
}

// free frees what there is, from the top down. Nothing may be running.
//
// Preconditions: s.mu is held, or nobody else knows s.
func (s *shared) free() error {
	var errs []error
	for _, c := range s.comms {
		if c.queue != nil {
			errs = append(errs, c.queue.Close())
		}
	}
	if s.memory != nil {
		errs = append(errs, s.memory.Close())
		s.memory = nil
	}
	for _, c := range s.comms {
		if c.kernels != nil {
			errs = append(errs, c.kernels.Release())
		}
	}
	return errors.Join(errs...)
}
