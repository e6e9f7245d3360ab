package ptx

import (
	"iter"
	"slices"
	"sync"
)

// Form is one row of the opcode table: an opcode with the modifiers, types and
// operands that go together, and where they are available.
type Form struct {
	Op Op

	// Syntax is the modifiers in the order of the text, as the PTX ISA writes
	// them: {} marks optional ones, <class> stands for one of a class, <type>
	// for one of Types and <src> for one of SrcTypes.
	Syntax   string
	Types    []Type
	SrcTypes []Type

	// Operands is the operands in the order of the text, separated by spaces:
	//
	//	d  destination register     s  source register or constant
	//	m  source of mov            v  source register or variable
	//	[a]  address                i  constant
	//	{d}, {s}  registers that together have the instruction's type
	//	L  label
	//
	// A type follows a colon: the name of one, src for the second type written,
	// wide for twice the first; without one the first type is meant. Then:
	// ~ the register may be wider, * a vector of Instr.Vec elements, ! may be
	// negated, | may be followed by |p, || must be, ? may be absent.
	Operands string

	PTX Version // introduced in
	SM  int     // least compute capability times 10; 0 if every target has it

	// Unordered is set if the assembler takes the modifiers in any order.
	Unordered bool

	slots    []slot
	operands []operandSpec
}

// table is the opcode table, grouped by opcode.
var table = sync.OnceValue(func() map[Op][]*Form {
	byOp := make(map[Op][]*Form)
	for _, family := range [][]Form{
		integerForms(), bitForms(), floatForms(), halfForms(), compareForms(),
		moveForms(), convertForms(), memoryForms(), atomicForms(), multimemForms(),
		syncForms(), warpForms(), controlForms(), bulkForms(),
	} {
		for i := range family {
			f := &family[i]
			f.slots = parseSlots(f)
			f.operands = parseOperands(f.Operands)
			byOp[f.Op] = append(byOp[f.Op], f)
		}
	}
	return byOp
})

// Forms returns every row of the opcode table, by opcode. The rows are shared
// and must not be changed.
func Forms() []*Form {
	var all []*Form
	byOp := table()
	for op := OpNone + 1; op < numOps; op++ {
		all = append(all, byOp[op]...)
	}
	return all
}

// Spellings yields every opcode with modifiers that the form accepts, with its
// modifiers in the order of Syntax.
func (f *Form) Spellings() iter.Seq[string] {
	return func(yield func(string) bool) { spell(f.Op.String(), f.slots, yield) }
}

func spell(prefix string, slots []slot, yield func(string) bool) bool {
	if len(slots) == 0 {
		return yield(prefix)
	}
	if slots[0].optional && !spell(prefix, slots[1:], yield) {
		return false
	}
	for _, m := range slots[0].choices {
		if !spell(prefix+"."+m.text, slots[1:], yield) {
			return false
		}
	}
	return true
}

// spelling is what one form makes of one dotted name.
type spelling struct {
	form  *Form
	instr Instr // the fields that the modifiers set
	ptx   Version
	sm    int
}

func (s *spelling) apply(m *modifier) {
	m.set(&s.instr)
	s.ptx = later(s.ptx, m.ptx)
	s.sm = max(s.sm, m.sm)
}

// match reads the words after an opcode into sp. It reports whether the form
// takes them all, and how many it took.
func (f *Form) match(words []string, sp *spelling) (bool, int) {
	*sp = spelling{form: f, ptx: f.PTX, sm: f.SM}
	sp.instr.Op = f.Op
	var used uint64 // slots taken
	next := 0
	for n, word := range words {
		at := f.place(word, next, used, sp)
		if at < 0 {
			return false, n
		}
		used |= 1 << at
		if !f.Unordered {
			next = at + 1
		}
	}
	for i := range f.slots {
		if used&(1<<i) != 0 {
			continue
		}
		if !f.slots[i].optional {
			return false, len(words)
		}
		if m := f.slots[i].absent; m != nil {
			m.set(&sp.instr) // what is not written needs no newer version
		}
	}
	if sp.instr.Vec == 0 && f.Op.movesElements() {
		sp.instr.Vec = 1
	}
	return true, len(words)
}

// movesElements reports whether the opcode moves one or more elements between
// registers and memory.
func (o Op) movesElements() bool {
	switch o {
	case OpLd, OpLdu, OpSt, OpAtom, OpRed, OpMultimemLdReduce, OpMultimemSt, OpMultimemRed:
		return true
	}
	return false
}

// place finds the slot that takes word, from slot next on, and applies it. An
// ordered form may skip only optional slots.
func (f *Form) place(word string, next int, used uint64, sp *spelling) int {
	for i := next; i < len(f.slots); i++ {
		if used&(1<<i) != 0 {
			continue
		}
		if m := f.slots[i].find(word); m != nil {
			sp.apply(m)
			return i
		}
		if !f.Unordered && !f.slots[i].optional {
			return -1
		}
	}
	return -1
}

// expected returns the words that the form would take after the first n of
// words, all of which it takes.
func (f *Form) expected(words []string) []string {
	var used uint64
	next := 0
	for _, word := range words {
		at := f.place(word, next, used, &spelling{})
		used |= 1 << at
		if !f.Unordered {
			next = at + 1
		}
	}
	var out []string
	for i := next; i < len(f.slots); i++ {
		if used&(1<<i) != 0 {
			continue
		}
		for _, m := range f.slots[i].choices {
			out = append(out, m.text)
		}
		if !f.Unordered && !f.slots[i].optional {
			break
		}
	}
	return out
}

// types makes a list for a row of the table.
func types(list ...Type) []Type { return list }

// each makes one list of several.
func each(lists ...[]Type) []Type { return slices.Concat(lists...) }

// Lists of types that many rows share.
var (
	signed   = types(S16, S32, S64)
	unsigned = types(U16, U32, U64)
	integers = each(unsigned, signed)
	untyped  = types(B16, B32, B64)
	scalars  = each(untyped, integers, types(F32, F64))
)
