package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/ncclgo/ncclgo/internal/jsondoc"
)

// DocumentVersion is the version of nccl-tests' JSON document (JSON_FILE_VERSION,
// nccl-tests 2.19.6 src/util.cu); ExtensionVersion is that of its ncclgo object.
const (
	DocumentVersion  = 3
	ExtensionVersion = 3
)

// Document is a run in nccl-tests' JSON format. Its fields are documented in
// docs/FORMATS.md.
type Document struct {
	Version     int        `json:"version"`
	StartTime   string     `json:"start_time"`
	Args        []string   `json:"args"`
	Env         []string   `json:"env"`
	NCCLVersion int        `json:"nccl_version"`
	Config      Config     `json:"config"`
	Results     []Result   `json:"results"`
	OutOfBounds Bounds     `json:"out_of_bounds"`
	AvgBusBW    Bandwidth  `json:"average_bus_bandwidth"`
	Errors      []string   `json:"errors"`
	EndTime     string     `json:"end_time"`
	Extension   *Extension `json:"ncclgo"`
}

// Config is what was asked. Exactly one of StepFactor and StepBytes is there.
type Config struct {
	Threads      int            `json:"nthreads"`
	GPUs         int            `json:"ngpus"`
	MinBytes     int64          `json:"minimum_bytes"`
	MaxBytes     int64          `json:"maximum_bytes"`
	StepFactor   *int64         `json:"step_factor,omitempty"`
	StepBytes    *int64         `json:"step_bytes,omitempty"`
	Warmup       int            `json:"warmup_iters"`
	Iters        int            `json:"iterations"`
	Agg          int            `json:"aggregated_iterations"`
	Check        int            `json:"validation"`
	Graph        int            `json:"graph"`
	Blocking     text           `json:"blocking_collectives"`
	PerIter      text           `json:"per_iter_timing"`
	PerIterSkip  int            `json:"per_iter_skip"`
	ParallelInit text           `json:"parallel_init"`
	Devices      []deviceRecord `json:"devices"`
}

type deviceRecord struct {
	Rank    int    `json:"rank"`
	Group   int    `json:"group"`
	PID     int    `json:"pid"`
	Host    string `json:"hostname"`
	Ordinal int    `json:"device"`
	Hex     string `json:"device_hex"`
	Info    string `json:"device_info"`
}

// Result is one Row.
type Result struct {
	Size       int64       `json:"size"`
	Count      int64       `json:"count"`
	Type       string      `json:"type"`
	Op         string      `json:"redop"`
	Root       string      `json:"root"`
	Out        measurement `json:"out_of_place"`
	In         measurement `json:"in_place"`
	Iterations int         `json:"actual_iterations"`
	Experiment string      `json:"experiment_name"`
	Decision   *Decision   `json:"ncclgo"`
	Versus     *versus     `json:"vs,omitempty"`
}

type measurement struct {
	Time   fixed  `json:"time"`
	AlgBW  fixed  `json:"alg_bw"`
	BusBW  fixed  `json:"bus_bw"`
	NWrong *fixed `json:"nwrong"`
}

// Bounds counts the measurements with anything wrong.
type Bounds struct {
	Count int  `json:"count"`
	Okay  text `json:"okay"`
}

// Bandwidth is the mean bus bandwidth.
type Bandwidth struct {
	Bandwidth fixed  `json:"bandwidth"`
	Okay      string `json:"okay"`
}

// Extension is what nccl-tests' document has no place for.
type Extension struct {
	Version     int       `json:"version"`
	Device      string    `json:"device"`      // "cuda" or "sim"
	DeviceNote  string    `json:"device_note"` // what it is, and why it was chosen
	Topology    string    `json:"topology"`    // name or file
	RanksPerGPU int       `json:"ranks_per_gpu"`
	Seed        uint64    `json:"seed"`
	Schedules   int       `json:"schedules"`
	WeakMemory  bool      `json:"weak_memory"` // a run in the memory model that GPUs have
	TimeSource  string    `json:"time_source"`
	Skipped     []Skipped `json:"skipped"`
	Startup     []Phase   `json:"startup,omitempty"`
	Rival       *Rival    `json:"vs,omitempty"`
}

// Skipped is a combination that this build or the machine cannot run.
type Skipped struct {
	Type   string `json:"type"`
	Op     string `json:"redop"`
	Proto  string `json:"proto,omitempty"` // empty: whatever the protocol
	Reason string `json:"reason"`
}

