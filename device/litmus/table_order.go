package litmus

import "github.com/ncclgo/ncclgo/device"

// orderTests are about strong accesses of several threads, each a kernel of its
// own: what fences, releases and acquires of which scope order, and what holds
// without any.
var orderTests = []Test{
	// Message passing. Words: the flag, then the data that a reader saw.
	{
		Name: "mp", File: "mp", Sees: seesFlagData,
		Launches: apart("put_relaxed", "get_relaxed"),
		Rules:    stale("nothing orders the stores or the loads"),
	},
	{
		Name: "mp+volatile", File: "mp", Sees: seesFlagData,
		Launches: apart("put_volatile", "get_volatile"),
		Rules:    stale(".volatile is .relaxed.sys and orders nothing"),
	},
	{
		Name: "mp+release+acquire", File: "mp", Sees: seesFlagData,
		Launches: apart("put_release", "get_acquire"),
		Rules:    ordered("the acquire reads what the release wrote, so the reader's view includes the data"),
	},
	{
		Name: "mp+fence+fence", File: "mp", Sees: seesFlagData,
		Launches: apart("put_fence_sys", "get_fence_sys"),
		Rules:    ordered("a fence before a strong store is a release, a fence behind a strong load an acquire"),
	},
	{
		Name: "mp+release+fence", File: "mp", Sees: seesFlagData,
		Launches: apart("put_release", "get_fence_sys"),
		Rules:    ordered("either form of a release pairs with either form of an acquire"),
	},
	{
		Name: "mp+fence+acquire", File: "mp", Sees: seesFlagData,
		Launches: apart("put_fence_sys", "get_acquire"),
		Rules:    ordered("either form of a release pairs with either form of an acquire"),
	},
	{
		Name: "mp+fence+relaxed", File: "mp", Sees: seesFlagData,
		Launches: apart("put_fence_sys", "get_relaxed"),
		Rules:    stale("the reader acquires nothing"),
	},
	{
		Name: "mp+relaxed+fence", File: "mp", Sees: seesFlagData,
		Launches: apart("put_relaxed", "get_fence_sys"),
		Rules:    stale("the flag releases nothing"),
	},
	{
		Name: "mp+late-fence+fence", File: "mp", Sees: seesFlagData,
		Launches: apart("put_late_fence", "get_fence_sys"),
		Rules:    stale("a fence releases with strong stores behind it, and the flag is before it"),
	},
	{
		Name: "mp+fence+early-fence", File: "mp", Sees: seesFlagData,
		Launches: apart("put_fence_sys", "get_early_fence"),
		Rules:    stale("a fence acquires what was read before it, and the flag is behind it"),
	},
	{
		Name: "mp+fence+address", File: "mp", Sees: seesFlagData,
		Launches: apart("put_fence_sys", "get_address"),
		Rules:    stale("a dependency between two loads acquires nothing"),
	},

	// The same over scopes.
	{
		Name: "mp+fence.gpu+fence.gpu", File: "mp", Sees: seesFlagData,
		Launches: apart("put_fence_gpu", "get_fence_gpu"),
		Rules:    stale("the fences' scope does not include a thread of another GPU"),
	},
	{
		Name: "mp+fence.gpu+fence", File: "mp", Sees: seesFlagData,
		Launches: apart("put_fence_gpu", "get_fence_sys"),
		Rules:    stale("the scope of one side is not enough: the writer's does not include the reader"),
	},
	{
		Name: "mp+fence+fence.gpu", File: "mp", Sees: seesFlagData,
		Launches: apart("put_fence_sys", "get_fence_gpu"),
		Rules:    stale("the scope of one side is not enough: the reader's does not include the writer"),
	},
	{
		Name: "mp+release.gpu+acquire.gpu", File: "mp", Sees: seesFlagData,
		Launches: apart("put_release_gpu", "get_acquire_gpu"),
		Rules:    stale("release and acquire do not include a thread of another GPU"),
	},
	{
		Name: "mp+flag.gpu+fence", File: "mp", Sees: seesFlagData,
		Launches: apart("put_narrow_flag", "get_fence_sys"),
		Rules:    stale("store and load of the flag are not morally strong: the store's scope ends at its GPU"),
	},
	{
		Name: "mp+fence+flag.gpu", File: "mp", Sees: seesFlagData,
		Launches: apart("put_fence_sys", "get_narrow_flag"),
		Rules:    stale("store and load of the flag are not morally strong: the load's scope ends at its GPU"),
	},
	{
		Name: "poll+flag.gpu", File: "mp", Sees: []string{"flag"},
		Launches: []Launch{{Kernel: "put_relaxed"}, {Kernel: "poll_narrow", GPU: 1, Words: 1}},
		Rules: always(
			allow("1", "the flag may be seen"),
			allow(string(device.Stuck), "or never: store and loads are not morally strong")),
	},
	{
		Name: "poll+flag.gpu+1gpu", File: "mp", Sees: []string{"flag"},
		Launches: []Launch{{Kernel: "put_relaxed"}, {Kernel: "poll_narrow", Words: 1}},
		Rules:    always(allow("1", "the newest write is seen within a bounded number of strong reads")),
	},
	{
		Name: "mp+fence.gpu+fence.gpu+1gpu", File: "mp", Sees: seesFlagData,
		Launches: together("put_fence_gpu", "get_fence_gpu"),
		Rules:    ordered("both threads are in the scope"),
	},
	{
		Name: "mp+release.gpu+acquire.gpu+1gpu", File: "mp", Sees: seesFlagData,
		Launches: together("put_release_gpu", "get_acquire_gpu"),
		Rules:    ordered("both threads are in the scope"),
	},
	{
		Name: "mp+flag.gpu+flag.gpu+1gpu", File: "mp", Sees: seesFlagData,
		Launches: together("put_narrow_flag", "get_narrow_flag"),
		Rules:    ordered("both threads are in every scope"),
	},
	{
		Name: "mp+fence.cta+fence.cta+1gpu", File: "mp", Sees: seesFlagData,
		Launches: together("put_fence_cta", "get_fence_cta"),
		Rules:    stale("the fences' scope does not include a thread of another CTA"),
	},
	{
		Name: "mp+fence.cta+fence.cta+1cta", File: "mp", Sees: seesFlagData,
		Launches: []Launch{{Kernel: "cta_fence_cta", Threads: 64, Words: 2}},
		Rules:    ordered("both threads are in the scope"),
	},
	{
		Name: "mp+1warp", File: "mp", Sees: seesFlagData,
		Launches: []Launch{{Kernel: "warp_relaxed", Threads: 32, Words: 2}},
		Rules:    stale("lanes of one warp are threads like others; lock-step orders nothing"),
	},

	// Message passing of plain data. Word: the data.
	{
		Name: "mp-plain+fence+fence", File: "mp_plain", Sees: []string{"data"},
		Launches: []Launch{{Kernel: "put_plain_fence"}, {Kernel: "poll_plain_fence", GPU: 1, Words: 1}},
		Rules:    always(allow("1", "the write happens before the read, and a plain read returns the newest such write")),
	},
	{
		Name: "mp-plain+release+acquire", File: "mp_plain", Sees: []string{"data"},
		Launches: []Launch{{Kernel: "put_plain_release"}, {Kernel: "poll_plain_acquire", GPU: 1, Words: 1}},
		Rules:    always(allow("1", "the write happens before the read")),
	},
	{
		Name: "mp-plain+relaxed+fence", File: "mp_plain", Sees: []string{"data"},
		Launches: []Launch{{Kernel: "put_plain_relaxed"}, {Kernel: "poll_plain_fence", GPU: 1, Words: 1}},
		Rules:    race("the flag released nothing", "1"),
	},
	{
		Name: "mp-plain+fence+relaxed", File: "mp_plain", Sees: []string{"data"},
		Launches: []Launch{{Kernel: "put_plain_fence"}, {Kernel: "poll_plain_relaxed", GPU: 1, Words: 1}},
		Rules:    race("the reader acquired nothing", "1"),
	},
	{
		Name: "mp-plain+fence.gpu+fence", File: "mp_plain", Sees: []string{"data"},
		Launches: []Launch{{Kernel: "put_plain_fence_gpu"}, {Kernel: "poll_plain_fence", GPU: 1, Words: 1}},
		Rules:    race("the writer's fence does not reach the reader's GPU", "1"),
	},
	{
		Name: "mp-plain+fence.gpu+fence+1gpu", File: "mp_plain", Sees: []string{"data"},
		Launches: []Launch{{Kernel: "put_plain_fence_gpu"}, {Kernel: "poll_plain_fence", Words: 1}},
		Rules:    always(allow("1", "the write happens before the read")),
	},

	// Store buffering. Words: what each thread saw of the other's location.
	{
		Name: "sb", File: "sb", Sees: seesTwo,
		Launches: crossed("relaxed", "relaxed"),
		Rules:    always(allow("? ?", "a store enters the own view only; the other thread may see it later")),
	},
	{
		Name: "sb+acq_rel+acq_rel", File: "sb", Sees: seesTwo,
		Launches: crossed("acq_rel", "acq_rel"),
		Rules:    always(allow("? ?", "fence.acq_rel does not order a store with a later load")),
	},
	{
		Name: "sb+release+acquire", File: "sb", Sees: seesTwo,
		Launches: crossed("release_acquire", "release_acquire"),
		Rules:    always(allow("? ?", "nobody reads a release that it could acquire")),
	},
	{
		Name: "sb+sc+sc", File: "sb", Sees: seesTwo,
		Launches: crossed("sc", "sc"),
		Rules: always(
			forbid("0 0", "one fence.sc comes first, and the other joins its view"),
			allow("? ?", "either thread may be first, or both stores")),
	},
	{
		Name: "sb+membar+membar", File: "sb", Sees: seesTwo,
		Launches: crossed("membar", "membar"),
		Rules: always(
			forbid("0 0", "membar.sys is fence.sc.sys"),
			allow("? ?", "either thread may be first, or both stores")),
	},
	{
		Name: "sb+sc+acq_rel", File: "sb", Sees: seesTwo,
		Launches: crossed("sc", "acq_rel"),
		Rules:    always(allow("? ?", "one fence.sc has no other to be ordered with")),
	},
	{
		Name: "sb+sc.gpu+sc.gpu", File: "sb", Sees: seesTwo,
		Launches: crossed("sc_gpu", "sc_gpu"),
		Rules:    always(allow("? ?", "the fences are not morally strong: their scope ends at the GPU")),
	},

	// Load buffering. Words: what each thread loaded.
	{
		Name: "lb", File: "lb", Sees: seesTwo,
		Launches: crossed("relaxed", "relaxed"),
		Rules:    always(allow("? ?", "a load takes its value between its issue and the first use of it, which is behind the store")),
	},
	{
		Name: "lb+data+data", File: "lb", Sees: seesTwo,
		Launches: crossed("data", "data"),
		Rules: always(
			forbid("1 1", "each store needs its thread's load, which is a use"),
			allow("? ?", "at most one load is behind the other's store")),
	},
	{
		Name: "lb+control+control", File: "lb", Sees: seesTwo,
		Launches: crossed("control", "control"),
		Rules: always(
			forbid("1 1", "stores are not speculated: the branch uses what was loaded"),
			allow("? ?", "at most one load is behind the other's store")),
	},
	{
		Name: "lb+relaxed+data", File: "lb", Sees: seesTwo,
		Launches: crossed("relaxed", "data"),
		Rules:    always(allow("? ?", "one load without a use may still wait for the other thread's store")),
	},
	{
		Name: "lb+fence+fence", File: "lb", Sees: seesTwo,
		Launches: crossed("fence", "fence"),
		Rules: always(
			forbid("1 1", "a fence ends the loads before it"),
			allow("? ?", "at most one load is behind the other's store")),
	},
	{
		Name: "lb+acquire+acquire", File: "lb", Sees: seesTwo,
		Launches: crossed("acquire", "acquire"),
		Rules: always(
			forbid("1 1", "an acquire takes its value before anything behind it"),
			allow("? ?", "at most one load is behind the other's store")),
	},
	{
		Name: "lb+release+release", File: "lb", Sees: seesTwo,
		Launches: crossed("release", "release"),
		Rules: always(
			forbid("1 1", "a release ends the loads before it"),
			allow("? ?", "at most one load is behind the other's store")),
	},

	// Independent reads of independent writes. Words: what one reader saw of x,
	// then of y, and what the other saw of y, then of x.
	{
		Name: "iriw+acquire+acquire", File: "iriw", Sees: seesIRIW,
		Launches: independent("acquire"),
		Rules:    always(allow("? ? ? ?", "acquires order no two writers; the readers may disagree about who was first")),
	},
	{
		Name: "iriw+acq_rel+acq_rel", File: "iriw", Sees: seesIRIW,
		Launches: independent("acq_rel"),
		Rules:    always(allow("? ? ? ?", "the fences acquire, and nothing was released")),
	},
	{
		Name: "iriw+sc+sc", File: "iriw", Sees: seesIRIW,
		Launches: independent("sc"),
		Rules: always(
			forbid("1 0 1 0", "one fence.sc comes first; the other's thread then knows the write that was read before it"),
			allow("? ? ? ?", "every other result has an order of the writes")),
	},
}
