package report

import "strings"

// Run is what a run was asked and what it runs on.
type Run struct {
	Program  string // as nccl-tests calls it: "all_reduce_perf"
	Threads  int
	GPUs     int // of each thread
	MinBytes int64
	MaxBytes int64
	Step     int64 // bytes, or a factor
	ByFactor bool
	Warmup   int
	Iters    int
	Agg      int // operations grouped into one iteration
	Check    int // checked repetitions of each measurement
	Blocking int // nccl-tests' -z
	Unalign  int // elements
	Graphs   int // launches of the timed iterations as a graph; 0: no graph
	Notes    []string
	Devices  []Device
}

// Device is where one rank runs.
type Device struct {
	Rank    int
	Group   int
	PID     int
	Host    string
	Ordinal int
	BusID   string // PCI address, "0000:1b:00.0"
	Name    string
}

// location is the PCI address without its function, as nccl-tests prints it.
func (d Device) location() string {
	if d.BusID == "" {
		return "0000:00:00"
	}
	location, _, _ := strings.Cut(d.BusID, ".")
	return location
}

// Row is one size of one type and operator, measured twice.
type Row struct {
	Bytes int64
	Count int64 // elements
	Type  string
	Op    string
	Root  int // -1 where the collective has none
	Out   Measurement
	In    Measurement
	// Versus is the row beside NCCL's; nil without one.
	Versus *Versus
}

// Measurement is the result of one placement of the buffers.
type Measurement struct {
	Time    float64 // microseconds of one operation
	AlgBW   float64 // GB/s
	BusBW   float64 // GB/s
	Checked bool
	Wrong   int64 // elements, and bytes around the buffers
}

// Summary is how a run ended.
type Summary struct {
	OutOfBounds int     // measurements with anything wrong
	BusBW       float64 // GB/s, the mean over measurements
	Err         string  // what ended the run early, one line; empty if nothing did
}
