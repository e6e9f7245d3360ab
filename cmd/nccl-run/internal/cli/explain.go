package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/planner"
	nccl "github.com/ncclgo/ncclgo/runtime"
)

const explainIntro = `nccl-run explain says how a collective is done on a machine, or on several that are
equal: algorithm, protocol, channels, chunks, the time that the model predicts, and
with --why every alternative with its time or the reason it is out. Nothing runs.

Usage:
  nccl-run explain [flags]
`

const explainNotes = `
Sizes are those of the larger buffer of a rank: what an all-gather gathers, what a
reduce-scatter scatters. Choices are of exactly these sizes, plans of the whole
elements in them. Of the environment nothing counts but what --set gives.
With --algos all, the default, it is what a communicator of this build does; on one
machine its ranks do not use the network, and channels may be better than NCCL's
(docs/CHANNELS.md). With --algos nccl it is what NCCL 2.30 does, whether this build
has the kernels or not.

Exit status: 0; 1 the output could not be written; 2 the request was refused.
`

// explainOptions is what the command line of nccl-run explain says.
type explainOptions struct {
	hostOptions
	fn     coll.Func
	typ    []coll.DataType
	op     []coll.UserOp
	sizes  []int64
	algos  string
	tuning *planner.Tuning
	why    bool
	plan   bool
	json   bool
}

const warpSize = 32

// explainSizes are the sizes without --sizes.
const explainSizes = "8,1K,64K,1M,16M,256M,1G"

func newExplain(p *Process) *cobra.Command {
	o := &explainOptions{
		hostOptions: newHostOptions(), fn: coll.AllReduce,
		typ: []coll.DataType{coll.Float32}, op: []coll.UserOp{coll.OpSum}, algos: all,
	}
	flags := &flagSet{}
	add := flags.section("Call")
	add("func", "", function(&o.fn), "all-reduce, all-gather, reduce-scatter, broadcast or reduce (default all-reduce)")
	add("type", "", one(names(&o.typ, "type", "type", typeNames(), coll.ParseDataType)), "type of an element, as nccl-tests' -d (default float)")
	add("op", "", one(names(&o.op, "op", "op", opNames(), coll.ParseUserOp)), "operator, as nccl-tests' -o (default sum)")
	add("sizes", "", sizes(&o.sizes), "sizes in bytes, or with suffix K, M or G (default "+explainSizes+")")
	o.addTo(flags)
	add = flags.section("Choice")
	add("algos", "", choice(&o.algos, "nccl|all", "set of algorithms", "nccl", all), "nccl: as NCCL does; all: as this build does (default all)")
	add("tuning", "", tuning(&o.tuning), "a tuning table (docs/FORMATS.md), which goes before the model")
	add = flags.section("Output")
	add("why", "", boolean(&o.why), "say of every alternative how long it takes, or why it is out")
	add("plan", "", boolean(&o.plan), "say which channel moves which bytes")
	add("json", "", boolean(&o.json), "write a JSON document for each size, a line each, instead of text")
	output := flags.sections[len(flags.sections)-1].flags
	for _, name := range []string{"why", "plan", "json"} {
		output.Lookup(name).NoOptDefVal = "true"
	}
	cmd := newCommand("explain", flags.help(explainIntro, explainNotes), func(*cobra.Command) error {
		return explain(p, o)
	})
	flags.addTo(cmd.Flags())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(flags, err) })
	return cmd
}

// function reads a function that has algorithms.
func function(p *coll.Func) *value {
	return &value{kind: "name", parse: func(text string) error {
		f, err := coll.ParseFunc(text)
		if err != nil {
			return err
		}
		if !f.HasAlgo() {
			return fmt.Errorf("%v has no algorithm to choose; nccl-run p2p-schedule shows the order of sends and receives", f)
		}
		*p = f
		return nil
	}}
}

// one is a value of which there cannot be several: "all" is none.
func one(v *value) *value {
	parse := v.parse
	return &value{kind: v.kind, parse: func(text string) error {
		if strings.EqualFold(text, all) {
			return fmt.Errorf("%q is not one of them; give one", text)
		}
		err := parse(text)
		if e, ok := errors.AsType[*coll.ParseError](err); ok {
			e.Allowed = slices.DeleteFunc(e.Allowed, func(name string) bool { return name == all })
		}
		return err
	}}
}

