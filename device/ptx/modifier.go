package ptx

import "strings"

// modifier is one dotted word after an opcode: what it means and the least PTX
// version and compute capability of its use, where they are above those of the
// form it appears in.
type modifier struct {
	text string
	set  func(*Instr)
	ptx  Version
	sm   int
}

func nothing(*Instr) {}

func setRound(r Round) func(*Instr) { return func(i *Instr) { i.Round = r } }
func setMode(m Mode) func(*Instr)   { return func(i *Instr) { i.Mode = m } }
func setDir(m Mode) func(*Instr)    { return func(i *Instr) { i.Dir = m } }
func setCmp(c Cmp) func(*Instr)     { return func(i *Instr) { i.Cmp = c } }
func setBool(b Bool) func(*Instr)   { return func(i *Instr) { i.Bool = b } }
func setAtom(a Atom) func(*Instr)   { return func(i *Instr) { i.Atom = a } }
func setSem(s Sem) func(*Instr)     { return func(i *Instr) { i.Sem = s } }
func setScope(s Scope) func(*Instr) { return func(i *Instr) { i.Scope = s } }
func setSpace(s Space) func(*Instr) { return func(i *Instr) { i.Space = s } }
func setVec(n uint8) func(*Instr)   { return func(i *Instr) { i.Vec = n } }

// class is a set of modifiers of which a form takes one. A form names it as
// <class>, or <class:a|b> for a part of it.
type class []modifier

// sub returns the members of c called names, in their order.
func (c class) sub(names []string) class {
	var out class
	for _, name := range names {
		for _, m := range c {
			if m.text == name {
				out = append(out, m)
			}
		}
	}
	return out
}

// enumClass makes a class of the enum values from first to last, by their
// strings.
func enumClass[E interface {
	~uint8
	String() string
}](first, last E, set func(E) func(*Instr)) class {
	var out class
	for e := first; e <= last; e++ {
		out = append(out, modifier{text: e.String(), set: set(e)})
	}
	return out
}

