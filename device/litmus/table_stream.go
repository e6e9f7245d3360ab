package litmus

// streamTests are about kernels one after another, the host, and memory that is
// read as .nc.
var streamTests = []Test{
	// Kernel boundaries. Word: the data.
	{
		Name: "stream", File: "boundary", Sees: seesData,
		Launches: after("write", "read", 0, SameStream),
		Rules:    always(allow("1", "a kernel's end releases at sys scope, and the next one of the stream joins that")),
	},
	{
		Name: "stream-strong", File: "boundary", Sees: seesData,
		Launches: after("write_strong", "read_strong", 0, SameStream),
		Rules: always(
			forbid("0", "the write is in the view with which the kernel starts"),
			allow("1", "the write")),
	},
	{
		Name: "event", File: "boundary", Sees: seesData,
		Launches: after("write", "read", 1, ByEvent),
		Rules:    always(allow("1", "an event carries the view of its stream to who waits for it, on any GPU")),
	},
	{
		Name: "event-strong", File: "boundary", Sees: seesData,
		Launches: after("write_strong", "read_strong", 1, ByEvent),
		Rules: always(
			forbid("0", "the write is in the view with which the kernel starts"),
			allow("1", "the write")),
	},
	{
		Name: "streams", File: "boundary", Sees: seesData,
		Launches: after("write", "read", 0, Unordered),
		Rules:    race("nothing orders kernels of two streams, even if one of them ended first", "?"),
	},
	{
		Name: "streams-strong", File: "boundary", Sees: seesData,
		Launches: after("write_strong", "read_strong", 0, Unordered),
		Rules:    always(allow("?", "strong accesses do not race, and nothing orders these")),
	},
	{
		Name: "streams-write", File: "boundary", Sees: []string{"x"}, Final: []string{"x"},
		Launches: []Launch{{Kernel: "write"}, {Kernel: "write_strong"}},
		Rules:    race("a plain write conflicts with a strong one as well", "1"),
	},

	// The host.
	{
		Name: "host-before", File: "host", Sees: seesData, X: Host,
		Before:   []Store{{"x", 1}},
		Launches: []Launch{{Kernel: "read", Words: 1}},
		Rules:    always(allow("1", "a kernel's start joins the view of the host")),
	},
	{
		Name: "host-during", File: "host", Sees: seesData, X: Host,
		During:   []Store{{"x", 1}},
		Launches: []Launch{{Kernel: "poll", Words: 1}},
		Rules:    always(allow("1", "the newest write is seen within a bounded number of strong reads")),
	},
	{
		Name: "host-twice", File: "host", Sees: seesTwo, X: Host,
		During:   []Store{{"x", 1}, {"x", 2}},
		Launches: []Launch{{Kernel: "poll_two", Words: 2}},
		Rules: always(
			forbid("2 1", "no thread goes back, whoever wrote"),
			allow("1 1", "the first store"),
			allow("1 2", "the first store, then the second"),
			allow("2 2", "the second store")),
	},
	{
		Name: "host-flag", File: "host", Sees: seesData, X: Host, Y: Host,
		During:   []Store{{"x", 1}, {"y", 1}},
		Launches: []Launch{{Kernel: "poll_data", Words: 1}},
		Rules: always(
			forbid("0", "the host's stores are atomic ones of its language, which release"),
			allow("1", "the data")),
	},
	{
		Name: "host-flag-relaxed", File: "host", Sees: seesData, X: Host, Y: Host,
		During:   []Store{{"x", 1}, {"y", 1}},
		Launches: []Launch{{Kernel: "poll_data_relaxed", Words: 1}},
		Rules:    always(allow("?", "the reader acquires nothing")),
	},
	{
		Name: "host-after", File: "host", Sees: []string{"x"}, X: Host, Final: []string{"x"},
		Launches: []Launch{{Kernel: "write"}},
		Rules:    always(allow("1", "a host that waited for the stream has its view")),
	},

	// Memory read as .nc. Word: the data.
	{
		Name: "nc-write-first", File: "nc", Sees: seesData,
		Launches: []Launch{{Kernel: "write_then_read", Threads: 64, Words: 1}},
		Rules:    always(allow(raced, "written by the kernel that reads it as .nc; the barrier orders the two and changes nothing")),
	},
	{
		Name: "nc-read-first", File: "nc", Sees: seesData,
		Launches: []Launch{{Kernel: "read_then_write", Threads: 64, Words: 1}},
		Rules:    always(allow(raced, "written by the kernel that has read it as .nc")),
	},
	{
		Name: "nc-before", File: "nc", Sees: seesData,
		Launches: after("write", "read", 0, SameStream),
		Rules:    always(allow("1", "written by an earlier kernel, not while this one runs")),
	},
}

// after runs a writer on GPU 0 and a reader on the given GPU, ordered behind it.
func after(writer, reader string, gpu int, order Order) []Launch {
	return []Launch{{Kernel: writer}, {Kernel: reader, GPU: gpu, Words: 1, After: order}}
}
