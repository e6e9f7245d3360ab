package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// sliceInstructions is how much runs before the lock is given up: about a
// millisecond.
const sliceInstructions = 16384

// outcome is how a slice ended.
type outcome uint8

const (
	ran   outcome = iota // there may be more to do
	idle                 // no work is left
	stuck                // there is work, and nobody can progress
)

// errNoContext is what a wait without a context returns.
var errNoContext = errors.New("sim: synchronize: the context is nil; give context.Background() to wait without an end")

// await runs the machine until done, an error or the end of ctx. What is done then
// is what the host knows.
func (m *Machine) await(ctx context.Context, done func() bool, know func() knowledge) error {
	if ctx == nil {
		return errNoContext
	}
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() {
			m.mu.Lock()
			m.cond.Broadcast()
			m.mu.Unlock()
		})
		defer stop()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		if m.err != nil {
			return m.err
		}
		if done() {
			m.hostLearns(know)
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		switch m.slice(done) {
		case idle:
			if m.err == nil && !done() {
				m.poison(errors.New("sim: BUG: work is queued and nothing can run it"))
			}
		case stuck:
			m.waitGrace()
		}
		// Other goroutines' calls come in here.
		m.mu.Unlock()
		m.mu.Lock()
	}
}

// query runs one slice and reports whether done, which the host knows then.
func (m *Machine) query(done func() bool, know func() knowledge) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil && !done() && m.slice(done) == stuck {
		m.expireGrace()
	}
	if m.err != nil {
		return false, m.err
	}
	if !done() {
		return false, nil
	}
	m.hostLearns(know)
	return true, nil
}

// waitGrace sleeps until a host call changes something or the grace period is
// over, and then reports that the machine is stuck.
func (m *Machine) waitGrace() {
	if m.expireGrace() {
		return
	}
	t := time.AfterFunc(time.Until(m.watch.since.Add(m.cfg.StuckGrace)), func() {
		m.mu.Lock()
		m.cond.Broadcast()
		m.mu.Unlock()
	})
	defer t.Stop()
	m.cond.Wait()
}

// expireGrace poisons the machine if the grace period is over.
func (m *Machine) expireGrace() bool {
	if time.Since(m.watch.since) < m.cfg.StuckGrace {
		return false
	}
	m.poison(m.watch.fault)
	return true
}

// slice advances streams and runs warps until its budget is used, something
// that done may look at has changed, or nothing can run.
//
// Preconditions: m.mu is held and m.err is nil.
func (m *Machine) slice(done func() bool) (o outcome) {
	defer func() {
		if r := recover(); r != nil {
			m.poison(m.bug(r))
			o = ran
		}
		m.cur = nil
	}()
	if m.watch.fault != nil {
		return stuck
	}
	end := m.executed + sliceInstructions
	for m.executed < end {
		if m.pumpable {
			m.pump()
			if m.err != nil || done() {
				return ran
			}
			continue
		}
		if len(m.ready) == 0 && !m.wakeNext() {
			if len(m.running) == 0 {
				return idle
			}
			m.watch.declare(m)
			return stuck
		}
		if m.runWarps(end); m.err != nil {
			return ran
		}
		if m.watch.check(m) {
			return stuck
		}
	}
	return ran
}

// bug describes a panic of the machine's own code.
func (m *Machine) bug(r any) error {
	where := "between instructions"
	if w := m.cur; w != nil {
		where = fmt.Sprintf("%s CTA %d warp %d", w.cta.kernel.fn.prog.name, w.cta.index, w.index)
		if int(w.pc) < len(w.code) && w.code[w.pc].src != nil {
			in := w.code[w.pc].src
			where += fmt.Sprintf(" at %s:%d: %s", w.cta.kernel.fn.prog.file, in.Line, in.Text)
		}
	}
	return fmt.Errorf("sim: BUG: panic in %s: %v [%s]", where, r, panicSite(debug.Stack()))
}

// panicSite returns the place in this package that panicked.
func panicSite(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "panic(") {
			for _, l := range lines[i+2:] {
				if strings.HasPrefix(l, "\t") && strings.Contains(l, "/device/sim/") {
					return strings.TrimSpace(l[strings.LastIndexByte(l, '/')+1:])
				}
			}
		}
	}
	return "unknown place"
}
