package planner

// barrier is the kind of reason why an algorithm or a protocol is out. Of several
// reasons the one with the highest is the most telling: all the others are true of
// machines and builds on which it is not.
type barrier uint8

const (
	open    barrier = iota // it is not out
	origin                 // NCCL does not have it
	nature                 // nothing ever does it so
	machine                // the machine lacks what it needs
	operand                // it does not reduce this type by this operator here
	setting                // a user's setting, or its default
	build                  // no kernel in this build
	danger                 // links may tear what it sends
	unasked                // the options of the call
)

// verdict is what reasons come to.
type verdict struct {
	why     string // the first of the most telling
	barrier barrier
	several bool // there are others as telling
}

func (v *verdict) add(why string, b barrier) {
	switch {
	case b > v.barrier:
		*v = verdict{why: why, barrier: b}
	case b == v.barrier && why != v.why:
		v.several = true
	}
}

// clause returns the reason in front of which ": " stands, "" if there are several:
// one is worth telling, of many that there are many.
func (v *verdict) clause() string {
	if v.several || v.why == "" {
		return ""
	}
	return ": " + v.why
}
