package nccl

import (
	"cmp"
	"slices"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/runtime/internal/launch"
)

// Calls gathers the operations of a group. Its methods add one each; it is for
// one goroutine, and only until the function that received it returns.
type Calls struct {
	calls []call
	err   error // the first refusal
	over  bool
}

// usualCalls is how many calls a group takes without growing: two for each GPU of
// most hosts.
const usualCalls = 16

// call is one checked operation of one rank.
type call struct {
	comm       *Comm
	shape      shape
	op         coll.UserOp
	send, recv device.Ptr
	arg        operand
	stream     device.Stream
}

// Group calls fn and enqueues the operations that fn adds to g as one: those of
// one communicator are planned together, with one launch for each kernel, which may
// be another than for an operation alone ([Comm.ExplainGroup]), and
// all communicators are entered at once, so that two groups have the same order
// on all communicators they share. Operations of one communicator may be on
// several streams: the group starts when the earlier work of all of them is
// done, and later work of each waits for the group.
//
// If fn returns an error, or any operation was refused, nothing is enqueued and
// that error is returned. If a device fails while the group is enqueued, the
// operations of some ranks may be under way, and only [Comm.Abort] ends them.
//
// Operations of a group that read or write what another of it writes give any
// result: they run at the same time. Every rank must add the same operations in
// the same order, which is checked of the ranks that are in the group; it may hold
// the operations of some ranks only, if the others are enqueued elsewhere.
func Group(fn func(g *Calls) error) error {
	if fn == nil {
		return result.New(result.InvalidArgument, "Group", "the function is nil; pass one that adds the operations")
	}
	g := Calls{calls: make([]call, 0, usualCalls)}
	err := fn(&g)
	g.over = true
	switch {
	case err != nil:
		return err
	case g.err != nil:
		return g.err
	}
	return g.launch()
}

// add appends k unless it was refused.
func (g *Calls) add(k call, err error) error {
	if g.over {
		err = result.New(result.InvalidUsage, k.shape.fn.String(), "the group is over; add operations inside the function given to Group")
		return err
	}
	if err != nil {
		g.err = cmp.Or(g.err, err)
		return err
	}
	g.calls = append(g.calls, k)
	return nil
}

// launch enters all communicators of the group, plans for all, and enqueues on
// each.
func (g *Calls) launch() error {
	parts := g.split()
	if err := match(parts); err != nil {
		return err
	}
	for i := range parts {
		parts[i].comm.mu.Lock()
	}
	defer func() {
		for i := range parts {
			// After a failure, which is kept: another adds nothing.
			_ = parts[i].comm.leave(&parts[i])
			parts[i].comm.mu.Unlock()
		}
	}()
	for i := range parts {
		p := &parts[i]
		if err := p.comm.prepare(p); err != nil {
			for _, p := range parts[:i] {
				p.comm.cancel(&p)
			}
			return err
		}
	}
	// One launch of each at a time: kernels of one rank wait for those of the
	// others, and a device takes only so many before it makes the host wait.
	for left := len(parts); left > 0; {
		left = 0
		for i := range parts {
			p := &parts[i]
			if p.done {
				continue
			}
			if err := p.comm.advance(p); err != nil {
				return err
			}
			if !p.done {
				left++
			}
		}
	}
	return nil
}

// part is what a group has for one communicator.
type part struct {
	comm  *Comm
	calls []call // in order
	plan  *plan
	// stream is that of the first call; others are the further ones.
	stream device.Stream
	others []device.Stream

	// How far the part is enqueued.
	begun, done bool
	next        int        // index of the launch to continue with
	works       []abi.Work // what that launch has left; nil before it begins
	first       uint64     // number of the first call in its communicator

	capture  uint64 // ID of the capture that the streams are part of, 0: none
	reserved reservation
}

// split sorts the calls by communicator, in the one order in which everyone
// locks communicators: else two groups could each hold what the other waits for.
func (g *Calls) split() []part {
	slices.SortStableFunc(g.calls, func(a, b call) int { return cmp.Compare(a.comm.serial, b.comm.serial) })
	n := 0
	for i := range g.calls {
		if i == 0 || g.calls[i].comm != g.calls[i-1].comm {
			n++
		}
	}
	parts := make([]part, 0, n)
	for first := 0; first < len(g.calls); {
		end := first + 1
		for end < len(g.calls) && g.calls[end].comm == g.calls[first].comm {
			end++
		}
		parts = append(parts, newPart(g.calls[first:end]))
		first = end
	}
	return parts
}

// newPart returns the part of one communicator's calls.
func newPart(calls []call) part {
	p := part{comm: calls[0].comm, calls: calls, stream: calls[0].stream}
	for i := range calls {
		if s := calls[i].stream; s != p.stream && !slices.Contains(p.others, s) {
			p.others = append(p.others, s)
		}
	}
	return p
}

