package bench

import (
	"fmt"
	"strings"

	nccl "github.com/ncclgo/ncclgo/runtime"
)

// traceStart prints what was decided before the first operation: the machine as
// the ranks see it, what was odd in its file, and the rings.
func (r *run) traceStart(p *pass) {
	comments(r.out, "topology "+p.comms[0].Topology().String())
	for _, n := range r.m.System.Notes {
		r.out.Comment(n.In(r.m.System.Name))
	}
	comments(r.out, p.comms[0].Graph().String())
	rings, channels := len(p.comms[0].Graph().Channels), p.comms[0].NumChannels()
	r.out.Comment(fmt.Sprintf("communicator: %d channels, %s", channels, share(channels, rings)))
}

// share says how channels use the rings that were found, in turn.
func share(channels, rings int) string {
	switch {
	case channels <= rings:
		return fmt.Sprintf("one for each of the first %d rings", channels)
	case channels%rings == 0:
		return fmt.Sprintf("%d for each of %d rings: channel c uses ring c mod %d", channels/rings, rings, rings)
	default:
		return fmt.Sprintf("%d or %d for each of %d rings: channel c uses ring c mod %d", channels/rings, channels/rings+1, rings, rings)
	}
}

// traceRow prints what was decided for the operation of a row, and what else
// could have been.
func (p *pass) traceRow(k typeOp, count int, launch nccl.LaunchInfo, out Sink) error {
	why, err := p.comms[0].Explain(uint64(count), k.typ, k.op)
	if err != nil {
		return err
	}
	comments(out, why.String())
	if n := min(p.c.Agg, maxGroup); n > 1 {
		choice, err := p.comms[0].ExplainGroup(n, uint64(count), k.typ, k.op)
		if err != nil {
			return err
		}
		out.Comment(fmt.Sprintf("  %d in a group: %v, %.1f µs for all", n, choice.Variant, choice.Time))
	}
	if launch.Kernel != "" {
		out.Comment(fmt.Sprintf("  kernel %s, %d CTAs of %d threads on each GPU", launch.Kernel, launch.Channels, launch.Threads))
	} else {
		out.Comment("  no kernel")
	}
	return nil
}

// comments prints text as comment lines.
func comments(out Sink, text string) {
	for line := range strings.Lines(text) {
		out.Comment(strings.TrimSuffix(line, "\n"))
	}
}
