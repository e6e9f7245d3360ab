package cli

import "github.com/spf13/pflag"

// defaults are the values of the options that depend on where the run happens.
type defaults struct {
	topology           string
	gpus               int
	minBytes, maxBytes int64
	stepFactor         int64
	iters, warmup      int
}

// simDefaults keep a run on the PTX machine short: it computes every
// instruction of every thread.
var simDefaults = defaults{
	topology: "dgx-h100", gpus: 8, minBytes: 1 << 10, maxBytes: 1 << 20, stepFactor: 4, iters: 1, warmup: 0,
}

// simMaxBytesWeak is simDefaults.maxBytes with weak memory, which takes some ten
// times as long and remembers what was written where.
const simMaxBytesWeak = 16 << 10

// cudaDefaults are those of nccl-tests 2.19.6 (src/util.cu, src/common.cu).
var cudaDefaults = defaults{gpus: 1, minBytes: 32 << 20, maxBytes: 32 << 20, stepFactor: 1, iters: 20, warmup: 1}

// apply fills in the options that the command line does not mention. A range of
// which one end was given keeps the other end on its side. gpus is how many the
// machine has.
func (d defaults) apply(o *options, given *pflag.FlagSet, gpus int) {
	unset := func(name string) bool { return !given.Changed(name) }
	if unset("ngpus") {
		o.GPUs = max(1, min(d.gpus, gpus/o.Threads))
	}
	switch {
	case unset("minbytes") && unset("maxbytes"):
		o.MinBytes, o.MaxBytes = d.minBytes, d.maxBytes
	case unset("minbytes"):
		o.MinBytes = min(d.minBytes, o.MaxBytes)
	case unset("maxbytes"):
		o.MaxBytes = max(d.maxBytes, o.MinBytes)
	}
	if unset("stepfactor") && unset("stepbytes") {
		o.StepFactor = d.stepFactor
	}
	if unset("iters") {
		o.Iters = d.iters
	}
	if unset("warmup_iters") {
		o.Warmup = d.warmup
	}
}
