package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/internal/result"
)

// walk is one walk through types and operators with one choice of protocols.
type walk struct {
	protos []coll.Proto // what the planner may choose from; nil: anything
	cases  []typeOp
	// variants are the kernels that the cases may ask for.
	variants []coll.Variant
}

// replay names the pass of w with a seed.
func (w walk) replay(seed uint64) Replay { return Replay{seed, w.protos} }

// typeOp is a type and an operator.
type typeOp struct {
	typ coll.DataType
	op  coll.UserOp
}

// chooseWalks returns what is to run, and what this build or the machine cannot.
func chooseWalks(c *Config, m *Machine, getenv func(string) (string, bool)) (walks []walk, skipped []report.Skipped, err error) {
	oldest := m.oldest(c.Threads * c.GPUs)
	sm := m.gpus[oldest].SM
	choices := [][]coll.Proto{nil}
	if len(c.Protos) > 0 {
		choices = nil
		for _, p := range c.Protos {
			choices = append(choices, []coll.Proto{p})
		}
	}
	for _, protos := range choices {
		w := walk{protos: protos}
		name := ""
		if len(c.Protos) > 1 {
			name = protos[0].String()
		}
		unsafe := ""
		if protos != nil {
			if unsafe, err = m.unsafe(c, protos[0], getenv); err != nil {
				return nil, nil, &Refusal{err}
			}
		}
		for _, t := range c.Types {
			for _, o := range c.Ops {
				k := typeOp{t, o}
				variants, err := builtVariants(k, sm, c.Algos, protos)
				var old *generated.SMError
				if errors.As(err, &old) {
					old.GPU = fmt.Sprintf("GPU %d", oldest)
				}
				switch {
				case err != nil || unsafe == "":
				case name != "":
					err = errors.New(unsafe)
				default:
					err = fmt.Errorf("%v %s; choose LL, Simple or auto", protos[0], unsafe)
				}
				switch {
				case err == nil:
					w.cases = append(w.cases, k)
					if c.Trace {
						// To say why not, the planner must know the others.
						variants, _ = builtVariants(k, sm, nil, nil)
					}
					w.variants = append(w.variants, variants...)
				case !c.SkipUnbuilt:
					return nil, nil, refuse("%s %s: %w", t.LongName(), o, err)
				default:
					s := report.Skipped{Type: t.LongName(), Op: o.String(), Proto: name, Reason: reason(err)}
					if old != nil {
						s.Proto = "" // no other would do
					}
					if !slices.Contains(skipped, s) {
						skipped = append(skipped, s)
					}
				}
			}
		}
		if len(w.cases) > 0 {
			walks = append(walks, w)
		}
	}
	if len(walks) == 0 {
		return nil, nil, refuse("nothing to run: %s", skipped[0].Reason)
	}
	return walks, skipped, nil
}

// reason is why a case is left out, without its name.
func reason(err error) string {
	if errors.Is(err, result.ErrNotBuilt) {
		return result.ErrNotBuilt.Error()
	}
	return err.Error()
}

// builtVariants returns the kernels that can serve k on GPUs of compute capability
// sm, times 10, with the given choices, nil for any. If there is none the error is
// the most helpful: that there is one for newer GPUs, or else that none is built,
// rather than a rule that excludes some algorithm or protocol.
func builtVariants(k typeOp, sm int, algos []coll.Algo, protos []coll.Proto) ([]coll.Variant, error) {
	tried, among := algos, protos
	if tried == nil {
		tried = every[coll.Algo](coll.NumAlgos)
	}
	if among == nil {
		among = every[coll.Proto](coll.NumProtos)
	}
	var (
		built []coll.Variant
		why   error
		old   *generated.SMError
	)
	for _, a := range tried {
		for _, p := range among {
			v := coll.Variant{Func: coll.AllReduce, Op: k.op.Device(k.typ), Type: k.typ, Algo: a, Proto: p}
			_, err := generated.Lookup(v, sm)
			switch {
			case err == nil:
				built = append(built, v)
			case errors.As(err, &old):
			case why == nil || errors.Is(err, result.ErrNotBuilt) && !errors.Is(why, result.ErrNotBuilt):
				why = err
			}
		}
	}
	switch {
	case built != nil:
		return built, nil
	case old != nil:
		return nil, old
	case errors.Is(why, result.ErrNotBuilt):
		return nil, notBuilt(k, sm, algos, protos)
	default:
		return nil, why
	}
}

// notBuilt is the error of a case without a kernel, in the words of the flags: what
// was chosen, and what could have been.
func notBuilt(k typeOp, sm int, algos []coll.Algo, protos []coll.Proto) error {
	if algos == nil && protos == nil {
		return fmt.Errorf("%w; nccl-gen -list -built lists what is", result.ErrNotBuilt)
	}
	choice := "any algorithm"
	if algos != nil {
		choice = fmt.Sprintf("%v", algos[0])
	}
	if protos != nil {
		choice += fmt.Sprintf(" with %v", protos[0])
	}
	possible, err := builtVariants(k, sm, nil, nil)
	if err != nil {
		return err
	}
	var names []string
	for _, v := range possible {
		names = append(names, fmt.Sprintf("%v %v", v.Algo, v.Proto))
	}
	return fmt.Errorf("%s: %w; possible: %s", choice, result.ErrNotBuilt, strings.Join(names, ", "))
}

func every[E ~uint8](n int) []E {
	all := make([]E, n)
	for i := range all {
		all[i] = E(i)
	}
	return all
}
