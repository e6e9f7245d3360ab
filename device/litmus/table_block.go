package litmus

// blockTests are about the threads of a CTA: barriers, warps, and the pattern of
// plain data and a credit that the Simple protocol is made of.
var blockTests = []Test{
	// Message passing by CTAs. Word: whether all threads saw the data.
	{
		Name: "barrier+barrier", File: "barrier", Sees: seesRight,
		Launches: blocks("write", "read"),
		Rules:    always(allow("1", "stores, barrier, fence and flag; flag, fence, barrier and loads: each orders the next")),
	},
	{
		Name: "barrier-gpu+barrier", File: "barrier", Sees: seesRight,
		Launches: blocks("write_gpu", "read"),
		Rules:    race("the writer's fence does not reach the reader's GPU", "?"),
	},
	{
		Name: "barrier-gpu+barrier+1gpu", File: "barrier", Sees: seesRight,
		Launches: []Launch{{Kernel: "write_gpu", Threads: 64}, {Kernel: "read", Threads: 64, Words: 1}},
		Rules:    always(allow("1", "within one GPU it does")),
	},
	{
		Name: "no-fence+barrier", File: "barrier", Sees: seesRight,
		Launches: blocks("write_no_fence", "read"),
		Rules:    race("the flag releases nothing; a barrier orders the threads of its CTA", "?"),
	},
	{
		Name: "no-barrier+barrier", File: "barrier", Sees: seesRight,
		Launches: blocks("write_no_barrier", "read"),
		Rules:    race("the flag does not wait for the other threads' stores", "?"),
	},
	{
		Name: "barrier+no-fence", File: "barrier", Sees: seesRight,
		Launches: blocks("write", "read_no_fence"),
		Rules:    race("the thread that saw the flag acquired nothing", "?"),
	},
	{
		Name: "barrier+no-barrier", File: "barrier", Sees: seesRight,
		Launches: blocks("write", "read_no_barrier"),
		Rules:    race("the other threads do not wait for the one that saw the flag", "?"),
	},
	{
		Name: "fence-first+barrier", File: "barrier", Sees: seesRight,
		Launches: blocks("write_fence_first", "read"),
		Rules:    race("the flag's thread has not yet heard of the others' stores at its fence", "?"),
	},

	// A credit. Words: what the receiver read.
	{
		Name: "credit+barrier", File: "credit", Sees: []string{"v0", "v1"},
		Launches: []Launch{{Kernel: "receive_barrier", Threads: 64, Words: 2}, {Kernel: "send_plain", GPU: 1, Threads: 64}},
		Rules: always(
			forbid("2 *", "a barrier ends loads; stores behind the credit are not speculated"),
			forbid("* 2", "a barrier ends loads; stores behind the credit are not speculated"),
			forbid(raced, "a relaxed credit behind a barrier is enough: the loads are done"),
			allow("0 0", "all loads came before the credit")),
	},
	{
		Name: "credit-no-barrier", File: "credit", Sees: []string{"v0", "v1"},
		Launches: []Launch{{Kernel: "receive_no_barrier", Threads: 64, Words: 2}, {Kernel: "send_plain", GPU: 1, Threads: 64}},
		Rules:    race("the credit does not wait for the other threads' loads", "* *"),
	},
	{
		Name: "credit-unused", File: "credit", Sees: []string{"v"},
		Launches: []Launch{{Kernel: "receive_unused", Words: 1}, {Kernel: "send_strong", GPU: 1}},
		Rules: always(
			allow("2", "nothing ended the load before the credit: it may take its value later"),
			allow("0", "it took it at once")),
	},
	{
		Name: "credit-used", File: "credit", Sees: []string{"v"},
		Launches: []Launch{{Kernel: "receive_used", Words: 1}, {Kernel: "send_strong", GPU: 1}},
		Rules: always(
			forbid("2", "the use ends the load, and the credit is behind it"),
			allow("0", "the old data")),
	},
	{
		Name: "credit-release", File: "credit", Sees: []string{"v"},
		Launches: []Launch{{Kernel: "receive_release", Words: 1}, {Kernel: "send_strong", GPU: 1}},
		Rules: always(
			forbid("2", "a release ends the loads before it"),
			allow("0", "the old data")),
	},

	// Barriers that only some wait for. Word: the data.
	{
		Name: "arrive", File: "arrive", Sees: seesData,
		Launches: []Launch{{Kernel: "arrive_first", Threads: 64, Words: 1}},
		Rules:    always(allow("1", "who waits learns what those who arrived did before")),
	},
	{
		Name: "arrive-backwards", File: "arrive", Sees: seesData,
		Launches: []Launch{{Kernel: "wait_first", Threads: 64, Words: 1}},
		Rules:    race("bar.arrive contributes, and learns nothing", "?"),
	},
	{
		Name: "named-part", File: "named", Sees: seesData,
		Launches: []Launch{{Kernel: "part", Threads: 96, Words: 1}},
		Rules:    race("the reader is not one of the barrier's threads", "?"),
	},
	{
		Name: "named-relay", File: "named", Sees: seesData,
		Launches: []Launch{{Kernel: "relay", Threads: 96, Words: 1}},
		Rules:    always(allow("1", "the warp between passes on what it has learned")),
	},
	{
		Name: "named-gone", File: "named", Sees: seesData,
		Launches: []Launch{{Kernel: "gone", Threads: 96, Words: 1}},
		Rules:    race("a thread that exits arrives at no barrier", "?"),
	},

	// Lanes of a warp. Word: the data.
	{
		Name: "warp-barrier", File: "warp", Sees: seesData,
		Launches: lanes("barrier"),
		Rules:    always(allow("1", "bar.warp.sync joins the views of the named lanes")),
	},
	{
		Name: "warp-barrier-other-lanes", File: "warp", Sees: seesData,
		Launches: lanes("other_lanes"),
		Rules:    race("the reading lane is not one of the barrier's", "?"),
	},
	{
		Name: "warp-lock-step", File: "warp", Sees: seesData,
		Launches: lanes("nothing"),
		Rules:    race("lock-step orders nothing", "?"),
	},
	{
		Name: "warp-vote", File: "warp", Sees: seesData,
		Launches: lanes("vote"),
		Rules:    race("a vote orders no memory", "?"),
	},
	{
		Name: "warp-shuffle", File: "warp", Sees: seesData,
		Launches: lanes("shuffle"),
		Rules:    race("a shuffle orders no memory", "?"),
	},
	{
		Name: "warp-match", File: "warp", Sees: seesData,
		Launches: lanes("match"),
		Rules:    race("a match orders no memory", "?"),
	},

	// Message passing by warps. Word: the data.
	{
		Name: "lanes-barrier+barrier", File: "lanes", Sees: seesData,
		Launches: warps("put_barrier", "get_barrier"),
		Rules:    always(allow("1", "data, bar.warp.sync, fence and flag; flag, fence, bar.warp.sync and load: each orders the next")),
	},
	{
		Name: "lanes-vote+barrier", File: "lanes", Sees: seesData,
		Launches: warps("put_vote", "get_barrier"),
		Rules:    race("the flag's lane has not heard of the other's store", "?"),
	},
	{
		Name: "lanes-barrier+shuffle", File: "lanes", Sees: seesData,
		Launches: warps("put_barrier", "get_shuffle"),
		Rules:    race("the reading lane has not heard of what the other acquired", "?"),
	},
}

var (
	seesRight = []string{"right"}
	seesData  = []string{"data"}
)

// blocks runs a writer's CTA on GPU 0 and a reader's on GPU 1, two warps each.
func blocks(writer, reader string) []Launch {
	return []Launch{{Kernel: writer, Threads: 64}, {Kernel: reader, GPU: 1, Threads: 64, Words: 1}}
}

// warps runs a writer's warp on GPU 0 and a reader's on GPU 1.
func warps(writer, reader string) []Launch {
	return []Launch{{Kernel: writer, Threads: 32}, {Kernel: reader, GPU: 1, Threads: 32, Words: 1}}
}

// lanes runs one warp.
func lanes(kernel string) []Launch {
	return []Launch{{Kernel: kernel, Threads: 32, Words: 1}}
}
