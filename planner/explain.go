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
	// Latency and BW are what the time is made of: µs, and GB/s of the call's bytes; 0
	// if it is out, or if nothing moves.
	Latency, BW float32
}

// Explanation is a choice with everything it was made from.
type Explanation struct {
	Call           Call
	NRanks, NNodes int
	Choice         Choice
	// Alternatives has every algorithm with every protocol, in the order of
	// package coll.
	Alternatives []Alternative
	// Note says what a tuning table did, "" if it has no row for the call.
	Note string
}

// Explain returns what Choose returns and why.
func (m *Model) Explain(c Call, o Options) (*Explanation, error) {
	if err := m.check(c, o); err != nil {
		return nil, err
	}
	return m.ExplainBytes(c, m.Bytes(c), o)
}

// ExplainBytes is Explain for a size in bytes in place of the call's count: one that
// ranks may not be able to share equally, as the sizes of NCCL's own tables.
func (m *Model) ExplainBytes(c Call, n int64, o Options) (*Explanation, error) {
	if err := m.check(c, o); err != nil {
		return nil, err
	}
	e := &Explanation{Call: c, NRanks: m.nranks, NNodes: m.facts.NNodes, Choice: Choice{Bytes: n}}
	if err := m.decide(&e.Choice, c, 1, o); err != nil {
		return nil, err
	}
	l := m.load(c, n, 1)
	row := m.tunedRow(c.Func, n)
	var ruledOut verdict // of what the row names
	for a := range coll.Algo(coll.NumAlgos) {
		for p := range coll.Proto(coll.NumProtos) {
			alt := Alternative{Algo: a, Proto: p, Time: -1}
			why := open
			if alt.Reason, why = m.reason(c, o, a, p); row != nil && row.algos.Has(a) && row.protos.Has(p) {
				ruledOut.add(alt.Reason, why)
			}
			if why == open {
				cost := &m.costs[c.Func][a][p]
				alt.Time = m.time(&l, cost, a, p)
				alt.Latency, alt.BW = m.terms(&l, cost, a, p)
			}
			e.Alternatives = append(e.Alternatives, alt)
		}
	}
	if row != nil {
		e.Note = fmt.Sprintf("row %d of the tuning table: %s", row.number, row)
		if e.Choice.Row == 0 {
			e.Note += ", which is out" + ruledOut.clause()
		}
	}
	return e, nil
}

// BusBW returns what the predicted time means for the slowest link, GB/s, as
// nccl-tests counts it.
func (e *Explanation) BusBW() float64 {
	if e.Choice.Time == 0 {
		return 0
	}
	return float64(e.Choice.Bytes) / float64(e.Choice.Time) * 1e-3 * e.Call.Func.BusBWFactor(e.NRanks)
}

// String returns the explanation for people: the choice on a line, then what
// it was chosen from.
func (e *Explanation) String() string {
	var b strings.Builder
	b.WriteString(e.Call.Func.String())
	if e.Call.Func.Reduces() {
		fmt.Fprintf(&b, " %s", e.Call.Op)
	}
	fmt.Fprintf(&b, " %s, %d bytes, %d ranks: %s\n", e.Call.Type, e.Choice.Bytes, e.NRanks, e.Choice)
	b.WriteString(e.Why())
	return b.String()
}

// Why returns a line for each alternative. Protocols of an algorithm that are out
// for one reason share a line.
func (e *Explanation) Why() string {
	var b strings.Builder
	if e.Note != "" {
		fmt.Fprintf(&b, "  %s\n", e.Note)
	}
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
			if alts[0].BW > 0 {
				verdict += fmt.Sprintf(" = %.1f µs + bytes at %.1f GB/s", alts[0].Latency, alts[0].BW)
			}
			if v := e.Choice.Variant; alts[0].Algo == v.Algo && alts[0].Proto == v.Proto {
				verdict += ", chosen"
			}
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
