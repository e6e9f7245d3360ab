package gen

import (
	"slices"

	"github.com/ncclgo/ncclgo/coll"
)

// Row is one line of the variant space.
type Row struct {
	Variant coll.Variant
	// Reason is nil if the variant is valid, else the rule that excludes it.
	Reason *Reason
	// Canonical is the variant whose kernel serves this one. Invalid variants
	// have none: the zero Variant.
	Canonical coll.Variant
	// Primary is the number NCCL 2.30 gives the device function of Canonical,
	// or NoPrimary for variants that NCCL does not have.
	Primary int
	// Need is what NCCL asks for before it uses the variant.
	Need Need
}

// NoPrimary is the Primary of a variant without a device function in NCCL.
const NoPrimary = -1

// NumNCCLRows is how many rows of the space NCCL 2.30 enumerates. They come
// first, in its order.
const NumNCCLRows = 1999

// ncclFuncs is the order in which NCCL enumerates functions (NCCL v2.30
// src/device/generate.py, enumerate_func_rows).
var ncclFuncs = []coll.Func{
	coll.SendRecv, coll.AllGather, coll.Broadcast, coll.AllGatherV, coll.AllReduce, coll.Reduce, coll.ReduceScatter,
}

// Space returns every variant there is, coll.NumIDs rows: first the rows that
// NCCL 2.30 enumerates, in its order, then the rest by ID.
func Space() []Row {
	variants := ncclVariants()
	enumerated := make([]bool, coll.NumIDs)
	for _, v := range variants {
		enumerated[v.ID()] = true
	}
	for id := range coll.ID(coll.NumIDs) {
		if !enumerated[id] {
			variants = append(variants, id.Variant())
		}
	}

	rows := make([]Row, len(variants))
	for i, v := range variants {
		rows[i] = Row{Variant: v, Reason: Excluded(v), Primary: NoPrimary}
		if rows[i].Reason == nil {
			rows[i].Canonical = Canonical(v)
			rows[i].Need = needOf(v)
		}
	}
	primaries := numberPrimaries(rows[:NumNCCLRows])
	for i, row := range rows[:NumNCCLRows] {
		if row.Reason == nil {
			rows[i].Primary = primaries[row.Canonical]
		}
	}
	return rows
}

// ncclVariants returns the variants that NCCL enumerates: for each function its
// operators, types, algorithms and protocols, the last fastest.
func ncclVariants() []coll.Variant {
	var variants []coll.Variant
	for _, f := range ncclFuncs {
		if !f.HasAlgo() {
			variants = append(variants, coll.Variant{Func: f})
			continue
		}
		ops, types := coll.RedOp(1), coll.DataType(1)
		if f.Reduces() {
			ops, types = coll.NumRedOps, coll.NumDataTypes
		}
		for op := range ops {
			for t := range types {
				for algo := range coll.Algo(coll.NumNCCLAlgos) {
					if !slices.Contains(algosOf[f], algo) {
						continue
					}
					for proto := range coll.Proto(coll.NumProtos) {
						variants = append(variants, coll.Variant{Func: f, Op: op, Type: t, Algo: algo, Proto: proto})
					}
				}
			}
		}
	}
	return variants
}

// numberPrimaries numbers the canonical variants of the valid rows as NCCL
// numbers its device functions: sorted by the names of function, operator,
// type, algorithm and protocol, one after the other (NCCL v2.30
// src/device/generate.py, primary_funcs).
func numberPrimaries(rows []Row) map[coll.Variant]int {
	var canonical []coll.Variant
	for _, row := range rows {
		if row.Reason == nil {
			canonical = append(canonical, row.Canonical)
		}
	}
	slices.SortFunc(canonical, func(a, b coll.Variant) int {
		return slices.Compare(sortKey(a), sortKey(b))
	})
	numbers := map[coll.Variant]int{}
	for _, v := range slices.Compact(canonical) {
		numbers[v] = len(numbers)
	}
	return numbers
}

// sortKey returns the names of v's fields; those that the function lacks are
// empty.
func sortKey(v coll.Variant) []string {
	fields := []string{v.Func.String(), "", "", "", ""}
	if v.Func.Reduces() {
		fields[1], fields[2] = v.Op.String(), v.Type.String()
	}
	if v.Func.HasAlgo() {
		fields[3], fields[4] = v.Algo.Symbol(), v.Proto.Symbol()
	}
	return fields
}
