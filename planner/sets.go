package planner

import (
	"strings"

	"github.com/ncclgo/ncclgo/coll"
)

// AlgoSet is a set of algorithms; the empty set stands for all.
type AlgoSet uint16

// Algos returns the set of the given algorithms.
func Algos(algos ...coll.Algo) AlgoSet {
	var s AlgoSet
	for _, a := range algos {
		s |= 1 << a
	}
	return s
}

// Has reports whether a is in s.
func (s AlgoSet) Has(a coll.Algo) bool { return s == 0 || s>>a&1 != 0 }

// String returns the names in s, "any algorithm" for all.
func (s AlgoSet) String() string {
	if s == 0 {
		return "any algorithm"
	}
	var names []string
	for a := range coll.Algo(coll.NumAlgos) {
		if s.Has(a) {
			names = append(names, a.String())
		}
	}
	return strings.Join(names, " or ")
}

// ProtoSet is a set of protocols; the empty set stands for all.
type ProtoSet uint8

// Protos returns the set of the given protocols.
func Protos(protos ...coll.Proto) ProtoSet {
	var s ProtoSet
	for _, p := range protos {
		s |= 1 << p
	}
	return s
}

// Has reports whether p is in s.
func (s ProtoSet) Has(p coll.Proto) bool { return s == 0 || s>>p&1 != 0 }

// String returns the names in s, "any protocol" for all.
func (s ProtoSet) String() string {
	if s == 0 {
		return "any protocol"
	}
	var names []string
	for p := range coll.Proto(coll.NumProtos) {
		if s.Has(p) {
			names = append(names, p.String())
		}
	}
	return strings.Join(names, " or ")
}
