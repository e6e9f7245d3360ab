package report

import "fmt"

// Rival is the NCCL that rows are measured beside.
type Rival struct {
	Path    string `json:"path"`
	Version int    `json:"version"` // as ncclGetVersion encodes it
	Text    string `json:"-"`       // as NCCL's documents write it
	Rounds  int    `json:"rounds"`  // that each library ran, in turn
}

// Heading says what the lines of a Versus mean.
func (r Rival) Heading() string {
	return fmt.Sprintf("vs NCCL %s (%s): median (p10..p90) of %d rounds in which the libraries take turns; ratio: NCCL's time / ncclgo's",
		r.Text, r.Path, r.Rounds)
}

// Versus is a row of ncclgo beside NCCL's.
type Versus struct {
	Out Contest
	In  Contest
}

// Contest is a measurement of both libraries.
type Contest struct {
	Ours, Theirs Spread
	AlgBW, BusBW float64 // NCCL's, GB/s
	Checked      bool
	Wrong        int64  // NCCL's elements, and bytes around the buffers
	First        string // where the first wrong thing is; empty if nothing is
}

// Spread is how the times of the rounds lie, microseconds of one operation.
type Spread struct {
	Low, Median, High float64 // the 10th, 50th and 90th percentile
}

// Ratio returns NCCL's time over ncclgo's: above 1 ncclgo is faster.
func (c Contest) Ratio() float64 { return c.Theirs.Median / c.Ours.Median }

func (s Spread) String() string { return fmt.Sprintf("%.2f us (%.2f..%.2f)", s.Median, s.Low, s.High) }

// Lines returns the contests of a row as text, for comments.
func (v *Versus) Lines(bytes int64) []string {
	line := func(placement string, c Contest) string {
		wrong := "N/A"
		if c.Checked {
			wrong = fmt.Sprint(c.Wrong)
		}
		return fmt.Sprintf("vs %12d  %-12s  ncclgo %s  NCCL %s, busbw %.2f, #wrong %s  ratio %.3f",
			bytes, placement, c.Ours, c.Theirs, c.BusBW, wrong, c.Ratio())
	}
	return []string{line("out-of-place", v.Out), line("in-place", v.In)}
}

// versus is a Versus in the document.
type versus struct {
	Out contest `json:"out_of_place"`
	In  contest `json:"in_place"`
}

// record returns v for the document; nil stays nil.
func (v *Versus) record() *versus {
	if v == nil {
		return nil
	}
	return &versus{v.Out.record(), v.In.record()}
}

type contest struct {
	Low      fixed  `json:"p10"`
	High     fixed  `json:"p90"`
	NCCLTime fixed  `json:"nccl_time"`
	NCCLLow  fixed  `json:"nccl_p10"`
	NCCLHigh fixed  `json:"nccl_p90"`
	AlgBW    fixed  `json:"nccl_alg_bw"`
	BusBW    fixed  `json:"nccl_bus_bw"`
	NWrong   *fixed `json:"nccl_nwrong"`
	Ratio    fixed  `json:"ratio"`
}

func (c Contest) record() contest {
	rec := contest{
		Low: fixed(c.Ours.Low), High: fixed(c.Ours.High),
		NCCLTime: fixed(c.Theirs.Median), NCCLLow: fixed(c.Theirs.Low), NCCLHigh: fixed(c.Theirs.High),
		AlgBW: fixed(c.AlgBW), BusBW: fixed(c.BusBW), Ratio: fixed(c.Ratio()),
	}
	if c.Checked {
		wrong := fixed(c.Wrong)
		rec.NWrong = &wrong
	}
	return rec
}
