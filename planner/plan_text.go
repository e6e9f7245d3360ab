package planner

import (
	"fmt"
	"iter"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/abi"
)

// Move is the part of a call that one channel does.
type Move struct {
	Launch  int // index into the plan's launches
	Task    int // index into the group's calls
	Channel int
	// First is where the part begins, Bytes its size, in bytes of what the call
	// counts: of every rank's share in functions whose count is that of one rank.
	First, Bytes int64
	// Work says in which chunks and slices it goes.
	Work *Work
}

// Moves yields what every channel does, in the order of launches, of the works in
// each, and of channels.
func (p *Plan) Moves() iter.Seq[Move] {
	return func(yield func(Move) bool) {
		for i := range p.Launches {
			l := &p.Launches[i]
			for k := range l.Works {
				w := &l.Works[k]
				size := int64(p.Tasks[w.Task].Call.Type.Size())
				for ch := w.ChannelLo; ch <= w.ChannelHi; ch++ {
					first, count := w.Part(ch)
					if !yield(Move{Launch: i, Task: w.Task, Channel: ch, First: first * size, Bytes: count * size, Work: w}) {
						return
					}
				}
			}
		}
	}
}

// InArguments returns how many of the works travel in the kernel's arguments. The
// others lie in a ring of device memory, or, while a graph is captured, in the
// arguments of further launches.
func (l *Launch) InArguments() int { return min(len(l.Works), abi.InlineWorks) }

// String returns the plan for people: each launch with the bytes that each of its
// channels moves of each call.
func (p *Plan) String() string {
	if len(p.Launches) == 0 {
		return "nothing to launch\n"
	}
	var b strings.Builder
	for i := range p.Launches {
		l := &p.Launches[i]
		fmt.Fprintf(&b, "%s: %d x %d threads", l.Variant, l.Channels, l.Threads)
		if n := l.InArguments(); n < len(l.Works) {
			fmt.Fprintf(&b, ", %d works in arguments, %d in the ring", n, len(l.Works)-n)
		}
		b.WriteByte('\n')
		for k := range l.Works {
			w := &l.Works[k]
			fmt.Fprintf(&b, "  call %d: %d threads, %s\n", w.Task, w.Threads, w.chunkText(l.Variant))
			w.write(&b, int64(p.Tasks[w.Task].Call.Type.Size()))
		}
	}
	return b.String()
}

func (w *Work) chunkText(v coll.Variant) string {
	text := fmt.Sprintf("chunks of %d bytes", w.ChunkBytes)
	if v.Proto == coll.Simple && w.ChunkSteps > 1 {
		text += fmt.Sprintf(", up to %d steps in slices of %d", w.ChunkSteps, w.SliceSteps)
	}
	return text
}

// write writes a line for each channel, and one for those between the first and
// the last, which are alike.
func (w *Work) write(b *strings.Builder, size int64) {
	for ch := w.ChannelLo; ch <= w.ChannelHi; {
		last := ch
		if ch > w.ChannelLo && ch < w.ChannelHi {
			last = w.ChannelHi - 1
		}
		first, count := w.Part(ch)
		end := (first+int64(last-ch+1)*count)*size - 1
		if last == ch {
			fmt.Fprintf(b, "    channel %d: bytes %d to %d\n", ch, first*size, end)
		} else {
			fmt.Fprintf(b, "    channels %d-%d: bytes %d to %d, %d each\n", ch, last, first*size, end, count*size)
		}
		ch = last + 1
	}
}
