package nccl

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/runtime/internal/fakedevice"
)

// captures returns what queue queues on streams as graphs: one for each stream,
// or one for all of them, which the first stream begins and ends.
func captures(t testing.TB, streams []device.Stream, one bool, queue func()) []device.Graph {
	t.Helper()
	begun := streams
	if one {
		begun = streams[:1]
	}
	for _, s := range begun {
		require.NoError(t, s.(device.Capturer).BeginCapture())
	}
	joins := make([]device.Event, len(streams))
	for i, s := range streams {
		var err error
		joins[i], err = s.Device().NewEvent()
		require.NoError(t, err)
		defer joins[i].Close()
		if one && i > 0 {
			require.NoError(t, streams[0].Record(joins[0]))
			require.NoError(t, s.Wait(joins[0]))
		}
	}
	queue()
	for i, s := range streams {
		if one && i > 0 {
			require.NoError(t, s.Record(joins[i]))
			require.NoError(t, streams[0].Wait(joins[i]))
		}
	}
	var graphs []device.Graph
	for _, s := range begun {
		g, err := s.(device.Capturer).EndCapture()
		require.NoError(t, err)
		t.Cleanup(func() { _ = g.Close() })
		graphs = append(graphs, g)
	}
	return graphs
}

// replayed is an all-reduce in a graph whose outcome says how often it ran: rank
// 0 takes the sum as its next contribution, so that every replay adds those of
// the others once more.
type replayed struct {
	*job
	graphs []device.Graph
}

func newReplayed(t *testing.T, comms []*Comm, streams []device.Stream, count int, one bool) *replayed {
	r := &replayed{job: newJob(t, comms, streams, coll.Int32, coll.OpSum, count, false)}
	r.graphs = captures(t, streams, one, func() {
		require.NoError(t, Group(r.enqueue))
		require.NoError(t, streams[0].CopyAsync(r.send[0], r.recv[0], r.bytes()))
	})
	return r
}

func (r *replayed) launch(t *testing.T, streams []device.Stream) {
	for i, g := range r.graphs {
		require.NoError(t, g.Launch(streams[i]))
	}
}

// expect makes check expect the outcome after a number of replays.
func (r *replayed) expect(replays int) {
	r.combine(func(x []int32) int32 {
		sum := x[0]
		for _, v := range x[1:] {
			sum += int32(replays) * v
		}
		return sum
	})
}

// TestGraphReplay replays two graphs of one communicator, on changing streams
// that nothing else orders, with eager calls of other sizes between: every replay
// counts, and nothing overlaps.
func TestGraphReplay(t *testing.T) { onEngines(t, testGraphReplay) }

func testGraphReplay(t *testing.T, e engine) {
	replays := 24
	if e.fast {
		replays = 1000
	}
	for _, ranks := range []int{2, 3} {
		for _, proto := range e.protos(t, ranks) {
			for _, one := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d ranks %v one graph %v", ranks, proto, one), func(t *testing.T) {
					cfg := e.config(t, ranks)
					cfg.Protos = []coll.Proto{proto}
					comms := mustInit(t, cfg)
					streams := [][]device.Stream{streamsOf(t, comms), streamsOf(t, comms), streamsOf(t, comms)}
					first := newReplayed(t, comms, streams[0], 700, one)
					second := newReplayed(t, comms, streams[0], 33, one)
					var eager []*job
					for i, count := range []int{1, 300, 2500} {
						eager = append(eager, newJob(t, comms, streams[1+i%2], coll.Float32, coll.OpMax, count, false))
					}
					for i := range replays {
						first.launch(t, streams[i%3])
						if i%4 < 2 {
							require.NoError(t, Group(eager[i%len(eager)].enqueue))
						}
						second.launch(t, streams[i/2%3])
						if i == replays/2 {
							first.check(t, "half way", i+1, streams)
						}
					}
					first.check(t, "first", replays, streams)
					second.check(t, "second", replays, streams)
					for _, j := range eager {
						j.check(t)
					}
					for _, c := range comms {
						require.NoError(t, c.Finalize(soon(t)))
					}
				})
			}
		}
	}
}

// check waits for all streams and compares the outcome of so many replays.
func (r *replayed) check(t *testing.T, what string, replays int, streams [][]device.Stream) {
	t.Helper()
	for _, set := range streams {
		for rank, s := range set {
			require.NoError(t, s.Synchronize(soon(t)), "%s: rank %d", what, rank)
		}
	}
	r.expect(replays)
	r.job.check(t)
}

// TestGraphManyWorks captures more works of one kernel than its parameter holds:
// what a graph reads is its own, so later groups change nothing.
func TestGraphManyWorks(t *testing.T) { onEngines(t, testGraphManyWorks) }

