package coll

import (
	"fmt"
	"strings"
	"sync"
)

// Variant is the key of a kernel: one combination of function, operator, type,
// algorithm and protocol. Fields that Func does not have are zero: see
// [Func.Reduces] and [Func.HasAlgo].
type Variant struct {
	Func  Func
	Op    RedOp
	Type  DataType
	Algo  Algo
	Proto Proto
}

// String returns the kernel symbol in NCCL's spelling: the fields that the
// function has, joined by underscores ("AllReduce_Sum_f32_RING_LL").
func (v Variant) String() string {
	parts := []string{v.Func.String()}
	if v.Func.Reduces() {
		parts = append(parts, v.Op.String(), v.Type.String())
	}
	if v.Func.HasAlgo() {
		parts = append(parts, v.Algo.Symbol(), v.Proto.Symbol())
	}
	return strings.Join(parts, "_")
}

// variants holds every variant by its name in lower case.
var variants = sync.OnceValue(func() map[string]Variant {
	byName := make(map[string]Variant, NumIDs)
	for id := range ID(NumIDs) {
		v := id.Variant()
		byName[strings.ToLower(v.String())] = v
	}
	return byName
})

// ParseVariant is the inverse of [Variant.String], in any case.
func ParseVariant(s string) (Variant, error) {
	if v, ok := variants()[strings.ToLower(s)]; ok {
		return v, nil
	}
	return Variant{}, fmt.Errorf("unknown variant %q; a variant reads like %s", s,
		Variant{AllReduce, Sum, Float32, Ring, LL})
}

// ID is the dense number of a Variant, from 0 to NumIDs-1.
type ID uint16

const (
	idsPerAlgoProto = NumAlgos * NumProtos
	idsPerReduction = NumRedOps * NumDataTypes * idsPerAlgoProto
)

// NumIDs is the number of variants: every combination, valid or not.
const NumIDs = 3*idsPerAlgoProto + 3*idsPerReduction + 1

// firstID holds the ID of each function's first variant.
var firstID = func() (first [NumFuncs + 1]ID) {
	for f := range Func(NumFuncs) {
		n := 1
		if f.Reduces() {
			n *= NumRedOps * NumDataTypes
		}
		if f.HasAlgo() {
			n *= idsPerAlgoProto
		}
		first[f+1] = first[f] + ID(n)
	}
	return first
}()

// ID returns the dense number of v. Fields that v's function does not have
// are ignored.
func (v Variant) ID() ID {
	id := firstID[v.Func]
	if !v.Func.HasAlgo() {
		return id
	}
	id += ID(v.Algo)*ID(NumProtos) + ID(v.Proto)
	if v.Func.Reduces() {
		id += (ID(v.Op)*ID(NumDataTypes) + ID(v.Type)) * idsPerAlgoProto
	}
	return id
}

// Variant returns the combination whose number is id, which is below NumIDs.
func (id ID) Variant() Variant {
	var v Variant
	for id >= firstID[v.Func+1] {
		v.Func++
	}
	id -= firstID[v.Func]
	if v.Func.HasAlgo() {
		v.Proto = Proto(id % NumProtos)
		v.Algo = Algo(id / NumProtos % NumAlgos)
	}
	if v.Func.Reduces() {
		row := id / idsPerAlgoProto
		v.Type = DataType(row % NumDataTypes)
		v.Op = RedOp(row / NumDataTypes)
	}
	return v
}
