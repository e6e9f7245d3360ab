package planner

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
)

// Settings are what a user may say of all decisions of a communicator, as NCCL's
// environment does. The zero value is NCCL's default.
type Settings struct {
	// Algos and Protos restrict algorithms and protocols (NCCL_ALGO, NCCL_PROTO).
	Algos  AlgoRule
	Protos ProtoRule
	// Threads is the most threads of a CTA with LL and Simple in rings and trees,
	// LL128Threads that with LL128 (NCCL_NTHREADS, NCCL_LL128_NTHREADS); 0 stands
	// for the default.
	Threads, LL128Threads int
	// Thresholds, if not nil, are the bytes for each thread below which fewer
	// channels and threads take part, of trees and then rings by protocol
	// (NCCL_THREAD_THRESHOLDS); those below 0 are left to the model.
	Thresholds *[2][coll.NumProtos]int64
	// PAT says when PAT may be used (NCCL_PAT_ENABLE).
	PAT PAT
	// NetOverhead, if not nil, is what posting a send to the network costs, µs
	// (NCCL_NET_OVERHEAD, in ns there). By default it depends on the CPU.
	NetOverhead *float32
	// NoNVLS rules NVLS out (NCCL_NVLS_ENABLE=0).
	NoNVLS bool
	// NoLL128C2C keeps LL128 off paths that may lead through C2C links
	// (NCCL_LL128_C2C=0).
	NoLL128C2C bool
}

// PAT is a setting of NCCL_PAT_ENABLE.
type PAT uint8

const (
	PATAuto PAT = iota // where each node has one rank
	PATOff
	PATOn
)

// ThreadBounds returns what Threads of [Settings] may be, and with LL128 what
// LL128Threads may: a multiple of 32 from the fewest to the most.
func ThreadBounds(p coll.Proto) (fewest, most int) {
	if p == coll.LL128 {
		return minLL128Threads, maxThreads[coll.LL128]
	}
	return minThreads, maxThreads[coll.Simple]
}

// threads returns the most threads of a CTA that settings allow.
func (s *Settings) threads(a coll.Algo, p coll.Proto) int {
	most := s.Threads
	switch {
	case a != coll.Tree && a != coll.Ring:
		most = 0
	case p == coll.LL128:
		most = s.LL128Threads
	}
	return cmp.Or(most, maxThreadsAny)
}

// check refuses settings that no communicator can have.
func (s *Settings) check() error {
	bad := func(format string, args ...any) error {
		return result.New(result.InvalidArgument, opNew, format, args...)
	}
	for _, v := range []struct {
		name  string
		value int
		proto coll.Proto
	}{
		{"NCCL_NTHREADS", s.Threads, coll.Simple},
		{"NCCL_LL128_NTHREADS", s.LL128Threads, coll.LL128},
	} {
		fewest, most := ThreadBounds(v.proto)
		if v.value != 0 && (v.value < fewest || v.value > most || v.value%warpSize != 0) {
			return bad("%s is %d; a multiple of %d from %d to %d is allowed", v.name, v.value, warpSize, fewest, most)
		}
	}
	for f := range coll.Func(coll.NumFuncs) {
		if f.HasAlgo() && s.possible(f) {
			return nil
		}
	}
	return bad("NCCL_ALGO leaves %s and NCCL_PROTO leaves %s to %s, and no function runs so; allow one more of either",
		s.Algos[coll.AllReduce], s.Protos[coll.AllReduce], coll.AllReduce)
}

// possible reports whether what is allowed to a function exists anywhere.
func (s *Settings) possible(f coll.Func) bool {
	for a := range coll.Algo(coll.NumAlgos) {
		for p := range coll.Proto(coll.NumProtos) {
			if s.Algos[f].Has(a) && s.Protos[f].Has(p) && hasAlgo(f, a) && (p == coll.Simple || hasFlags(a)) {
				return true
			}
		}
	}
	return false
}

// hasFlags reports whether an algorithm has the protocols that send flags with the
// data.
func hasFlags(a coll.Algo) bool {
	return a == coll.Tree || a == coll.Ring || a == coll.OneShot || a == coll.TwoShot
}

// AlgoRule says which algorithms each function may use.
type AlgoRule [coll.NumFuncs]AlgoSet

// ProtoRule says which protocols each function may use.
type ProtoRule [coll.NumFuncs]ProtoSet

// ParseAlgos reads a value of NCCL_ALGO: lists of names separated by semicolons.
// The first may be for all functions; each other begins with a function's name and
// a colon and takes the place of what was said of that function before. A list
// after "^" has all names but those.
func ParseAlgos(text string) (AlgoRule, error) {
	sets, err := parseRule(text, coll.NumAlgos, coll.ParseAlgo)
	var rule AlgoRule
	for f := range rule {
		rule[f] = AlgoSet(sets[f])
	}
	return rule, err
}

// ParseProtos reads a value of NCCL_PROTO, which has the form of NCCL_ALGO's.
func ParseProtos(text string) (ProtoRule, error) {
	sets, err := parseRule(text, coll.NumProtos, coll.ParseProto)
	var rule ProtoRule
	for f := range rule {
		rule[f] = ProtoSet(sets[f])
	}
	return rule, err
}

// parseRule reads lists (parseList, NCCL v2.30 src/graph/tuning.cc). What NCCL would
// take for something else, or leave nothing to choose from, is an error.
func parseRule[E ~uint8](text string, n int, parse func(string) (E, error)) (sets [coll.NumFuncs]uint16, err error) {
	first := true
	for list := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(list) == "" {
			continue
		}
		prefix, names, of := strings.Cut(list, ":")
		if !of {
			names = list
		}
		set, err := parseNames(names, n, parse)
		switch {
		case err == errNoNames || err == errNoneLeft:
			return sets, fmt.Errorf("%q %w", strings.TrimSpace(list), err)
		case err != nil:
			return sets, err
		}
		switch {
		case of:
			f, err := parseFunc(prefix)
			if err != nil {
				return sets, err
			}
			sets[f] = set
		case first:
			for f := range sets {
				sets[f] = set
			}
		default:
			return sets, fmt.Errorf("%q has no function in front of it, as every list but the first must: \"allreduce:%s\"",
				strings.TrimSpace(list), strings.TrimSpace(list))
		}
		first = false
	}
	if first {
		return sets, fmt.Errorf("%q names nothing", text)
	}
	return sets, nil
}

// parseFunc reads the name of a function that has algorithms.
func parseFunc(name string) (coll.Func, error) {
	f, err := coll.ParseFunc(strings.TrimSpace(name))
	if err == nil && !f.HasAlgo() {
		err = fmt.Errorf("%s has neither algorithms nor protocols", f)
	}
	return f, err
}

// What a list may be wrong with as a whole, in words that follow it.
var (
	errNoNames  = errors.New("names nothing")
	errNoneLeft = errors.New("leaves nothing to choose from")
)

// parseNames reads one list.
func parseNames[E ~uint8](list string, n int, parse func(string) (E, error)) (uint16, error) {
	names, but := strings.CutPrefix(strings.TrimSpace(list), "^")
	var named uint16
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		v, err := parse(name)
		if err != nil {
			return 0, err
		}
		named |= 1 << v
	}
	switch all := uint16(1<<n - 1); {
	case named == 0:
		return 0, errNoNames
	case but && named == all:
		return 0, errNoneLeft
	case but:
		return all &^ named, nil
	}
	return named, nil
}
