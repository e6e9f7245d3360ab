package cli

import (
	"math"

	"github.com/spf13/pflag"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/bench"
	"github.com/ncclgo/ncclgo/coll"
	nccl "github.com/ncclgo/ncclgo/runtime"
)

// options is what the command line says: the run itself, and where its output
// goes.
type options struct {
	bench.Config
	device string
	json   string // file, "-" for standard output, empty for none
}

// anyCount is the upper bound of a flag that has none of its own.
const anyCount = math.MaxInt32

// flagSet holds the flags of a collective, in the sections of the help text.
type flagSet struct {
	o        *options
	sections []section
	// lacking holds nccl-tests' flags that this build does not have.
	lacking *pflag.FlagSet
}

type section struct {
	title string
	flags *pflag.FlagSet
}

// newFlags defines every flag of a collective. Defaults that depend on where
// the run happens are filled in later: see defaults.go.
func newFlags() *flagSet {
	o := &options{}
	o.Agg, o.Threads, o.StepFactor, o.StepBytes = 1, 1, 1, 1<<20
	o.Check = 1
	o.Types, o.Ops = []coll.DataType{coll.Float32}, []coll.UserOp{coll.OpSum}
	o.device = "auto"
	o.Schedules, o.Seed, o.HangRank = 1, 1, -1
	o.RanksPerGPU = 1
	f := &flagSet{o: o, lacking: pflag.NewFlagSet("", pflag.ContinueOnError)}
	f.lacking.SortFlags = false

	var stepFactor int
	add := f.section("Ranks")
	add("nthreads", "t", integer(&o.Threads, 1, anyCount), "threads; t times g GPUs are used by one process (default 1)")
	add("ngpus", "g", integer(&o.GPUs, 1, anyCount), "GPUs of each thread (default: see below)")
	add("ranks-per-gpu", "", integer(&o.RanksPerGPU, 1, anyCount), "ranks on each GPU, with consecutive numbers (default 1)")

	add = f.section("Sizes")
	add("minbytes", "b", size(&o.MinBytes), "smallest size in bytes, or with suffix K, M or G (default: see below)")
	add("maxbytes", "e", size(&o.MaxBytes), "largest size (default: see below)")
	add("stepbytes", "i", size(&o.StepBytes), "step between sizes (default 1M); not used with a factor")
	add("stepfactor", "f", &value{kind: "n", parse: func(text string) error {
		err := integer(&stepFactor, 0, anyCount).Set(text)
		o.StepFactor = int64(stepFactor)
		return err
	}}, "factor between sizes; 0 and 1 step by bytes (default: see below)")

	add = f.section("Operation")
	add("datatype", "d", names(&o.Types, "type", "type", typeNames(), coll.ParseDataType),
		"int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2, or all (default float)")
	add("op", "o", names(&o.Ops, "op", "op", opNames(), coll.ParseUserOp),
		"sum prod max min avg mulsum, or all (default sum)")
	add("unalign", "u", integer(&o.Unalign, 0, 1<<20), "shift every buffer by this many elements (default 0)")

	add = f.section("Repetition")
	add("iters", "n", integer(&o.Iters, 1, anyCount), "timed iterations of each measurement (default: see below)")
	add("warmup_iters", "w", integer(&o.Warmup, 0, anyCount), "iterations before the first measurement, not timed (default: see below)")
	add("agg_iters", "m", integer(&o.Agg, 1, anyCount), "operations grouped into one iteration, in groups of up to 512 (default 1)")
	add("check", "c", integer(&o.Check, 0, anyCount),
		"checked repetitions of each measurement; if one iteration is timed it is the first of them; 0 checks nothing (default 1)")
	add("blocking", "z", integer(&o.Blocking, 0, 3),
		"0: wait after the last iteration; 1, 2: after each operation; 3: after each iteration (default 0)")
	add("cudagraph", "G", integer(&o.Graphs, 0, anyCount),
		"capture the timed iterations as a graph and launch it this many times; 0: no graph (default 0)")

	add = f.section("Where it runs")
	add("device", "", choice(&o.device, "name", "device", "auto", "cuda", "sim"),
		"cuda: real GPUs; sim: the PTX machine; auto: cuda where there is one, else sim (default auto)")
	add("topo", "", text(&o.Topology, "name|file"),
		"the machine: "+machineNames()+", a topology file of NCCL, or what nccl-run topo capture wrote (default: dgx-h100 on the PTX machine, on GPUs this machine)")

	add = f.section("What it runs")
	add("algo", "", algorithms(&o.Algos), "algorithm, or auto (default auto)")
	add("proto", "", protocols(&o.Protos), "LL, LL128 or Simple; all: one pass for each; auto (default auto)")
	add("channels", "", integer(&o.Channels, 0, nccl.MaxChannels), "channels of every operation; 0 leaves the choice to the planner (default 0)")
	add("tuning", "", tuning(&o.Tuning), "a tuning table (docs/FORMATS.md), which goes before the planner's model")

	add = f.section("Beside NCCL")
	add("vs", "", text(&o.Rival, "file"),
		"measure NVIDIA's NCCL too: libnccl.so.2, or its path. The libraries take turns over the same buffers; medians, spread and ratio are comment lines")

	add = f.section("PTX machine")
	add("seed", "", seed(&o.Seed), "seed of the schedule and of the data: the same seed gives the same run (default 1)")
	add("schedules", "", integer(&o.Schedules, 1, anyCount), "run everything this many times, with seeds from --seed on, and add up #wrong (default 1)")
	add("weak-memory", "", boolean(&o.WeakMemory), "the memory model that GPUs have (docs/MEMORY-MODEL.md): a race is a fault that names both sides")
	f.sections[len(f.sections)-1].flags.Lookup("weak-memory").NoOptDefVal = "true"
	add("plant-hang", "", integer(&o.HangRank, 0, anyCount), "self-check of the hang report: this rank never launches its first operation, and the run must fail naming who waits")

	add = f.section("Output")
	add("json", "", text(&o.json, "file"), "write a report as nccl-tests does; - or nothing: to standard output, instead of the table")
	add("output_file", "J", text(&o.json, "file"), "the same, as nccl-tests calls it")
	add("trace", "", boolean(&o.Trace),
		"print what was decided, as comment lines: the machine, rings, and for each size protocol, channels, kernel and the alternatives")
	add("startup", "", boolean(&o.Startup), "print what it took to get to the first result, as comment lines")
	output := f.sections[len(f.sections)-1].flags
	output.Lookup("json").NoOptDefVal = "-"
	output.Lookup("trace").NoOptDefVal = "true"
	output.Lookup("startup").NoOptDefVal = "true"

	for _, l := range lacking {
		f.lacking.VarP(absent(l.neutral, l.what), l.name, l.short, "")
	}
	return f
}

