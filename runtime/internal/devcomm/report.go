package devcomm

import (
	"fmt"

	"github.com/ncclgo/ncclgo/internal/abi"
)

// Wait is what a channel waited for.
type Wait uint32

const (
	// Data: that a peer sends.
	Data Wait = abi.ReportData
	// Credit: that a peer frees a slot.
	Credit Wait = abi.ReportCredit
)

// String returns the wait in words, to be followed by a rank.
func (w Wait) String() string {
	switch w {
	case Data:
		return "data from"
	case Credit:
		return "credit from"
	}
	return fmt.Sprintf("Wait(%d)", uint32(w))
}

// Report says where a channel of a rank was when an abort made it leave.
type Report struct {
	Rank    int
	Channel int
	Wait    Wait
	Peer    int    // rank waited for
	Step    uint64 // step of the connection
	Op      uint64 // number of the call: abi.Work.Op
}

// String returns the report in words ("rank 3 ch 1: op 7 waited for data from 2
// at step 12").
func (r Report) String() string {
	return fmt.Sprintf("rank %d ch %d: op %d waited for %s %d at step %d", r.Rank, r.Channel, r.Op, r.Wait, r.Peer, r.Step)
}

// reportOffset returns where a channel's report lies in a rank's host memory.
// The abort flag has the first line for itself: it is polled.
func reportOffset(ch int) int64 { return counterBytes + int64(ch)*Size(abi.Report{}) }

// Abort makes every kernel of the communicator leave at its next wait. The
// communicator is then dead: it can only be asked for Reports and closed.
func (c *Comms) Abort() {
	for _, r := range c.ranks {
		r.host.Store32(0, 1)
	}
}

// Reports returns where the channels of all ranks were when they left, by rank
// and channel; those that did not leave early are absent. Call it when the
// kernels have ended.
func (c *Comms) Reports() ([]Report, error) {
	var reports []Report
	for _, r := range c.ranks {
		for ch := range r.table.channels {
			raw := make([]byte, 0, Size(abi.Report{}))
			for off := int64(0); off < Size(abi.Report{}); off += 4 {
				raw = Append(raw, r.host.Load32(reportOffset(ch)+off))
			}
			var a abi.Report
			if err := Decode(raw, &a); err != nil {
				return nil, err
			}
			if a.State != abi.ReportNone {
				reports = append(reports, Report{r.rank, ch, Wait(a.State), int(a.Peer), a.Step, a.Op})
			}
		}
	}
	return reports, nil
}