// tuning reads the file of a tuning table.
func tuning(p **planner.Tuning) *value {
	return &value{kind: "file", parse: func(name string) error {
		data, err := readInput(name)
		if err == nil {
			*p, err = planner.ParseTuning(name, data)
		}
		return err
	}}
}

// sizes reads sizes separated by commas.
func sizes(p *[]int64) *value {
	return &value{kind: "size,size...", parse: func(text string) error {
		*p = nil
		for word := range strings.SplitSeq(text, ",") {
			var n int64
			if err := size(&n).Set(strings.TrimSpace(word)); err != nil {
				return err
			}
			*p = append(*p, n)
		}
		return nil
	}}
}

// explain makes the model of the hosts and writes what it chooses.
func explain(p *Process, o *explainOptions) error {
	if o.sizes == nil {
		if err := sizes(&o.sizes).Set(explainSizes); err != nil {
			return err
		}
	}
	asNCCL := o.algos == "nccl"
	h, err := o.connect(p, search{noNet: !asNCCL && o.hosts == 1, better: !asNCCL})
	if err != nil {
		return err
	}
	facts := planner.FactsOf(h.layout)
	model, err := o.model(facts)
	if err != nil {
		return err
	}
	var all []report.Explained
	for _, n := range o.sizes {
		call := planner.Call{Func: o.fn, Type: o.typ[0]}
		if o.fn.Reduces() {
			call.Op = o.op[0].Device(call.Type)
		}
		call.Count = n / (model.Bytes(planner.Call{Func: call.Func, Type: call.Type, Count: 1}))
		e, err := model.ExplainBytes(call, n, planner.Options{})
		switch {
		case errors.Is(err, nccl.ErrNotBuilt):
			return refusef("%w; --algos nccl says what NCCL does", err)
		case err != nil:
			return refused{err}
		}
		found := report.Explained{Explanation: e, Warps: e.Choice.Threads / warpSize, Built: built(facts.MinSM)(e.Choice.Variant) == nil}
		if asNCCL {
			found.Warps = e.Choice.Warps
		}
		if o.plan {
			plan := model.Plan([]planner.Task{{Call: call, Choice: e.Choice}})
			found.Plan = &plan
		}
		all = append(all, found)
	}
	head := report.ExplainHead{Topology: h.system.Name, Hosts: o.hosts, Model: model}
	if o.json {
		err = report.WriteExplain(p.Stdout, head, all)
	} else {
		err = report.ExplainText(p.Stdout, head, all, o.why)
	}
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// model makes the planner's model.
func (o *explainOptions) model(facts planner.Facts) (*planner.Model, error) {
	settings, err := o.planSettings()
	if err != nil {
		return nil, err
	}
	c := &planner.Config{Facts: facts, Settings: settings.Settings, Tuning: o.tuning, Limits: settings.Limits, Kernel: built(facts.MinSM)}
	if o.algos == "nccl" {
		c.AsNCCL = true
		c.Limits.MinChannels = 1 // of an operation; those of communicators are in the facts
		c.Kernel = func(v coll.Variant) error { return exists(v, facts.MinSM) }
	}
	model, err := planner.New(c)
	if err != nil {
		return nil, refused{err}
	}
	return model, nil
}

// built looks up kernels for GPUs of a compute capability, times 10.
func built(sm int) func(coll.Variant) error {
	return func(v coll.Variant) error {
		_, err := generated.Lookup(v, sm)
		return err
	}
}

// exists returns nil if NCCL has a kernel of a variant for GPUs of a compute
// capability, times 10, else why not.
func exists(v coll.Variant, sm int) error {
	if need := v.Type.ReduceSM(); v.Func.Reduces() && sm < need {
		return result.New(result.InvalidArgument, "find kernel", "reductions of %s need sm_%d, the GPUs are sm_%d", v.Type, need, sm)
	}
	// Whether the combination is one at all does not depend on the GPU.
	if err := built(math.MaxInt)(v); !errors.Is(err, nccl.ErrNotBuilt) {
		return err
	}
	return nil
}