// enqueue is a group of one call. It allocates nothing when a call of the same
// shape came before.
func (c *Comm) enqueue(k *call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.one[0] = *k
	p := part{comm: c, calls: c.one[:], stream: k.stream}
	if err := c.prepare(&p); err != nil {
		return err
	}
	// After a failure, which is kept: another adds nothing.
	defer func() { _ = c.leave(&p) }()
	for !p.done {
		if err := c.advance(&p); err != nil {
			return err
		}
	}
	return nil
}

// prepare plans p, so that nothing but the device can refuse it afterwards.
//
// Preconditions: c.mu is held.
func (c *Comm) prepare(p *part) (err error) {
	name := p.calls[0].shape.fn.String()
	// Asked again, now that nobody else can be inside Close.
	if err := c.usable(name); err != nil {
		return err
	}
	if p.capture, err = c.captureOf(name, p); err != nil {
		return err
	}
	if p.capture == 0 && c.shared.anyClosed.Load() {
		if err := c.peersOpen(name, c.outside+uint64(len(p.calls))); err != nil {
			return err
		}
	}
	if p.plan, err = c.plan(p.calls); err != nil {
		return err
	}
	if c.gpuRanks != nil && len(p.plan.launches) > 0 {
		return c.gpuRanks.reserve(p, c.ops)
	}
	return nil
}

// cancel undoes prepare.
//
// Preconditions: c.mu is held; p is not begun.
func (c *Comm) cancel(p *part) {
	if p.reserved.made {
		c.gpuRanks.cancel(p, c.ops)
	}
}

// captureOf returns the ID of the capture that the streams of p are part of: all
// or none, since work inside a capture cannot wait for work outside.
func (c *Comm) captureOf(name string, p *part) (uint64, error) {
	id, err := launch.CaptureOf(p.stream)
	for _, s := range p.others {
		if err != nil {
			break
		}
		var other uint64
		if other, err = launch.CaptureOf(s); err == nil && other != id {
			return 0, result.New(result.InvalidUsage, name,
				"the streams of the group are not all part of one capture; make the others wait for an event of the captured one, or use a group for each").At(c.rank)
		}
	}
	if err != nil {
		return 0, result.New(result.UnhandledCUDAError, name, "ask the stream for its capture: %w", err).At(c.rank)
	}
	return id, nil
}

// advance enqueues the next kernel of p, and sets p.done with the last.
//
// Preconditions: c.mu is held; prepare succeeded.
func (c *Comm) advance(p *part) error {
	var err error
	if !p.begun {
		p.begun = true
		p.first = c.ops
		c.ops += uint64(len(p.calls))
		if p.capture == 0 {
			c.outside += uint64(len(p.calls))
		}
		if len(p.plan.launches) == 0 {
			p.done = true
			return nil
		}
		err = c.queue.Enter(p.capture, p.stream, p.others)
	}
	if err == nil {
		err = c.launchNext(p)
	}
	if err != nil {
		return c.fail(p.calls[0].shape.fn.String(), err)
	}
	if p.next == len(p.plan.launches) {
		return c.leave(p)
	}
	return nil
}

// leave ends p where it is, if it is begun: after a failure too, so that Close
// waits for what was launched before it.
//
// Preconditions: c.mu is held.
func (c *Comm) leave(p *part) error {
	if !p.begun || p.done {
		return nil
	}
	p.done = true
	if err := c.queue.Leave(p.stream, p.others); err != nil {
		return c.fail(p.calls[0].shape.fn.String(), err)
	}
	return nil
}

// launchNext enqueues what p.next says, or as much of it as one kernel takes.
func (c *Comm) launchNext(p *part) (err error) {
	l := &p.plan.launches[p.next]
	if l.function == nil {
		p.next++
		return c.copyCalls(p, l.calls)
	}
	if p.works == nil {
		l.fill(p.calls, p.first)
		p.works = l.works
		if c.shared.observe != nil {
			c.shared.observe(LaunchInfo{
				Rank: c.rank, Op: p.first + uint64(l.calls[0]), Variant: l.variant, Kernel: l.kernel.Symbol,
				Channels: l.channels, Threads: l.threads, Works: len(l.works), Bytes: l.bytes,
			})
		}
	}
	if p.works, err = c.queue.Launch(p.stream, l.function, l.channels, l.threads, p.works); err != nil {
		return err
	}
	if len(p.works) == 0 {
		p.works = nil
		p.next++
	}
	return nil
}

// copyCalls does those calls of an only rank for which it has the outcome already,
// but not where it is to be.
func (c *Comm) copyCalls(p *part, calls []int) error {
	for _, i := range calls {
		k := &p.calls[i]
		if bytes := k.shape.bytes(); k.send != k.recv && bytes > 0 {
			if err := c.queue.Copy(p.stream, k.recv, k.send, int64(bytes)); err != nil {
				return err
			}
		}
	}
	return nil
}