func testGraphManyWorks(t *testing.T, e engine) {
	comms := mustInit(t, e.config(t, 2))
	streams := streamsOf(t, comms)
	many := func(typ coll.DataType) []*job {
		var jobs []*job
		for i := range 120 {
			jobs = append(jobs, newJob(t, comms, streams, typ, coll.OpSum, 1+i%7, false))
		}
		return jobs
	}
	captured, eager := many(coll.Float32), many(coll.Float32)
	all := func(jobs []*job) func(g *Calls) error {
		return func(g *Calls) error {
			for _, j := range jobs {
				if err := j.enqueue(g); err != nil {
					return err
				}
			}
			return nil
		}
	}
	graphs := captures(t, streams, false, func() { require.NoError(t, Group(all(captured))) })
	for range 3 {
		require.NoError(t, Group(all(eager)))
		for i, g := range graphs {
			require.NoError(t, streams[i].MemsetAsync(captured[0].recv[i], 0xee, 4))
			require.NoError(t, g.Launch(streams[i]))
		}
	}
	for i := range captured {
		captured[i].check(t)
		eager[i].check(t)
	}
}

// TestGraphStreams captures a group on several streams, which the capture must
// have joined.
func TestGraphStreams(t *testing.T) { onEngines(t, testGraphStreams) }

func testGraphStreams(t *testing.T, e engine) {
	comms := mustInit(t, e.config(t, 2))
	streams := [][]device.Stream{streamsOf(t, comms), streamsOf(t, comms)}
	jobs := []*job{
		newJob(t, comms, streams[0], coll.Float32, coll.OpSum, 500, false),
		newJob(t, comms, streams[1], coll.Int8, coll.OpMin, 90, false),
	}
	both := func(g *Calls) error {
		if err := jobs[0].enqueue(g); err != nil {
			return err
		}
		return jobs[1].enqueue(g)
	}
	all := append(append([]device.Stream{}, streams[0]...), streams[1]...)
	graph := captures(t, all, true, func() {
		require.NoError(t, Group(both))
		require.NoError(t, Group(jobs[1].enqueue), "another stream of the capture")
		require.NoError(t, Group(jobs[0].enqueue))
	})[0]
	for range 3 {
		require.NoError(t, graph.Launch(all[0]))
	}
	jobs[0].check(t)
	jobs[1].check(t)

	capturer := streams[0][0].(device.Capturer)
	require.NoError(t, capturer.BeginCapture())
	err := Group(both)
	require.ErrorIs(t, err, ErrInvalidUsage)
	require.ErrorContains(t, err, "AllReduce: rank 0: the streams of the group are not all part of one capture")
	_, err = capturer.EndCapture()
	require.NoError(t, err, "nothing was touched")
	require.NoError(t, Group(both))
	jobs[0].check(t)
	jobs[1].check(t)
}

// TestGraphMixing checks the exact calls with and without what keeps graphs and
// other calls in order.
func TestGraphMixing(t *testing.T) {
	for _, test := range []struct {
		name   string
		off    bool
		inside []string
		later  []string
	}{
		{"on", false,
			[]string{"s: begin capture", "gpu 0: new event", "s: wait external", "s: launch", "s: record external", "s: record", "s: launch", "s: record external", "s: record", "s: end capture"},
			[]string{"s: launch graph", "s: wait", "s: launch", "s: done"}},
		{"off", true,
			[]string{"s: begin capture", "gpu 0: new event", "s: launch", "s: record", "s: launch", "s: record", "s: end capture"},
			[]string{"s: launch graph", "s: launch", "s: done"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			driver, cfg := fakes(t, 2)
			cfg.NoGraphMixing = test.off
			c := mustInit(t, cfg)[0]
			s := c.Device().(*fakedevice.Device).NamedStream("s")
			call := func() {
				require.NoError(t, c.AllReduce(someBuffer, someBuffer, 8, coll.Float32, coll.OpSum, s))
			}
			call()
			driver.TakeLog()
			require.NoError(t, s.BeginCapture())
			call()
			call()
			g, err := s.EndCapture()
			require.NoError(t, err)
			require.Equal(t, test.inside, words(driver.TakeLog()))
			require.NoError(t, g.Launch(s))
			call()
			require.Equal(t, test.later, words(driver.TakeLog()))
		})
	}
}

// words returns the lines of a log without what is launched.
func words(log []string) []string {
	for i, line := range log {
		var s, what string
		if n, _ := fmt.Sscanf(line, "%s launch AllReduce%s", &s, &what); n == 2 {
			log[i] = s + " launch"
		}
	}
	return log
}

// TestBrokenCapture refuses a call during a capture that somebody broke, and
// nothing else: the communicator goes on.
func TestBrokenCapture(t *testing.T) {
	driver, cfg := fakes(t, 2)
	c := mustInit(t, cfg)[1]
	s := c.Device().(*fakedevice.Device).NamedStream("s")
	call := func() error {
		return c.AllReduce(someBuffer, someBuffer, 8, coll.Float32, coll.OpSum, s)
	}
	require.NoError(t, s.BeginCapture())
	require.NoError(t, call())
	fakedevice.BreakCapture(s)
	driver.TakeLog()
	err := call()
	require.ErrorIs(t, err, ErrUnhandledCUDA)
	require.EqualError(t, err, "AllReduce: rank 1: ask the stream for its capture: the capture is broken")
	require.Empty(t, driver.TakeLog())
	_, err = s.EndCapture()
	require.NoError(t, err)
	require.NoError(t, c.AsyncError())
	require.NoError(t, call())
	require.NoError(t, s.BeginCapture())
	require.NoError(t, call())
}
