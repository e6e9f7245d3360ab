package planner

import (
	"cmp"
	"slices"

	"github.com/ncclgo/ncclgo/coll"
)

// Task is a call with the choice that was made for it.
type Task struct {
	Call   Call
	Choice Choice
}

// Plan is what a group launches, in order.
type Plan struct {
	Tasks    []Task // the group's
	Launches []Launch
}

// Launch is one kernel launch: all calls of a group that one kernel does.
type Launch struct {
	Variant  coll.Variant
	Channels int // CTAs: CTA i serves channel i
	Threads  int // of each CTA
	Works    []Work
}

// Work is a call as a kernel sees it. Channels ChannelLo to ChannelHi share its
// elements in order: the first takes CountLo, the last CountHi, those between
// CountMid each; if there is one channel it takes CountLo and the others are 0.
// Every part but the last ends at a multiple of 16 bytes from the start.
type Work struct {
	Task                       int // index into the tasks of the group
	ChannelLo, ChannelHi       int
	CountLo, CountMid, CountHi int64 // elements
	Threads                    int   // that move data, at most the launch's
	// ChunkBytes is what a channel moves from one rank to the next at a time, a
	// multiple of 16. It takes ChunkSteps slots of a connection's FIFO, and goes in
	// slices of SliceSteps slots each.
	ChunkBytes             int
	ChunkSteps, SliceSteps int
}

// Part returns the elements of a channel, ChannelLo <= channel <= ChannelHi.
func (w *Work) Part(channel int) (first, count int64) {
	switch mid := int64(channel - w.ChannelLo - 1); {
	case channel == w.ChannelLo:
		return 0, w.CountLo
	case channel == w.ChannelHi:
		return w.CountLo + mid*w.CountMid, w.CountHi
	default:
		return w.CountLo + mid*w.CountMid, w.CountMid
	}
}

// Plan turns the calls of a group into launches: one for each variant, that of the
// call with the most traffic first, in the order of the calls among equals. In a
// launch the works are in that order too, and fill the channels one after the other
// so that each carries about the same traffic. Calls of no elements are in no
// launch.
func (m *Model) Plan(tasks []Task) Plan {
	plan := Plan{Tasks: tasks}
	order := make([]int, 0, len(tasks))
	for i := range tasks {
		if tasks[i].Call.Count > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(m.callTraffic(tasks[b].Call), m.callTraffic(tasks[a].Call))
	})
	for len(order) > 0 {
		v := tasks[order[0]].Choice.Variant
		n := toFront(order, func(task int) bool { return tasks[task].Choice.Variant == v })
		plan.Launches = append(plan.Launches, m.launch(v, tasks, order[:n]))
		order = order[n:]
	}
	return plan
}

// toFront moves those that belong to the front, in the order they are in, as the
// others stay in theirs, and returns their number.
func toFront(order []int, belongs func(int) bool) int {
	var others []int
	n := 0
	for _, i := range order {
		if belongs(i) {
			order[n] = i
			n++
		} else {
			others = append(others, i)
		}
	}
	copy(order[n:], others)
	return n
}

// minTraffic is what makes it worth to use another channel, bytes
// (MinTrafficPerChannel, NCCL v2.30 src/enqueue.cc).
const minTraffic = 32 << 10

// cellsPerShare is how many cells each channel's share has at least in a call that
// has several channels to itself, unless they would be less than 16 bytes: shares
// differ by a cell.
const cellsPerShare = 32

// trafficPerByte returns the bytes that a channel moves for each byte of what a
// call counts (ncclFuncTrafficPerByte, NCCL v2.30 src/enqueue.cc).
func (m *Model) trafficPerByte(f coll.Func) int64 {
	switch f {
	case coll.AllReduce:
		return 2
	case coll.AllGather, coll.AllGatherV, coll.ReduceScatter:
		return int64(m.nranks)
	}
	return 1
}

// callTraffic returns the bytes that a call moves.
func (m *Model) callTraffic(c Call) int64 {
	return c.Count * int64(c.Type.Size()) * m.trafficPerByte(c.Func)
}

// llTraffic is what NCCL multiplies the traffic of LL by: it moves flags too, and
// slowly.
const llTraffic = 4

// job is a task being split. A cell is the least that a channel gets.
type job struct {
	task      int
	count     int64 // elements
	cell      int64 // elements of a cell, a multiple of 16 bytes
	cells     int64
	cellBytes int64 // traffic of a cell
}

