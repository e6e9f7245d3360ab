package nccl

import "math/bits"

// maxPlanned bounds the memory of remembered plans: the calls of all of them
// together. A program that uses more plans some again.
const maxPlanned = 1 << 14

// planCache remembers plans by the shapes of the calls in a group. The zero value
// is empty.
type planCache struct {
	plans   map[uint64]*plan // by hash; those of one hash follow one another
	planned int              // calls of all plans
}

// lookup returns the plan of calls of these shapes, in this order; nil if there is
// none. It does not allocate.
func (c *planCache) lookup(calls []call) *plan {
	var h uint64
	for i := range calls {
		h = calls[i].shape.hash(h)
	}
	for p := c.plans[h]; p != nil; p = p.next {
		if p.isOf(calls) {
			return p
		}
	}
	return nil
}

// add remembers a plan.
func (c *planCache) add(p *plan) {
	if c.planned += len(p.shapes); c.plans == nil || c.planned > maxPlanned {
		c.plans, c.planned = map[uint64]*plan{}, len(p.shapes)
	}
	var h uint64
	for i := range p.shapes {
		h = p.shapes[i].hash(h)
	}
	p.next = c.plans[h]
	c.plans[h] = p
}

// isOf reports whether a plan is one for calls of these shapes.
func (p *plan) isOf(calls []call) bool {
	if len(p.shapes) != len(calls) {
		return false
	}
	for i := range calls {
		if calls[i].shape != p.shapes[i] {
			return false
		}
	}
	return true
}

// hash returns a number for the shapes before, whose number is h, and s. Shapes of
// which it is equal are told apart by comparing them.
func (s *shape) hash(h uint64) uint64 {
	// An odd constant whose bits look random: 2^64 over the golden ratio.
	const odd = 0x9e3779b97f4a7c15
	h = bits.RotateLeft64(h, 23) ^ s.count ^ uint64(s.fn)<<56 ^ uint64(s.op)<<48 ^ uint64(s.typ)<<40
	hi, lo := bits.Mul64(h+odd, odd)
	return hi ^ lo
}