// classes holds the modifier classes by name. "flag" is the class of a word
// that a form names without a class; "ignored" has words without a meaning of
// their own to a reader of Instr: the only choice their form has, hints to the
// caches, and words that another field already tells.
var classes = map[string]class{
	"flag": {
		{text: "sat", set: func(i *Instr) { i.Sat = true }},
		{text: "satfinite", set: func(i *Instr) { i.SatFinite = true }},
		{text: "relu", set: func(i *Instr) { i.Relu = true }},
		{text: "ftz", set: func(i *Instr) { i.FTZ = true }},
		{text: "approx", set: func(i *Instr) { i.Approx = true }},
		{text: "full", set: func(i *Instr) { i.Full = true }},
		{text: "NaN", set: func(i *Instr) { i.NaN = true }},
		{text: "xorsign", set: func(i *Instr) { i.XorSign = true }},
		{text: "cc", set: func(i *Instr) { i.CC = true }},
		{text: "shiftamt", set: func(i *Instr) { i.ShiftAmt = true }},
		{text: "to", set: func(i *Instr) { i.To = true }},
		{text: "uni", set: func(i *Instr) { i.Uniform = true }},
		{text: "aligned", set: func(i *Instr) { i.Aligned = true }},
		{text: "acc::f32", set: func(i *Instr) { i.AccF32 = true }, ptx: Version{8, 2}},
		{text: "read", set: func(i *Instr) { i.Read = true }},
	},
	"ignored": {
		{text: "sync", set: nothing},
		{text: "red", set: nothing},
		{text: "proxy", set: nothing},
		{text: "abs", set: nothing},
		{text: "noftz", set: nothing},
		{text: "relaxed", set: nothing},
		{text: "cta", set: nothing, ptx: Version{7, 8}},
		{text: "L1", set: nothing},
		{text: "L2", set: nothing},
		{text: "global", set: nothing},
		{text: "shared::cta", set: nothing},
		{text: "mbarrier::complete_tx::bytes", set: nothing},
		{text: "bulk_group", set: nothing},
	},

	"rnd":  enumClass(RN, RP, setRound),
	"rna":  enumClass(RNA, RNA, setRound),
	"irnd": enumClass(RNI, RPI, setRound),

	"mul":   enumClass(Lo, Wide, setMode),
	"wrap":  enumClass(Wrap, Clamp, setMode),
	"dir":   enumClass(Left, Right, setDir),
	"prmt":  enumClass(F4E, RC16, setMode),
	"shfl":  enumClass(Up, Idx, setMode),
	"vote":  enumClass(All, Ballot, setMode),
	"testp": enumClass(Finite, Subnormal, setMode),
	"bar":   enumClass(Sync, Arrive, setMode),
	"barred": {
		{text: "popc", set: setMode(RedPopc)},
		{text: "and", set: setMode(RedAnd)},
		{text: "or", set: setMode(RedOr)},
	},
	"proxy": {
		{text: "alias", set: setMode(ProxyAlias)},
		{text: "async", set: setMode(ProxyAsync)},
	},
	"parity": {{text: "parity", set: setMode(Parity), ptx: Version{7, 1}}},

	"cmp":  enumClass(EQ, NAN, setCmp),
	"bool": enumClass(And, Xor, setBool),
	"op":   enumClass(AtomAnd, AtomMax, setAtom),

	"sem": enumClass(Weak, SeqCst, setSem),
	"volatile": {{text: "volatile", set: func(i *Instr) {
		i.Sem, i.Scope = Volatile, System
	}}},
	"nc":   enumClass(NonCoherent, NonCoherent, setSem),
	"mmio": enumClass(MMIO, MMIO, setSem),
	"scope": {
		{text: "cta", set: setScope(CTA)},
		{text: "cluster", set: setScope(Cluster), ptx: Version{7, 8}, sm: 90},
		{text: "gpu", set: setScope(GPU)},
		{text: "sys", set: setScope(System)},
	},
	// membar's names for the scopes.
	"level": {
		{text: "cta", set: setScope(CTA)},
		{text: "gl", set: setScope(GPU)},
		{text: "sys", set: setScope(System)},
	},
	// Orders and scopes came to atom and red after atom and red themselves.
	"atomsem": {
		{text: "relaxed", set: setSem(Relaxed), ptx: Version{6, 0}, sm: 70},
		{text: "acquire", set: setSem(Acquire), ptx: Version{6, 0}, sm: 70},
		{text: "release", set: setSem(Release), ptx: Version{6, 0}, sm: 70},
		{text: "acq_rel", set: setSem(AcqRel), ptx: Version{6, 0}, sm: 70},
	},
	"atomscope": {
		{text: "cta", set: setScope(CTA), ptx: Version{5, 0}, sm: 60},
		{text: "cluster", set: setScope(Cluster), ptx: Version{7, 8}, sm: 90},
		{text: "gpu", set: setScope(GPU), ptx: Version{5, 0}, sm: 60},
		{text: "sys", set: setScope(System), ptx: Version{5, 0}, sm: 60},
	},

	"space": {
		{text: "global", set: setSpace(Global)},
		{text: "shared", set: setSpace(Shared)},
		{text: "shared::cta", set: setSpace(Shared), ptx: Version{7, 8}, sm: 30},
		// A CTA that is alone in its cluster has no other shared memory.
		{text: "shared::cluster", set: setSpace(Shared), ptx: Version{7, 8}, sm: 90},
		{text: "local", set: setSpace(Local)},
		{text: "param", set: setSpace(Param)},
		{text: "param::entry", set: setSpace(Param), ptx: Version{8, 3}},
		{text: "const", set: setSpace(Const)},
	},
	// Spaces whose pointers became convertible late.
	"latespace": {
		{text: "const", set: setSpace(Const), ptx: Version{3, 1}},
		{text: "param", set: setSpace(Param), ptx: Version{7, 7}, sm: 70},
		{text: "param::entry", set: setSpace(Param), ptx: Version{8, 3}, sm: 70},
	},

	"vec": {
		{text: "v2", set: setVec(2)},
		{text: "v4", set: setVec(4)},
		{text: "v8", set: setVec(8)},
	},

	// Hints to the caches: read and ignored.
	"loadcache": {
		{text: "ca", set: nothing}, {text: "cg", set: nothing}, {text: "cs", set: nothing},
		{text: "lu", set: nothing}, {text: "cv", set: nothing},
	},
	"storecache": {
		{text: "wb", set: nothing}, {text: "cg", set: nothing}, {text: "cs", set: nothing},
		{text: "wt", set: nothing},
	},
	"evict": {
		{text: "L1::evict_normal", set: nothing, ptx: Version{7, 4}, sm: 70},
		{text: "L1::evict_unchanged", set: nothing, ptx: Version{7, 4}, sm: 70},
		{text: "L1::evict_first", set: nothing, ptx: Version{7, 4}, sm: 70},
		{text: "L1::evict_last", set: nothing, ptx: Version{7, 4}, sm: 70},
		{text: "L1::no_allocate", set: nothing, ptx: Version{7, 4}, sm: 70},
	},
	"prefetch": {
		{text: "L2::64B", set: nothing, ptx: Version{7, 4}, sm: 75},
		{text: "L2::128B", set: nothing, ptx: Version{7, 4}, sm: 75},
		{text: "L2::256B", set: nothing, ptx: Version{7, 4}, sm: 80},
	},
}

