package litmus

import "github.com/ncclgo/ncclgo/device"

// causeTests are about one location, about atomics, and about what passes
// through a third thread.
var causeTests = []Test{
	// Coherence of one location.
	{
		Name: "co-rr", File: "co", Sees: seesTwo,
		Launches: []Launch{{Kernel: "write"}, {Kernel: "read_read", GPU: 1, Words: 2}},
		Rules: always(
			forbid("1 0", "a thread that has read a write does not go back behind it"),
			allow("? ?", "before, between or behind")),
	},
	{
		Name: "co-rr-back", File: "co", Sees: seesTwo,
		Launches: []Launch{{Kernel: "write"}, {Kernel: "read_read_back", GPU: 1, Words: 2}},
		Rules: always(
			forbid("1 0", "a load of the same location ends the one before it, whichever is used first"),
			allow("? ?", "before, between or behind")),
	},
	{
		Name: "co-ww", File: "co", Sees: []string{"r0", "r1", "x"}, Final: []string{"x"},
		Launches: []Launch{{Kernel: "write_write"}, {Kernel: "read_read", GPU: 1, Words: 2}},
		Rules: always(
			forbid("* * 1", "the writes of one location are ordered as their thread made them"),
			forbid("2 1 *", "no reader sees them the other way round"),
			forbid("2 0 *", "nor goes back to the beginning"),
			forbid("1 0 *", "nor goes back to the beginning"),
			allow("0 0 2", "before both"),
			allow("0 1 2", "between"),
			allow("0 2 2", "before, then behind both"),
			allow("1 1 2", "between"),
			allow("1 2 2", "between, then behind both"),
			allow("2 2 2", "behind both")),
	},
	{
		Name: "co-wr", File: "co", Sees: []string{"r0"},
		Launches: []Launch{{Kernel: "write_two"}, {Kernel: "write_read", GPU: 1, Words: 1}},
		Rules: always(
			forbid("0", "own writes are seen at once"),
			allow("1", "the own write"),
			allow("2", "the other's, behind the own")),
	},
	{
		Name: "co-rw", File: "co", Sees: []string{"r0", "x"}, Final: []string{"x"},
		Launches: []Launch{{Kernel: "write_two"}, {Kernel: "read_write", GPU: 1, Words: 1}},
		Rules: always(
			forbid("1 *", "a load does not see its thread's later store"),
			forbid("2 2", "the store is behind what the load before it has read"),
			forbid("* 0", "the last write stays"),
			allow("0 1", "the own store is last, or the load was first"),
			allow("0 2", "the other store is last"),
			allow("2 1", "the other store, then the own")),
	},
	{
		Name: "r+acq_rel+acq_rel", File: "last", Sees: []string{"r0", "y"}, Final: []string{"y"},
		Launches: []Launch{{Kernel: "r_first_acq_rel"}, {Kernel: "r_second_acq_rel", GPU: 1, Words: 1}},
		Rules: always(
			allow("0 2", "to write over a release is not to acquire it"),
			allow("0 1", "the second thread was first"),
			allow("1 1", "the load came late"),
			allow("1 2", "the first thread was first")),
	},
	{
		Name: "r+sc+sc", File: "last", Sees: []string{"r0", "y"}, Final: []string{"y"},
		Launches: []Launch{{Kernel: "r_first_sc"}, {Kernel: "r_second_sc", GPU: 1, Words: 1}},
		Rules: always(
			forbid("0 2", "the second thread's store is the last, so its fence.sc is, and it knows what came before the first's"),
			allow("0 1", "the second thread was first"),
			allow("1 1", "the load came late"),
			allow("1 2", "the first thread was first")),
	},
	{
		Name: "s+release+acquire", File: "last", Sees: []string{"r0", "x"}, Final: []string{"x"},
		Launches: []Launch{{Kernel: "s_first"}, {Kernel: "s_second", GPU: 1, Words: 1}},
		Rules: always(
			forbid("1 2", "the second thread has acquired the first's store and writes behind it"),
			allow("1 1", "its store is the last"),
			allow("0 1", "its store is the last by chance"),
			allow("0 2", "its store was first")),
	},

	// Causality over three GPUs. Words: what B saw, then what C saw of B, of A.
	{
		Name: "wrc+release+acquire", File: "wrc", Sees: seesWRC,
		Launches: chain("a", "b_release", "c_acquire"),
		Rules: always(
			forbid("1 1 0", "a release carries what its thread has read, not only what it wrote"),
			allow("? ? ?", "B or C came too early")),
	},
	{
		Name: "wrc+fence+acquire", File: "wrc", Sees: seesWRC,
		Launches: chain("a", "b_fence", "c_acquire"),
		Rules: always(
			forbid("1 1 0", "a fence ends the load before it, and the store behind it carries what was read"),
			allow("? ? ?", "B or C came too early")),
	},
	{
		Name: "wrc+relaxed+acquire", File: "wrc", Sees: seesWRC,
		Launches: chain("a", "b_relaxed", "c_acquire"),
		Rules:    always(allow("? ? ?", "B releases nothing")),
	},
	{
		Name: "wrc+data+acquire", File: "wrc", Sees: seesWRC,
		Launches: chain("a", "b_data", "c_acquire"),
		Rules:    always(allow("? ? ?", "a dependency orders B's accesses, and tells C nothing of A")),
	},
	{
		Name: "wrc+release+relaxed", File: "wrc", Sees: seesWRC,
		Launches: chain("a", "b_release", "c_relaxed"),
		Rules:    always(allow("? ? ?", "C acquires nothing")),
	},
	{
		Name: "isa2+release+both+acquire", File: "isa2", Sees: seesISA2,
		Launches: chain("a_release", "b_acquire_release", "c_acquire"),
		Rules: always(
			forbid("1 1 0", "a release carries what its thread has acquired"),
			allow("? ? ?", "B or C came too early")),
	},
	{
		Name: "isa2+relaxed+both+acquire", File: "isa2", Sees: seesISA2,
		Launches: chain("a_relaxed", "b_acquire_release", "c_acquire"),
		Rules:    always(allow("? ? ?", "A releases nothing")),
	},
	{
		Name: "isa2+release+release+acquire", File: "isa2", Sees: seesISA2,
		Launches: chain("a_release", "b_relaxed_release", "c_acquire"),
		Rules:    always(allow("? ? ?", "B acquires nothing: it knows the flag that it read, not what that carries")),
	},
	{
		Name: "isa2+release+acquire+acquire", File: "isa2", Sees: seesISA2,
		Launches: chain("a_release", "b_acquire_relaxed", "c_acquire"),
		Rules:    always(allow("? ? ?", "B releases nothing")),
	},
	{
		Name: "isa2+release+both+relaxed", File: "isa2", Sees: seesISA2,
		Launches: chain("a_release", "b_acquire_release", "c_relaxed"),
		Rules:    always(allow("? ? ?", "C acquires nothing")),
	},

	// Atomics.
	{
		Name: "rmw-chain", File: "rmw", Sees: []string{"old", "count", "data"},
		Launches: chain("publish", "add", "collect"),
		Rules: always(
			forbid("1 2 0", "an atomic passes on what the write it replaces has released"),
			forbid("1 1 0", "the release was read"),
			allow("? 0 ?", "the counter was read before both"),
			allow("1 1 1", "the release was read"),
			allow("1 2 1", "the atomic was read, and with it the release"),
			allow("0 1 ?", "the counter may be the atomic's, which came before the release")),
	},
	{
		Name: "rmw-by-hand", File: "rmw", Sees: []string{"old", "count", "data"},
		Launches: chain("publish", "add_by_hand", "collect"),
		Rules: always(
			forbid("1 1 0", "the release was read"),
			allow("1 2 0", "a load and a store pass nothing on"),
			allow("1 2 1", "the data was seen by chance"),
			allow("? 0 ?", "the counter was read before both"),
			allow("1 1 1", "the release was read"),
			allow("0 1 ?", "the counter may be the one that was stored beside the release")),
	},
	{
		Name: "rmw-count", File: "rmw", Sees: []string{"r0", "r1", "y"}, Final: []string{"y"},
		Launches: []Launch{{Kernel: "add", Words: 1}, {Kernel: "add", GPU: 1, Words: 1}},
		Rules: always(
			forbid("0 0 *", "an atomic replaces the newest write"),
			allow("0 1 2", "the first was first"),
			allow("1 0 2", "the second was first")),
	},
	{
		Name: "rmw-pcie", File: "rmw", Sees: []string{"r0"}, PCIe: true,
		Launches: []Launch{{Kernel: "add", GPU: 1, Words: 1}},
		Rules:    always(allow(string(device.IllegalOperand), "no read-modify-write reaches a peer's memory over PCIe")),
	},
	{
		Name: "rmw-pcie-own", File: "rmw", Sees: []string{"r0"}, PCIe: true,
		Launches: []Launch{{Kernel: "add", Words: 1}},
		Rules:    always(allow("0", "the GPU's own memory is another matter")),
	},
}

var (
	seesWRC  = []string{"x1", "y2", "x2"}
	seesISA2 = []string{"y1", "z2", "x2"}
)

// chain runs three threads on three GPUs.
func chain(a, b, c string) []Launch {
	return []Launch{{Kernel: a}, {Kernel: b, GPU: 1, Words: 1}, {Kernel: c, GPU: 2, Words: 2}}
}