// Decision is what was chosen for a row.
type Decision struct {
	Algo     string `json:"algo"`
	Proto    string `json:"proto"`
	Channels int    `json:"channels"`
	Kernel   string `json:"kernel"`
}

// timeFormat is nccl-tests' time stamp, in local time.
const timeFormat = "2006-01-02 15:04:05"

// NewDocument starts the document of a run. args is the command line, env the
// environment that matters to it.
func NewDocument(r *Run, args, env []string, start time.Time, ext *Extension) *Document {
	ext.Version = ExtensionVersion
	ext.Skipped = append([]Skipped{}, ext.Skipped...) // a list, if empty
	d := &Document{
		Version:     DocumentVersion,
		StartTime:   start.Format(timeFormat),
		Args:        args,
		Env:         append([]string{}, env...),
		NCCLVersion: LibraryVersion,
		Config: Config{
			Threads: r.Threads, GPUs: r.GPUs, MinBytes: r.MinBytes, MaxBytes: r.MaxBytes,
			Warmup: r.Warmup, Iters: r.Iters, Agg: r.Agg, Check: r.Check,
			Graph: r.Graphs, Blocking: text(r.Blocking != 0),
		},
		Results:   []Result{},
		Errors:    []string{},
		Extension: ext,
	}
	step := r.Step
	if r.ByFactor {
		d.Config.StepFactor = &step
	} else {
		d.Config.StepBytes = &step
	}
	for _, v := range r.Devices {
		d.Config.Devices = append(d.Config.Devices, deviceRecord{
			v.Rank, v.Group, v.PID, v.Host, v.Ordinal, v.location(), v.Name,
		})
	}
	return d
}

// Add appends a row and what was chosen for it.
func (d *Document) Add(r Row, decision *Decision) {
	d.Results = append(d.Results, Result{
		Size: r.Bytes, Count: r.Count, Type: r.Type, Op: r.Op, Root: fmt.Sprintf("%6d", r.Root),
		Out: r.Out.record(), In: r.In.record(),
		Iterations: d.Config.Iters, Decision: decision, Versus: r.Versus.record(),
	})
}

func (m Measurement) record() measurement {
	rec := measurement{Time: fixed(m.Time), AlgBW: fixed(m.AlgBW), BusBW: fixed(m.BusBW)}
	if m.Checked {
		wrong := fixed(m.Wrong)
		rec.NWrong = &wrong
	}
	return rec
}

// Finish adds how the run ended.
func (d *Document) Finish(s Summary, end time.Time) {
	d.OutOfBounds = Bounds{s.OutOfBounds, text(s.OutOfBounds == 0 && s.Err == "")}
	d.AvgBusBW = Bandwidth{fixed(s.BusBW), "unchecked"}
	if s.Err != "" {
		d.Errors = append(d.Errors, s.Err)
	}
	d.EndTime = end.Format(timeFormat)
}

// Write writes the document and a newline.
func (d *Document) Write(w io.Writer) error { return json.NewEncoder(w).Encode(d) }

// Decode reads a document and refuses one of another version or with fields
// that this version does not have.
func Decode(r io.Reader) (*Document, error) {
	d := new(Document)
	if err := jsondoc.Decode(r, jsondoc.Limit, d); err != nil {
		return nil, fmt.Errorf("not a report of nccl-run: %w", err)
	}
	if d.Version != DocumentVersion {
		return nil, fmt.Errorf("report version %d, want %d", d.Version, DocumentVersion)
	}
	if d.Extension == nil || d.Extension.Version != ExtensionVersion {
		return nil, fmt.Errorf("report without an ncclgo object of version %d: not written by this nccl-run", ExtensionVersion)
	}
	return d, nil
}

// text is a boolean that nccl-tests writes as a string.
type text bool

// MarshalText implements [encoding.TextMarshaler].
func (b text) MarshalText() ([]byte, error) { return strconv.AppendBool(nil, bool(b)), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *text) UnmarshalText(p []byte) error {
	v, err := strconv.ParseBool(string(p))
	*b = text(v)
	return err
}

// fixed is a number that nccl-tests writes with six decimals, or "nan".
type fixed float64

// MarshalJSON implements [json.Marshaler].
func (v fixed) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(v)) {
		return []byte(`"nan"`), nil
	}
	return strconv.AppendFloat(nil, float64(v), 'f', 6, 64), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (v *fixed) UnmarshalJSON(p []byte) error {
	if string(p) == `"nan"` {
		*v = fixed(math.NaN())
		return nil
	}
	return json.Unmarshal(p, (*float64)(v))
}