// typeClass makes a class of types, for the place of a form's first or second
// type.
func typeClass(types []Type, set func(*Instr, Type)) class {
	out := make(class, len(types))
	for i, t := range types {
		out[i] = modifier{text: t.String(), set: func(in *Instr) { set(in, t) }}
	}
	return out
}

// slot is one place of a form's modifiers.
type slot struct {
	choices  class
	optional bool
	absent   *modifier // what an optional place means when it is empty; nil for nothing
}

// find returns the modifier spelled word, nil if the slot does not take it.
func (s *slot) find(word string) *modifier {
	for i := range s.choices {
		if s.choices[i].text == word {
			return &s.choices[i]
		}
	}
	return nil
}

// parseSlots reads a form's modifier syntax:
//
//	.x         one of x: <class>, <class:a|b>, <type>, <src> or a flag
//	{.x}       the same, optional
//	{.x=y}     optional, and y where it is absent
//	+x         not written, always meant
func parseSlots(f *Form) []slot {
	var slots []slot
	for rest := f.Syntax; rest != ""; {
		var item string
		optional := rest[0] == '{'
		switch {
		case optional:
			item, rest, _ = strings.Cut(rest[1:], "}")
		default:
			end := strings.IndexAny(rest[1:], ".{+") + 1
			if end == 0 {
				end = len(rest)
			}
			item, rest = rest[:end], rest[end:]
		}
		text, absent, _ := strings.Cut(item[1:], "=")
		s := slot{choices: slotChoices(f, text), optional: optional}
		switch {
		case item[0] == '+':
			s = slot{optional: true, absent: &s.choices[0]}
		case absent != "":
			name := strings.Trim(strings.SplitN(text, ":", 2)[0], "<>")
			s.absent = &classes[name].sub([]string{absent})[0]
		}
		slots = append(slots, s)
	}
	return slots
}

// slotChoices returns what a place spelled text takes.
func slotChoices(f *Form, text string) class {
	switch text {
	case "<type>":
		return typeClass(f.Types, func(i *Instr, t Type) { i.Type = t })
	case "<src>":
		return typeClass(f.SrcTypes, func(i *Instr, t Type) { i.SrcType = t })
	}
	name, members := "flag", []string{text}
	if strings.HasPrefix(text, "<") {
		var list string
		name, list, _ = strings.Cut(strings.Trim(text, "<>"), ":")
		members = strings.Split(list, "|")
		if list == "" {
			return classes[name]
		}
	}
	c := classes[name].sub(members)
	if len(c) != len(members) {
		panic("ptx: BUG: form of " + f.Op.String() + " has an unknown modifier: " + text)
	}
	return c
}
