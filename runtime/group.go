package nccl

import (
	"cmp"
	"slices"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/internal/result"
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
	send, recv device.Ptr
	redOpArg   uint64
	stream     device.Stream
}

// Group calls fn and enqueues the operations that fn adds to g as one: those of
// one communicator are planned together, with one launch for each kernel, and
// all communicators are entered at once, so that two groups have the same order
// on all communicators they share. Operations of one communicator may be on
// several streams: the group starts when the earlier work of all of them is
// done, and later work of each waits for the group.
//
// If fn returns an error, or any operation was refused, nothing is enqueued and
// that error is returned. If a device fails while the group is enqueued, the
// operations of some ranks may be under way, and only [Comm.Abort] ends them.
//
// Operations of a group that read what another of it writes give any result: they
// run at the same time. Every rank must add the same operations in the same
// order; a group may hold the operations of some ranks only, if the others are
// enqueued elsewhere.
func Group(fn func(g *Calls) error) error {
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
	for i := range parts {
		parts[i].comm.mu.Lock()
	}
	defer func() {
		for i := range parts {
			parts[i].comm.mu.Unlock()
		}
	}()
	for i := range parts {
		p := &parts[i]
		if err := p.comm.prepare(p); err != nil {
			return err
		}
	}
	for i := range parts {
		p := &parts[i]
		if err := p.comm.launch(p); err != nil {
			return err
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
	return c.launch(&p)
}

// prepare plans p, so that nothing but the device can refuse it afterwards.
//
// Preconditions: c.mu is held.
func (c *Comm) prepare(p *part) (err error) {
	// Asked again, now that nobody else can be inside Close.
	if err := c.usable(p.calls[0].shape.fn.String()); err != nil {
		return err
	}
	p.plan, err = c.plan(p.calls)
	return err
}

// launch enqueues p.
//
// Preconditions: c.mu is held; prepare succeeded.
func (c *Comm) launch(p *part) error {
	first := c.ops
	c.ops += uint64(len(p.calls))
	if len(p.plan.launches) == 0 {
		return nil
	}
	err := c.queue.Enter(p.stream, p.others)
	for i := range p.plan.launches {
		if err != nil {
			break
		}
		err = c.launchOne(&p.plan.launches[i], p, first)
	}
	if err == nil {
		err = c.queue.Leave(p.stream, p.others)
	}
	if err != nil {
		return c.fail(p.calls[0].shape.fn.String(), err)
	}
	return nil
}

// launchOne enqueues one launch of p, whose first call has the given number.
func (c *Comm) launchOne(l *planned, p *part, first uint64) error {
	if l.function == nil {
		// The only rank has the outcome already, but where it is to be.
		for i := range p.calls {
			k := &p.calls[i]
			if bytes := k.shape.bytes(); k.send != k.recv && bytes > 0 {
				if err := p.stream.CopyAsync(k.recv, k.send, int64(bytes)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	l.fill(p.calls, first)
	if c.shared.observe != nil {
		c.shared.observe(LaunchInfo{
			Rank: c.rank, Op: first + uint64(l.calls[0]), Variant: l.variant, Kernel: l.kernel.Symbol,
			Channels: l.channels, Threads: l.threads, Works: len(l.works), Bytes: l.bytes,
		})
	}
	return c.queue.Launch(p.stream, l.function, l.channels, l.threads, l.works)
}
