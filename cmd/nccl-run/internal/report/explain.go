package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/planner"
)

// ExplainVersion is the version of the JSON documents of nccl-run explain.
const ExplainVersion = 1

const explainFormat = "ncclgo explain"

// Explain is how a call of one size is done and why, in the form of a JSON document
// of docs/FORMATS.md.
type Explain struct {
	Format   string `json:"format"` // always explainFormat
	Version  int    `json:"version"`
	Topology string `json:"topology"`
	Hosts    int    `json:"nNodes"`
	Nodes    int    `json:"nvlDomains"`
	NRanks   int    `json:"nRanks"`

	Func  string `json:"func"`
	Op    string `json:"op,omitempty"` // of functions that reduce
	Type  string `json:"type"`
	Bytes int64  `json:"bytes"`

	Algo       string     `json:"algo"`
	Proto      string     `json:"proto"`
	Time       nineDigits `json:"timeUs"`
	BusBW      nineDigits `json:"busBw"` // GB/s
	Channels   int        `json:"channels"`
	Warps      int        `json:"warps"`   // of a CTA
	Threads    int        `json:"threads"` // of them that move data
	ChunkBytes int        `json:"chunkBytes"`
	// Kernel is the variant, Built whether this build has it.
	Kernel string `json:"kernel"`
	Built  bool   `json:"built"`
	// Table[algo] are the times of LL, LL128 and Simple, µs; -1: not available, and
	// Reasons[algo] why; "" if it is.
	Table   map[string][coll.NumProtos]nineDigits `json:"table"`
	Reasons map[string][coll.NumProtos]string     `json:"reasons"`
	// What the table is made from, by algorithm: µs, GB/s (0: not available), the most
	// threads of a CTA, and the bytes for each below which fewer take part.
	Latencies  map[string][coll.NumProtos]nineDigits `json:"latencies"`
	Bandwidths map[string][coll.NumProtos]nineDigits `json:"bandwidths"`
	MaxThreads map[string][coll.NumProtos]int        `json:"maxThreads"`
	Thresholds map[string][coll.NumProtos]int64      `json:"threadThresholds"`
	// Tuning says what the tuning table did.
	Tuning string        `json:"tuning,omitempty"`
	Plan   []ChannelPart `json:"plan,omitempty"`
}

// ChannelPart is what a channel does of a call.
type ChannelPart struct {
	Channel    int   `json:"channel"`
	First      int64 `json:"first"` // bytes
	Bytes      int64 `json:"bytes"`
	ChunkBytes int   `json:"chunkBytes"`
}

// Explained is what nccl-run explain has found out of one size.
type Explained struct {
	*planner.Explanation
	Warps int // of a CTA
	Built bool
	Plan  *planner.Plan // nil: nobody asked
}

// ExplainHead is what all sizes have in common.
type ExplainHead struct {
	Topology string
	Hosts    int
	Model    *planner.Model
}

// WriteExplain writes a document for each size, on a line of its own.
func WriteExplain(w io.Writer, h ExplainHead, sizes []Explained) error {
	enc := json.NewEncoder(w)
	for _, e := range sizes {
		if err := enc.Encode(newExplain(h, e)); err != nil {
			return err
		}
	}
	return nil
}

