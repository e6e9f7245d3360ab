package nccl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/abi"
	"github.com/ncclgo/ncclgo/planner"
)

// PlanSettings are what NCCL_* variables say of how operations are done.
type PlanSettings struct {
	Settings planner.Settings
	Limits   planner.Limits
}

// ReadPlanSettings reads the variables by getenv, which is like os.LookupEnv, as
// InitAll does. A value that is none is refused with the variable's name.
func ReadPlanSettings(getenv func(string) (string, bool)) (*PlanSettings, error) {
	e := &environment{getenv: getenv}
	var cfg Config
	e.apply(&cfg)
	if e.err != nil {
		return nil, e.err
	}
	return &PlanSettings{cfg.settings, cfg.limits()}, nil
}

// decisions reads what decisions depend on.
func (e *environment) decisions(s *planner.Settings) {
	rule(e, &s.Algos, planner.ParseAlgos, "NCCL_ALGO")
	rule(e, &s.Protos, planner.ParseProtos, "NCCL_PROTO")
	fewest, most := planner.ThreadBounds(coll.Simple)
	e.integer(&s.Threads, fewest, most, abi.WarpSize, "NCCL_NTHREADS")
	fewest, most = planner.ThreadBounds(coll.LL128)
	e.integer(&s.LL128Threads, fewest, most, abi.WarpSize, "NCCL_LL128_NTHREADS")
	e.thresholds(&s.Thresholds)
	pat := 2
	e.integer(&pat, 0, 2, 1, "NCCL_PAT_ENABLE")
	s.PAT = []planner.PAT{planner.PATOff, planner.PATOn, planner.PATAuto}[pat]
	s.NoNVLS = !e.nvls()
	overhead := -1
	e.integer(&overhead, 0, 1<<30, 1, "NCCL_NET_OVERHEAD")
	if overhead >= 0 {
		// NCCL's is in ns.
		s.NetOverhead = new(float32(float64(overhead) * .001))
	}
	e.flag(&s.NoLL128C2C, false, "NCCL_LL128_C2C")
}

// nvls reads whether NVLS may be used. Where it can be it is, whether 1 or 2 says so.
func (e *environment) nvls() bool {
	nvls := 2
	e.integer(&nvls, 0, 2, 1, "NCCL_NVLS_ENABLE")
	return nvls > 0
}

// rule reads a variable of NCCL_ALGO's form.
func rule[R any](e *environment, field *R, parse func(string) (R, error), name string) {
	_, value, ok := e.lookup(name)
	if !ok {
		return
	}
	r, err := parse(value)
	if err != nil {
		e.refuse(name, value, "%w", err)
		return
	}
	*field = r
}

// thresholds reads NCCL_THREAD_THRESHOLDS: up to six numbers, those of trees and
// then rings, each for LL, LL128 and Simple; less than 0 leaves one to the model.
func (e *environment) thresholds(field **[2][coll.NumProtos]int64) {
	const name = "NCCL_THREAD_THRESHOLDS"
	_, value, ok := e.lookup(name)
	if !ok {
		return
	}
	words := strings.Fields(value)
	t := [2][coll.NumProtos]int64{{-1, -1, -1}, {-1, -1, -1}}
	if len(words) > 2*coll.NumProtos {
		e.refuse(name, value, "%d numbers; at most %d are allowed", len(words), 2*coll.NumProtos)
		return
	}
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil {
			e.refuse(name, value, "%w", fmt.Errorf("%q is not a whole number of at most 31 bits", word))
			return
		}
		t[i/coll.NumProtos][i%coll.NumProtos] = n
	}
	*field = &t
}
