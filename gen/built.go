package gen

import (
	"slices"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/kernel"
)

// family is a set of variants that one header implements.
type family struct {
	Func   coll.Func
	Algo   coll.Algo
	Protos []coll.Proto
	Ops    []coll.RedOp
	Types  []coll.DataType // as callers name them; kernels are those of the canonical types

	Header    string // in templates/cuda
	Algorithm string // class template in Header
}

// families is the part of the space that has sources. A valid variant that is
// in none of them is enumerated but not built.
var families = []family{
	{
		Func:      coll.AllReduce,
		Algo:      coll.Ring,
		Protos:    []coll.Proto{coll.LL, coll.LL128, coll.Simple},
		Ops:       every[coll.RedOp](coll.NumRedOps),
		Types:     every[coll.DataType](coll.NumDataTypes),
		Header:    "all_reduce.cuh",
		Algorithm: "AllReduceRing",
	},
}

// every returns the first n values of an enumeration, which are all.
func every[E ~uint8](n int) []E {
	all := make([]E, n)
	for i := range all {
		all[i] = E(i)
	}
	return all
}

// arithmetic lists, for types whose arithmetic is not of one source for all
// targets, the struct of the headers that kernels use from a target on, by
// compute capability times 10. All other types have one source, for the baseline,
// and their struct has the type's name.
var arithmetic = map[coll.DataType]map[int]string{
	coll.BFloat16: {70: "bf16", 90: "bf16_sm90"},
	coll.F8E4M3:   {90: "f8e4m3"},
	coll.F8E5M2:   {90: "f8e5m2"},
}

// structOf returns the name of the struct with t's arithmetic for a target, ""
// if there is none, and the lowest target that it serves.
func structOf(t coll.DataType, target Target) (name string, from Target) {
	sources, ok := arithmetic[t]
	if !ok {
		return t.String(), Targets[0]
	}
	for _, other := range Targets {
		if other.SM <= target.SM && sources[other.SM] != "" {
			name, from = sources[other.SM], other
		}
	}
	return name, from
}

// Unit is one kernel to build: a canonical variant for one target.
type Unit struct {
	Variant coll.Variant
	Target  Target
	family  *family
}

// Name names the unit's module in the archive: symbol and target.
func (u Unit) Name() string { return kernel.ModuleName(u.Variant.String(), u.Target.SM) }

// Units returns every kernel that has sources, by ID of its variant, then by
// target.
func Units() []Unit {
	var units []Unit
	for i := range families {
		f := &families[i]
		for v := range f.variants() {
			for _, t := range Targets {
				if _, from := structOf(v.Type, t); from == t {
					units = append(units, Unit{v, t, f})
				}
			}
		}
	}
	slices.SortFunc(units, func(a, b Unit) int {
		if a.Variant != b.Variant {
			return int(a.Variant.ID()) - int(b.Variant.ID())
		}
		return a.Target.SM - b.Target.SM
	})
	return units
}

// variants returns the set of the family's valid canonical variants.
func (f *family) variants() map[coll.Variant]bool {
	set := map[coll.Variant]bool{}
	for _, proto := range f.Protos {
		for _, op := range f.Ops {
			for _, t := range f.Types {
				v := coll.Variant{Func: f.Func, Op: op, Type: t, Algo: f.Algo, Proto: proto}
				if Excluded(v) == nil {
					set[Canonical(v)] = true
				}
			}
		}
	}
	return set
}