// launch splits the tasks of one variant over the channels.
func (m *Model) launch(v coll.Variant, tasks []Task, ids []int) Launch {
	l := Launch{Variant: v, Works: make([]Work, 0, len(ids))}
	traffic := m.trafficPerByte(v.Func)
	if v.Proto == coll.LL {
		traffic *= llTraffic
	}
	chunkSteps, sliceSteps := m.limits.steps(v)
	// Parts of several calls follow one another on a channel, and each takes its
	// time however small it is: those have no smaller cells than NCCL's.
	alone := len(ids) == 1 || m.apart(v)
	jobs := make([]job, len(ids))
	channels, total := 0, int64(0)
	for k, i := range ids {
		t := &tasks[i]
		size := int64(t.Call.Type.Size())
		bytes := t.Call.Count * size
		cell := roundUp(ceilDiv(minTraffic, traffic), chunkAlign)
		if n := int64(t.Choice.Channels); n > 1 && alone {
			// Small enough that all of them get about the same.
			cell = min(cell, roundUp(ceilDiv(bytes, cellsPerShare*n), chunkAlign))
		}
		jobs[k] = job{
			task: i, count: t.Call.Count,
			cell: cell / size, cells: ceilDiv(bytes, cell), cellBytes: cell * traffic,
		}
		total += jobs[k].cells * jobs[k].cellBytes
		channels += t.Choice.Channels
		l.Threads = max(l.Threads, t.Choice.Threads)
	}
	most := m.channelsOf(v)
	f := filler{channels: min(channels, most)}
	f.share = ceilDiv(total, int64(f.channels))
	for k := range jobs {
		t := &tasks[jobs[k].task]
		if m.apart(v) {
			// Its heads take turns with the network: channels are all alike.
			f = filler{channels: min(t.Choice.Channels, most)}
			f.share = ceilDiv(jobs[k].cells*jobs[k].cellBytes, int64(f.channels))
		}
		w := f.place(&jobs[k])
		w.Threads = t.Choice.Threads
		w.ChunkBytes = m.chunk(v, max(w.CountLo, w.CountMid, w.CountHi)*int64(t.Call.Type.Size()))
		w.ChunkSteps, w.SliceSteps = chunkSteps, sliceSteps
		l.Works = append(l.Works, w)
		l.Channels = max(l.Channels, w.ChannelHi+1)
	}
	return l
}

// channelsOf returns the most channels of a launch.
func (m *Model) channelsOf(v coll.Variant) int {
	switch v.Algo {
	case coll.NVLS, coll.NVLSTree:
		return m.nvlsChannels
	}
	return m.channels
}

// apart reports whether every call of a variant takes its channels from the first
// on, whatever else is on them: those that reduce in the network (isCollnet, NCCL
// v2.30 src/enqueue.cc).
func (m *Model) apart(v coll.Variant) bool {
	switch v.Algo {
	case coll.CollNetDirect, coll.CollNetChain:
		return true
	case coll.NVLS:
		return m.facts.NNodes > 1
	}
	return false
}

// filler fills channels one after the other.
type filler struct {
	channels int
	share    int64 // traffic of each channel, bytes
	channel  int   // the one being filled
	used     int64 // its traffic so far
}

// place gives a job to channels from the one being filled on: what is left of
// that one, full shares of the next, the rest of the last.
func (f *filler) place(j *job) Work {
	w := Work{Task: j.task, ChannelLo: f.channel, ChannelHi: f.channel}
	lo := j.cells
	if f.channel < f.channels-1 {
		lo = min(lo, max(1, ceilDiv(f.share-f.used, j.cellBytes)))
	}
	rest := j.cells - lo
	if rest == 0 {
		w.CountLo = j.count
		f.used += lo * j.cellBytes
	} else {
		// The channels so far have no less than their share each, so those left are
		// enough.
		full := min(rest, max(1, ceilDiv(f.share, j.cellBytes)))
		after := ceilDiv(rest, full)
		hi := rest - (after-1)*full
		w.ChannelHi += int(after)
		w.CountLo = lo * j.cell
		if after > 1 {
			w.CountMid = full * j.cell
		}
		w.CountHi = j.count - w.CountLo - (after-1)*w.CountMid
		f.channel = w.ChannelHi
		f.used = hi * j.cellBytes
	}
	if f.used >= f.share && f.channel < f.channels-1 {
		f.channel++
		f.used = 0
	}
	return w
}
