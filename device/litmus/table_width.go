package litmus

import "github.com/ncclgo/ncclgo/device/sim"

// widthTests are about what one access is: the halves of an LL line, the 16 bytes
// of a lane, the 128-byte line of eight lanes. Hardware gives more here than the
// ISA does, and each fact has a switch.
var widthTests = []Test{
	// Words: each half of the line: 0 old, 1 new, 2 torn.
	{
		Name: "ll-halves", File: "pack", Sees: seesHalves,
		Launches: apart("write_halves", "read_halves"),
		Rules:    halves("a vector access is one access for each element"),
	},
	{
		Name: "ll-halves-volatile", File: "pack", Sees: seesHalves,
		Launches: apart("write_halves", "read_volatile"),
		Rules:    halves(".volatile is .relaxed.sys, element by element"),
	},
	{
		Name: "pack-whole-write", File: "pack", Sees: seesHalves,
		Launches: apart("write_whole", "read_halves"),
		Rules:    halves("a reader that has two elements reads twice"),
	},
	{
		Name: "pack-whole", File: "pack", Sees: seesHalves,
		Launches: apart("write_whole", "read_whole"),
		Rules: always(
			forbid("1 0", ".b128 is one element, and an aligned element is atomic"),
			forbid("0 1", ".b128 is one element, and an aligned element is atomic"),
			allow("0 0", "before"),
			allow("1 1", "behind")),
	},

	// Plain accesses of neighbours. Words: what each finds in its place.
	{
		Name: "bytes-apart", File: "bytes", Sees: seesTwo,
		Launches: []Launch{{Kernel: "first", Words: 1}, {Kernel: "second", GPU: 1, Words: 1}},
		Rules:    always(forbid(raced, "different bytes are different locations"), allow("1 1", "each its own")),
	},
	{
		Name: "bytes-shared", File: "bytes", Sees: seesTwo,
		Launches: []Launch{{Kernel: "both", Words: 1}, {Kernel: "second", GPU: 1, Words: 1}},
		Rules:    race("one byte is enough to conflict", "* *"),
	},

	// A line of LL128. Word: whether the data came with the flag.
	{
		Name: "ll128", File: "ll128", Sees: seesLine,
		Launches: line("write", "read"), X: 1,
		Rules: []Rule{
			whole("the stores become visible together (H2, which builds on H1), and no load behind the vote is older than the flag before it (H3)", sim.AllFacts),
			torn("without H1 a lane's 16 bytes are two accesses", sim.WholeLine|sim.OrderedVote),
			torn("without H2 the lanes' stores become visible one by one", sim.WholePack|sim.OrderedVote),
			torn("without H3 a lane's load behind the vote may be older than another's before it", sim.WholePack|sim.WholeLine),
			torn("the ISA promises none of it", 0),
		},
	},
	{
		Name: "ll128-remote", File: "ll128", Sees: seesLine,
		Launches: line("write", "read"),
		Rules: []Rule{
			whole("the line lies in the writer's memory, and is read over NVLink", sim.AllFacts),
		},
	},
	{
		Name: "ll128-once", File: "ll128", Sees: seesLine,
		Launches: line("write", "read_once"), X: 1,
		Rules: []Rule{
			torn("the lanes' loads before the vote are not one access: the line must be loaded again behind it", sim.AllFacts),
		},
	},
	{
		Name: "ll128-in-turn", File: "ll128", Sees: seesLine,
		Launches: line("write_in_turn", "read"), X: 1,
		Rules: []Rule{
			torn("H2 is about one instruction of eight lanes", sim.AllFacts),
		},
	},
	{
		Name: "ll128-pcie", File: "ll128", Sees: seesLine, PCIe: true,
		Launches: line("write", "read"), X: 1,
		Rules: []Rule{
			torn("H2 does not hold over PCIe", sim.AllFacts),
		},
	},
	{
		Name: "ll128-host", File: "ll128", Sees: seesLine,
		Launches: line("write", "read"), X: Host,
		Rules: []Rule{
			torn("H2 does not hold for host memory, which is behind PCIe", sim.AllFacts),
		},
	},
}

var (
	seesHalves = []string{"lo", "hi"}
	seesLine   = []string{"right"}
)

// halves are the rules of two elements of 8 bytes: apart by the ISA, one with H1.
func halves(why string) []Rule {
	both := []Line{
		allow("0 0", "before"),
		allow("1 1", "behind"),
		forbid("2 *", "an element of 8 bytes is whole"),
		forbid("* 2", "an element of 8 bytes is whole"),
	}
	return []Rule{
		{[]sim.Facts{0, sim.AllFacts &^ sim.WholePack}, append([]Line{allow("0 1", why), allow("1 0", why)}, both...)},
		{[]sim.Facts{sim.WholePack, sim.AllFacts}, append([]Line{
			forbid("0 1", "H1: one lane's 16 bytes are one access"),
			forbid("1 0", "H1: one lane's 16 bytes are one access"),
		}, both...)},
	}
}

// line runs the eight lanes of a line's writer on GPU 0, and its reader's on GPU 1.
func line(writer, reader string) []Launch {
	return []Launch{{Kernel: writer, Threads: 8}, {Kernel: reader, GPU: 1, Threads: 8, Words: 1}}
}

// whole is the rule of a line that is never torn.
func whole(why string, f sim.Facts) Rule {
	return Rule{[]sim.Facts{f}, []Line{
		forbid("0", why),
		allow("1", "the data came with the flag"),
	}}
}

// torn is the rule of a line that may be.
func torn(why string, f sim.Facts) Rule {
	return Rule{[]sim.Facts{f}, []Line{
		allow("0", why),
		allow("1", "the data came with the flag"),
	}}
}
