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
	SMs    []int           // targets for which the header has a source of its own

	Header    string // in templates/cuda
	Algorithm string // class template in Header
}

// families is the part of the space that has sources. A valid variant that is
// in none of them is enumerated but not built.
var families = []family{
	{
		Func:      coll.AllReduce,
		Algo:      coll.Ring,
		Protos:    []coll.Proto{coll.LL, coll.Simple},
		Ops:       []coll.RedOp{coll.Sum, coll.Prod, coll.MinMax},
		Types:     []coll.DataType{coll.Int32, coll.Uint32, coll.Uint8, coll.Int8, coll.Float16, coll.Float32, coll.Float64},
		SMs:       []int{70},
		Header:    "all_reduce.cuh",
		Algorithm: "AllReduceRing",
	},
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
				if slices.Contains(f.SMs, t.SM) {
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

// variants returns the set of the family's canonical variants.
func (f *family) variants() map[coll.Variant]bool {
	set := map[coll.Variant]bool{}
	for _, proto := range f.Protos {
		for _, op := range f.Ops {
			for _, t := range f.Types {
				set[Canonical(coll.Variant{Func: f.Func, Op: op, Type: t, Algo: f.Algo, Proto: proto})] = true
			}
		}
	}
	return set
}
