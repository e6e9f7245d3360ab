package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/ncclgo/ncclgo/internal/jsondoc"
	"github.com/ncclgo/ncclgo/planner"
)

// P2PScheduleVersion is the version of the JSON document of nccl-run p2p-schedule.
const P2PScheduleVersion = 1

const p2pScheduleFormat = "ncclgo p2p-schedule"

// P2PSchedule is the order in which ranks send to and receive from one another, in
// the form of the JSON document of docs/FORMATS.md.
type P2PSchedule struct {
	Format     string `json:"format"` // always p2pScheduleFormat
	Version    int    `json:"version"`
	LocalRanks []int  `json:"localRanks"` // of each node; ranks are in order
	GroupSize  int    `json:"groupSize"`
	// Sched[rank][round] is whom it sends to and receives from.
	Sched [][][2]int `json:"sched"`
}

// WriteP2PSchedule writes the document of a schedule over nodes of so many ranks,
// rank by rank: that of many ranks is large.
func WriteP2PSchedule(w io.Writer, localRanks []int, s *planner.P2PSchedule) error {
	head, err := json.Marshal(P2PSchedule{
		Format: p2pScheduleFormat, Version: P2PScheduleVersion,
		LocalRanks: localRanks, GroupSize: s.GroupSize(), Sched: [][][2]int{},
	})
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	// Errors of a bufio.Writer stay until Flush.
	b.Write(head[:len(head)-len("]}")])
	row := make([][2]int, s.NRanks())
	for rank := range row {
		for round := range row {
			r := s.Round(rank, round)
			row[round] = [2]int{r.Send, r.Recv}
		}
		text, err := json.Marshal(row)
		if err != nil {
			return err
		}
		if rank > 0 {
			b.WriteByte(',')
		}
		b.Write(text)
	}
	b.WriteString("]}\n")
	return b.Flush()
}

// P2PScheduleText writes a schedule for people: a line for each rank.
func P2PScheduleText(w io.Writer, localRanks []int, s *planner.P2PSchedule) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "ranks: %d, nodes: %d, ranks of a group: %d\neach round: sends to, receives from\n", s.NRanks(), len(localRanks), s.GroupSize())
	for rank := range s.NRanks() {
		fmt.Fprintf(b, "rank %d:", rank)
		for round := range s.NRanks() {
			r := s.Round(rank, round)
			fmt.Fprintf(b, " %d,%d", r.Send, r.Recv)
		}
		b.WriteByte('\n')
	}
	return b.Flush()
}

// DecodeP2PSchedule reads a document that WriteP2PSchedule wrote. Other formats and
// versions, and unknown fields, are errors.
func DecodeP2PSchedule(r io.Reader) (*P2PSchedule, error) {
	d := new(P2PSchedule)
	err := jsondoc.Decode(r, jsondoc.Limit, d)
	if err == nil {
		err = jsondoc.Check(d.Format, d.Version, p2pScheduleFormat, P2PScheduleVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("document of nccl-run p2p-schedule: %w", err)
	}
	return d, nil
}
