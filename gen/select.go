package gen

import (
	"fmt"
	"path"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
)

// Pattern is a set of variants, written as NCCL's build writes ONLY_FUNCS.
type Pattern struct {
	terms []term
}

// term is one alternative of a pattern: for each field the values it allows,
// nil for all.
type term struct {
	funcs  map[coll.Func]bool
	ops    map[coll.RedOp]bool
	types  map[coll.DataType]bool
	algos  map[coll.Algo]bool
	protos map[coll.Proto]bool
}

// ParsePattern reads a pattern: words for function, operator, type, algorithm
// and protocol; functions that reduce nothing have no operator and type. A word
// is a name, several joined by |, or * for all; words left out at the end mean
// all. A function's name after | or a space starts another term, so that
//
//	AllReduce Sum|Prod f32 * * | AllGather RING LL | SendRecv
//
// has three. An unknown name is a [*coll.ParseError], which lists the known
// ones.
func ParsePattern(text string) (*Pattern, error) {
	p := &Pattern{}
	for _, words := range splitTerms(text) {
		t, err := parseTerm(words)
		if err != nil {
			return nil, err
		}
		p.terms = append(p.terms, t)
	}
	if len(p.terms) == 0 {
		return nil, fmt.Errorf("empty pattern; a pattern reads like %q", "AllReduce Sum f32 * *")
	}
	return p, nil
}

// splitTerms splits a pattern into terms and those into words.
func splitTerms(text string) [][]string {
	var terms [][]string
	joined := false // the next name continues the word before it
	for _, word := range strings.Fields(text) {
		for i, name := range strings.Split(word, "|") {
			if i > 0 {
				joined = true
			}
			name = strings.Trim(name, "()")
			if name == "" {
				continue
			}
			_, err := coll.ParseFunc(name)
			last := len(terms) - 1
			switch {
			case last < 0, err == nil && !(joined && len(terms[last]) == 1):
				terms = append(terms, []string{name})
			case joined:
				terms[last][len(terms[last])-1] += "|" + name
			default:
				terms[last] = append(terms[last], name)
			}
			joined = false
		}
	}
	return terms
}

func parseTerm(words []string) (term, error) {
	var t term
	var err error
	if t.funcs, err = choose(words[0], coll.NumFuncs, coll.ParseFunc); err != nil {
		return t, err
	}
	reduces := t.funcs == nil
	for f := range t.funcs {
		reduces = reduces || f.Reduces()
	}
	fields := 5
	if !reduces {
		fields = 3
	}
	if len(words) == 5 && !reduces {
		return t, fmt.Errorf("%s has no operator and no type; a term for it reads like %q", words[0], "AllGather RING LL")
	}
	if len(words) > fields {
		return t, fmt.Errorf("pattern %q has more than %d words", strings.Join(words, " "), fields)
	}
	if !reduces {
		words = append([]string{words[0], "*", "*"}, words[1:]...)
	}
	for len(words) < 5 {
		words = append(words, "*")
	}
	if t.ops, err = choose(words[1], coll.NumRedOps, coll.ParseRedOp); err != nil {
		return t, err
	}
	if t.types, err = choose(words[2], coll.NumDataTypes, coll.ParseDataType); err != nil {
		return t, err
	}
	if t.algos, err = choose(words[3], coll.NumAlgos, coll.ParseAlgo); err != nil {
		return t, err
	}
	t.protos, err = choose(words[4], coll.NumProtos, coll.ParseProto)
	return t, err
}

// choose returns the values below n that a word names, nil for all.
func choose[E interface {
	~uint8
	String() string
}](word string, n int, parse func(string) (E, error)) (map[E]bool, error) {
	chosen := map[E]bool{}
	for _, name := range strings.Split(word, "|") {
		if name == "*" {
			return nil, nil
		}
		if strings.Contains(name, "*") {
			for i := range n {
				if ok, _ := path.Match(strings.ToLower(name), strings.ToLower(E(i).String())); ok {
					chosen[E(i)] = true
				}
			}
			if len(chosen) > 0 {
				continue
			}
		}
		value, err := parse(name)
		if err != nil {
			return nil, err
		}
		chosen[value] = true
	}
	return chosen, nil
}

// Match reports whether v is in the pattern. A field that v's function does not
// have matches * only.
func (p *Pattern) Match(v coll.Variant) bool {
	reduces, algo := v.Func.Reduces(), v.Func.HasAlgo()
	for _, t := range p.terms {
		if has(t.funcs, v.Func, true) && has(t.ops, v.Op, reduces) && has(t.types, v.Type, reduces) &&
			has(t.algos, v.Algo, algo) && has(t.protos, v.Proto, algo) {
			return true
		}
	}
	return false
}

// has reports whether a set, nil for all, has a value, which may be absent.
func has[E comparable](set map[E]bool, value E, present bool) bool {
	return set == nil || present && set[value]
}

// MatchUnit reports whether the pattern names u's variant or one that u's
// kernel serves too: i32 names the kernel of u32.
func (p *Pattern) MatchUnit(u Unit) bool {
	if !u.Variant.Func.Reduces() {
		return p.Match(u.Variant)
	}
	for t := range coll.DataType(coll.NumDataTypes) {
		v := u.Variant
		v.Type = t
		if Excluded(v) == nil && Canonical(v) == u.Variant && p.Match(v) {
			return true
		}
	}
	return false
}
