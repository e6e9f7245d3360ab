package gen

import (
	"fmt"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
)

// Target is a class of GPUs that kernels are compiled for.
type Target struct {
	SM  int // least compute capability times 10
	PTX int // version of the PTX ISA times 10, which sets the least driver
}

// Targets lists what kernels may be compiled for, the baseline first. The PTX
// version is the oldest that has what the headers use there: 7.8 is assembled
// by drivers from R520 on, 8.1 by drivers from R530 on (PTX ISA, release
// history). Targets with a suffix (sm_90a) are absent: they don't run on later
// GPUs.
var Targets = []Target{
	{SM: 70, PTX: 78},
	{SM: 90, PTX: 81},
}

// String returns the target's name, such as "sm_70".
func (t Target) String() string { return fmt.Sprintf("sm_%d", t.SM) }

// ParseTargets returns the targets named in a list such as "sm_70,sm_90".
func ParseTargets(list string) ([]Target, error) {
	var chosen []Target
	for _, name := range strings.Split(list, ",") {
		t, err := parseTarget(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, t)
	}
	return chosen, nil
}

func parseTarget(name string) (Target, error) {
	var names []string
	for _, t := range Targets {
		if t.String() == name {
			return t, nil
		}
		names = append(names, t.String())
	}
	return Target{}, &coll.ParseError{What: "target", Given: name, Allowed: names, Nearest: coll.Nearest(name, names)}
}