func newExplain(h ExplainHead, e Explained) *Explain {
	c := &e.Choice
	d := &Explain{
		Format: explainFormat, Version: ExplainVersion, Topology: h.Topology,
		Hosts: h.Hosts, Nodes: e.NNodes, NRanks: e.NRanks,
		Func: e.Call.Func.String(), Type: e.Call.Type.String(), Bytes: c.Bytes,
		Algo: c.Variant.Algo.String(), Proto: c.Variant.Proto.String(), Time: nineDigits(c.Time), BusBW: nineDigits(e.BusBW()),
		Channels: c.Channels, Warps: e.Warps, Threads: c.Threads, ChunkBytes: c.ChunkBytes,
		Kernel: c.Variant.String(), Built: e.Built,
		Table: map[string][coll.NumProtos]nineDigits{}, Reasons: map[string][coll.NumProtos]string{},
		Latencies: map[string][coll.NumProtos]nineDigits{}, Bandwidths: map[string][coll.NumProtos]nineDigits{},
		MaxThreads: map[string][coll.NumProtos]int{}, Thresholds: map[string][coll.NumProtos]int64{},
		Tuning: e.Note,
	}
	if e.Call.Func.Reduces() {
		d.Op = e.Call.Op.String()
	}
	for _, alt := range e.Alternatives {
		put(d.Table, alt, nineDigits(alt.Time))
		put(d.Reasons, alt, alt.Reason)
		put(d.Latencies, alt, nineDigits(h.Model.Latency(e.Call.Func, alt.Algo, alt.Proto)))
		put(d.Bandwidths, alt, nineDigits(h.Model.Bandwidth(e.Call.Func, alt.Algo, alt.Proto)))
		put(d.MaxThreads, alt, h.Model.MaxThreads(alt.Algo, alt.Proto))
		put(d.Thresholds, alt, h.Model.Threshold(alt.Algo, alt.Proto))
	}
	if e.Plan != nil {
		for m := range e.Plan.Moves() {
			d.Plan = append(d.Plan, ChannelPart{m.Channel, m.First, m.Bytes, m.Work.ChunkBytes})
		}
	}
	return d
}

// put sets what is known of an alternative.
func put[V any](table map[string][coll.NumProtos]V, alt planner.Alternative, v V) {
	row := table[alt.Algo.String()]
	row[alt.Proto] = v
	table[alt.Algo.String()] = row
}

// DecodeExplain reads what WriteExplain wrote. Other formats and versions, and
// unknown fields, are errors.
func DecodeExplain(r io.Reader) ([]*Explain, error) {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	var all []*Explain
	for {
		d := new(Explain)
		switch err := dec.Decode(d); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("documents of nccl-run explain: %w", err)
		case d.Format != explainFormat || d.Version != ExplainVersion:
			return nil, fmt.Errorf("document of format %q, version %d; %q, version %d is allowed", d.Format, d.Version, explainFormat, ExplainVersion)
		}
		all = append(all, d)
	}
}

// ExplainText writes all sizes for people, with why and plans below each if they are
// wanted.
func ExplainText(w io.Writer, h ExplainHead, sizes []Explained, why bool) error {
	for i, e := range sizes {
		if i == 0 {
			what := e.Call.Func.String()
			if e.Call.Func.Reduces() {
				what += " " + e.Call.Op.String()
			}
			if _, err := fmt.Fprintf(w, "%s of %s on %d x %s: %d %s on %d %s\n%12s  %-13s %-8s %8s %5s %10s %12s %9s\n%12s  %-13s %-8s %8s %5s %10s %12s %9s\n",
				what, e.Call.Type, h.Hosts, h.Topology, e.NRanks, plural(e.NRanks, "rank"), e.NNodes, plural(e.NNodes, "node"),
				"size", "algorithm", "protocol", "channels", "warps", "chunk", "time", "busbw",
				"(B)", "", "", "", "", "(B)", "(us)", "(GB/s)"); err != nil {
				return err
			}
		}
		c, note := &e.Choice, ""
		if !e.Built {
			note = "  not built"
		}
		if _, err := fmt.Fprintf(w, "%12d  %-13s %-8s %8d %5d %10d %12.2f %9.2f%s\n",
			c.Bytes, c.Variant.Algo, c.Variant.Proto, c.Channels, e.Warps, c.ChunkBytes, c.Time, e.BusBW(), note); err != nil {
			return err
		}
		below := ""
		if why {
			below = e.Why()
		} else if e.Note != "" {
			below = "  " + e.Note + "\n"
		}
		if e.Plan != nil {
			if n := h.Model.Bytes(e.Call); n != c.Bytes {
				below += fmt.Sprintf("  plan of %d bytes: %d is no whole number of elements\n", n, c.Bytes)
			}
			below += e.Plan.String()
		}
		if _, err := io.WriteString(w, below); err != nil {
			return err
		}
	}
	return nil
}

// plural returns the word for n of it.
func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
