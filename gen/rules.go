package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
)

// Rule is one of the rules that exclude combinations.
type Rule uint8

const (
	RuleNone       Rule = iota
	RuleAlgo            // the function has no such algorithm
	RuleProto           // the algorithm has no such protocol
	RulePostDiv         // the operator has no such type
	RuleSwitchOp        // the switch has no such operator
	RuleSwitchType      // the switch has no such type for the operator
)

// Reason says why a combination is invalid.
type Reason struct {
	Rule Rule
	Text string // one clause, without a dot: "Broadcast runs as Ring or OneShot only"
}

// algosOf lists the algorithms of each function. Those of NCCL are NCCL's
// (v2.30 src/device/generate.py, algos_of_coll). OneShot serves every function
// in which what a rank needs from each peer is known beforehand; TwoShot is a
// reduce-scatter and an all-gather, which is an all-reduce.
var algosOf = [coll.NumFuncs][]coll.Algo{
	coll.Broadcast:  {coll.Ring, coll.OneShot},
	coll.Reduce:     {coll.Ring, coll.OneShot},
	coll.AllGather:  {coll.Ring, coll.CollNetDirect, coll.NVLS, coll.PAT, coll.OneShot},
	coll.AllGatherV: {coll.Ring, coll.OneShot},
	coll.ReduceScatter: {
		coll.Ring, coll.CollNetDirect, coll.NVLS, coll.PAT, coll.OneShot,
	},
	coll.AllReduce: {
		coll.Tree, coll.Ring, coll.CollNetDirect, coll.CollNetChain, coll.NVLS, coll.NVLSTree, coll.OneShot, coll.TwoShot,
	},
}

// simpleOnly lists the algorithms that have no protocol but Simple, with why
// (NCCL v2.30 src/device/generate.py, required_cuda).
var simpleOnly = map[coll.Algo]string{
	coll.CollNetDirect: "the network handles whole buffers and cannot tell flags from data",
	coll.CollNetChain:  "the network handles whole buffers and cannot tell flags from data",
	coll.NVLS:          "the switch handles whole words and cannot tell flags from data",
	coll.NVLSTree:      "the switch handles whole words and cannot tell flags from data",
	coll.PAT:           "its steps aggregate several chunks, which only counted buffers hold",
}

// switchTypes lists what the switch reduces by multimem instructions (PTX ISA,
// multimem.ld_reduce: .min and .max exist for integers and 16-bit floats only).
// NCCL makes the same cut (v2.30 src/device/generate.py, required_cuda).
var switchTypes = map[coll.RedOp][]coll.DataType{
	coll.Sum: {
		coll.Int32, coll.Uint32, coll.Int64, coll.Uint64, coll.Float16, coll.BFloat16, coll.Float32, coll.Float64,
	},
	coll.MinMax: {
		coll.Int32, coll.Uint32, coll.Int64, coll.Uint64, coll.Float16, coll.BFloat16,
	},
}

// inSwitch reports whether a reduces inside the NVLink switch.
func inSwitch(a coll.Algo) bool { return a == coll.NVLS || a == coll.NVLSTree }

// Excluded returns nil if v is valid, else why not. Of several reasons it returns
// the first in the order of the rules.
func Excluded(v coll.Variant) *Reason {
	if !v.Func.HasAlgo() {
		return nil
	}
	if algos := algosOf[v.Func]; !slices.Contains(algos, v.Algo) {
		return &Reason{RuleAlgo, fmt.Sprintf("%s runs as %s only", v.Func, alternatives(algos))}
	}
	if why, ok := simpleOnly[v.Algo]; ok && v.Proto != coll.Simple {
		return &Reason{RuleProto, fmt.Sprintf("%s has protocol Simple only: %s", v.Algo, why)}
	}
	if !v.Func.Reduces() {
		return nil
	}
	if v.Op == coll.SumPostDiv && v.Type.Float() {
		return &Reason{RulePostDiv, "SumPostDiv divides integers only: the average of floating-point types is PreMulSum"}
	}
	if inSwitch(v.Algo) {
		types, ok := switchTypes[v.Op]
		if !ok {
			return &Reason{RuleSwitchOp, fmt.Sprintf("%s reduces in the switch, which computes Sum and MinMax only", v.Algo)}
		}
		if !slices.Contains(types, v.Type) {
			return &Reason{RuleSwitchType, fmt.Sprintf("%s reduces in the switch, which computes %s of %s only",
				v.Algo, v.Op, alternatives(types))}
		}
	}
	return nil
}

// alternatives joins names as prose: "a, b or c".
func alternatives[E fmt.Stringer](values []E) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = v.String()
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Canonical returns the variant whose kernel serves v, which is valid. A signed
// integer shares the kernel of the unsigned type of its width: the arithmetic
// is the same, or the work's argument makes it so. The switch's minimum and
// maximum take no argument, so there signed types have kernels of their own
// (NCCL v2.30 src/device/generate.py, equivalent_primary).
func Canonical(v coll.Variant) coll.Variant {
	if v.Func.Reduces() && !(inSwitch(v.Algo) && v.Op == coll.MinMax) {
		v.Type = v.Type.Unsigned()
	}
	return v
}

// Need is the least that a variant needs in NCCL.
type Need struct {
	CUDA int // version of the CUDA runtime as CUDA writes it: 12010 is 12.1; 0 for any
	SM   int // compute capability times 10: 90 is sm_90; 0 for any
}

// needOf returns what v, which is valid, needs (NCCL v2.30
// src/device/generate.py, required_cuda). Our kernels need no CUDA runtime; the
// compute capability holds for ours too.
func needOf(v coll.Variant) Need {
	var need Need
	if v.Func.Reduces() {
		need.SM = v.Type.ReduceSM()
		switch v.Type {
		case coll.BFloat16:
			need.CUDA = 11000
		case coll.F8E4M3, coll.F8E5M2:
			need.CUDA = 11080
		}
	}
	if v.Func.HasAlgo() && inSwitch(v.Algo) {
		need = Need{CUDA: 12010, SM: 90}
	}
	return need
}