// lacking lists nccl-tests 2.19.6's flags that this build does not have, with
// the value that asks for nothing.
var lacking = []struct{ name, short, neutral, what string }{
	{"root", "r", "0", "all-reduce has no root; choosing one"},
	{"run_cycles", "N", "1", "repeating the table"},
	{"parallel_init", "p", "0", "parallel initialisation"},
	{"stream_null", "y", "0", "the default stream"},
	{"timeout", "T", "0", "a time limit"},
	{"report_cputime", "C", "0", "reporting CPU time"},
	{"report_timestamps", "S", "0", "time stamps"},
	{"average", "a", "1", "averaging over processes"},
	{"local_register", "R", "0", "buffer registration"},
	{"cta_policy", "x", "", "a CTA policy"},
	{"device_implementation", "D", "0", "device-side implementations"},
	{"device_cta_count", "V", "16", "device-side implementations"},
	{"memory", "M", "0", "the memory report"},
	{"per_iter_timing", "I", "0", "timing each iteration"},
	{"per_iter_skip", "K", "0", "timing each iteration"},
}

// section starts a section and returns the function that adds a flag to it.
func (f *flagSet) section(title string) func(name, short string, v *value, usage string) {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	flags.SortFlags = false
	f.sections = append(f.sections, section{title, flags})
	return func(name, short string, v *value, usage string) { flags.VarP(v, name, short, usage) }
}

// addTo makes target parse every flag.
func (f *flagSet) addTo(target *pflag.FlagSet) {
	target.SortFlags = false
	for _, s := range f.sections {
		target.AddFlagSet(s.flags)
	}
	if f.lacking != nil {
		target.AddFlagSet(f.lacking)
	}
}

func typeNames() []string {
	names := make([]string, coll.NumDataTypes)
	for t := range names {
		names[t] = coll.DataType(t).LongName()
	}
	return names
}

func opNames() []string {
	names := make([]string, coll.NumUserOps)
	for o := range names {
		names[o] = coll.UserOp(o).String()
	}
	return names
}

// planned is the word that leaves a choice to the planner.
const planned = "auto"

func algorithms(p *[]coll.Algo) *value {
	known := make([]string, coll.NumAlgos)
	for a := range known {
		known[a] = coll.Algo(a).String()
	}
	return &value{kind: "name", parse: func(text string) error {
		if text == planned {
			*p = nil
			return nil
		}
		a, err := coll.ParseAlgo(text)
		if err != nil {
			return unknown("algorithm", text, append(known, planned))
		}
		*p = []coll.Algo{a}
		return nil
	}}
}

func protocols(p *[]coll.Proto) *value {
	known := make([]string, coll.NumProtos)
	for i := range known {
		known[i] = coll.Proto(i).String()
	}
	named := names(p, "name", "protocol", known, coll.ParseProto)
	return &value{kind: "name", parse: func(text string) error {
		if text == planned {
			*p = nil
			return nil
		}
		if err := named.Set(text); err != nil {
			return unknown("protocol", text, append(known, all, planned))
		}
		return nil
	}}
}
