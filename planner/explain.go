package planner

import (
	"fmt"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
)

// Alternative is a way of doing a call.
type Alternative struct {
	Algo   coll.Algo
	Proto  coll.Proto
	Time   float32 // predicted, µs; -1 if it is out
	Reason string  // why it is out; "" if it is not
}

// Explanation is a choice with everything it was made from.
type Explanation struct {
	Call   Call
	NRanks int
	Choice Choice
	// Alternatives has every algorithm with every protocol, in the order of
	// package coll.
	Alternatives []Alternative
}

// Explain returns what Choose returns and why.
func (m *Model) Explain(c Call, o Options) (*Explanation, error) {
	choice, err := m.Choose(c, o)
	if err != nil {
		return nil, err
	}
	e := &Explanation{Call: c, NRanks: m.nranks, Choice: choice}
	for a := range coll.Algo(coll.NumAlgos) {
		for p := range coll.Proto(coll.NumProtos) {
			alt := Alternative{Algo: a, Proto: p, Time: -1}
			alt.Reason, _ = m.reason(c, o, a, p)
			if alt.Reason == "" {
				alt.Time = m.callTime(c, a, p, choice.Bytes, 1)
			}
			e.Alternatives = append(e.Alternatives, alt)
		}
	}
	return e, nil
}

// String returns the explanation for people: the choice on a line, then what
// it was chosen from. Protocols of an algorithm that are out for one reason
// share a line.
func (e *Explanation) String() string {
	var b strings.Builder
	b.WriteString(e.Call.Func.String())
	if e.Call.Func.Reduces() {
		fmt.Fprintf(&b, " %s", e.Call.Op)
	}
	fmt.Fprintf(&b, " %s, %d bytes, %d ranks: %s\n", e.Call.Type, e.Choice.Bytes, e.NRanks, e.Choice)
	for alts := e.Alternatives; len(alts) > 0; {
		same := 1
		for same < len(alts) && alts[0].Reason != "" && alts[same].Algo == alts[0].Algo && alts[same].Reason == alts[0].Reason {
			same++
		}
		protos := make([]string, same)
		for i := range protos {
			protos[i] = alts[i].Proto.String()
		}
		verdict := alts[0].Reason
		if verdict == "" {
			verdict = fmt.Sprintf("%.1f µs", alts[0].Time)
		}
		fmt.Fprintf(&b, "  %-13s %-16s %s\n", alts[0].Algo, strings.Join(protos, " "), verdict)
		alts = alts[same:]
	}
	return b.String()
}

// String returns the choice on one line.
func (c Choice) String() string {
	return fmt.Sprintf("%s, %d x %d threads, chunks of %d bytes, %.1f µs",
		c.Variant, c.Channels, c.Threads, c.ChunkBytes, c.Time)
}
