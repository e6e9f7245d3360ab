// Package coll is the vocabulary of collective communication: functions,
// reduction operators, datatypes, algorithms, protocols, and the Variant that
// combines one of each and names a kernel.
//
// It knows nothing else: no device, no topology, no kernel source; it imports
// nothing of this module, so that every other package can import it.
//
// Start reading at [Variant]. The types it is made of are [Func], [RedOp],
// [DataType], [Algo] and [Proto]; [UserOp] is the operator a caller names and
// turns into a RedOp with an argument. [Variant.ID] maps each combination to
// a dense [ID], the index of the generated tables.
//
// All values are plain integers, safe for concurrent use. Parse functions
// return a [*ParseError], which lists what is allowed and the nearest name.
package coll

//go:generate go tool -modfile=../tools.mod stringer -type=Func,Algo,Proto -output zenums_string.go
//go:generate go tool -modfile=../tools.mod stringer -type=RedOp -output zredop_string.go
//go:generate go tool -modfile=../tools.mod stringer -type=DataType,UserOp -linecomment -output znames_string.go
