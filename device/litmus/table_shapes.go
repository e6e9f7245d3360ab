package litmus

import "github.com/ncclgo/ncclgo/device"

// What several tests have in common.

var (
	seesFlagData = []string{"flag", "data"}
	seesTwo      = []string{"r0", "r1"}
	seesIRIW     = []string{"x2", "y2", "y3", "x3"}
)

// apart runs a writer on GPU 0 and a reader on GPU 1.
func apart(writer, reader string) []Launch {
	return []Launch{{Kernel: writer}, {Kernel: reader, GPU: 1, Words: 2}}
}

// together runs both on GPU 0, a CTA each.
func together(writer, reader string) []Launch {
	return []Launch{{Kernel: writer}, {Kernel: reader, Words: 2}}
}

// crossed runs two threads on two GPUs; the second has x and y in each other's
// place.
func crossed(first, second string) []Launch {
	return []Launch{{Kernel: first, Words: 1}, {Kernel: second, GPU: 1, Words: 1, Swap: true}}
}

// independent runs two writers and two readers on four GPUs.
func independent(reader string) []Launch {
	return []Launch{
		{Kernel: "write"},
		{Kernel: "write", GPU: 1, Swap: true},
		{Kernel: reader, GPU: 2, Words: 2},
		{Kernel: reader, GPU: 3, Words: 2, Swap: true},
	}
}

// stale is message passing that does not work.
func stale(why string) []Rule {
	return always(
		allow("1 0", why),
		allow("? ?", "the reader was before the writer, behind it, or between its stores"))
}

// ordered is message passing that works.
func ordered(why string) []Rule {
	return always(
		forbid("1 0", why),
		allow("? ?", "the reader was before the writer, behind it, or between its stores"))
}

// race is the rule of a test in which nothing orders two accesses one of which
// is plain: that is found in every run, whatever value was read. passed is the
// outcome of a run in which it was not.
func race(why, passed string) []Rule {
	return always(
		allow(raced, why),
		forbid(passed, "a race was missed"))
}

// raced is the outcome of a run that ended with a race.
const raced = string(device.Race)
