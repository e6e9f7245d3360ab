package ptx

import (
	"fmt"
	"slices"
	"strings"
)

// parseInstr reads a label or an instruction with its guard.
func (p *parser) parseInstr() error {
	guard, not := int32(-1), false
	if p.tok.is('@') {
		p.next()
		if not = p.tok.is('!'); not {
			p.next()
		}
		name, err := p.word("a predicate")
		if err != nil {
			return err
		}
		r, _ := p.lookup(name)
		if r < 0 {
			return p.undeclared("predicate", name)
		}
		if t := p.entry.Regs[r].Type; t != Pred {
			return p.errorf("the guard %s is .%s, not a predicate", name, t)
		}
		guard = r
	}
	start := p.tok
	name, err := p.word("an instruction")
	if err != nil {
		return err
	}
	if p.tok.is(':') && guard < 0 {
		p.next()
		return p.addLabel(name)
	}
	for p.tok.kind == tokenWord && p.tok.text[0] == '.' {
		name += p.tok.text
		p.next()
	}
	spellings, err := p.spell(name)
	if err != nil {
		return err
	}
	if err := p.readOperands(); err != nil {
		return err
	}
	text := collapse(p.text[start.pos:p.tok.pos])
	if err := p.addInstr(spellings, Instr{Line: start.line, Text: text, Name: name, Guard: guard, GuardNot: not}); err != nil {
		return err
	}
	p.next()
	return nil
}

// readOperands reads operands up to the semicolon.
func (p *parser) readOperands() error {
	p.raws = p.raws[:0]
	for !p.tok.is(';') {
		if len(p.raws) > 0 {
			if !p.tok.is(',') {
				return p.unexpected(", or ;")
			}
			p.next()
		}
		o, err := p.operand()
		if err != nil {
			return err
		}
		p.raws = append(p.raws, o)
	}
	return nil
}

// addInstr decodes an instruction by the one of spellings that its operands fit
// and adds it to the kernel.
func (p *parser) addInstr(spellings []*spelling, in Instr) error {
	var sp *spelling
	for _, candidate := range spellings {
		var ok bool
		if p.fit, ok = candidate.shape(p.raws, p.fit); ok {
			sp = candidate
			break
		}
	}
	if sp == nil {
		return p.shapeError(spellings)
	}

	line, text, name, guard, not := in.Line, in.Text, in.Name, in.Guard, in.GuardNot
	in = sp.instr
	in.Line, in.Text, in.Name, in.Guard, in.GuardNot, in.spelling = line, text, name, guard, not, sp
	dst := 0
	operands := p.room(len(p.fit))
	for i, spec := range p.fit {
		o, err := p.bind(&in, spec, &p.raws[i])
		if err != nil {
			return p.operandError(err, i)
		}
		if spec.role == roleLabel {
			continue
		}
		if spec.isDst() {
			dst++
		}
		operands = append(operands, o)
	}
	if dst > 0 {
		in.Dst = operands[:dst:dst]
	}
	if len(operands) > dst {
		in.Src = operands[dst:]
	}
	p.entry.Code = append(p.entry.Code, in)
	return nil
}

// operandError adds which operand an error is about.
func (p *parser) operandError(err error, i int) error {
	if e, ok := err.(*Error); ok {
		return e
	}
	return fmt.Errorf("operand %d: %w", i+1, err)
}

// room returns an empty list with room for n operands, out of a larger one.
func (p *parser) room(n int) []Operand {
	const block = 512
	if cap(p.operands)-len(p.operands) < n {
		p.operands = make([]Operand, 0, block)
	}
	end := len(p.operands) + n
	list := p.operands[len(p.operands):len(p.operands):end]
	p.operands = p.operands[:end]
	return list
}

// shapeError says which operands an instruction takes.
func (p *parser) shapeError(spellings []*spelling) error {
	var takes []string
	for _, sp := range spellings {
		if n := sp.form.Operands; !slices.Contains(takes, n) {
			takes = append(takes, n)
		}
	}
	have := make([]string, len(p.raws))
	for i := range p.raws {
		have[i] = p.raws[i].kind.String()
	}
	found := strings.Join(have, ", ")
	if found == "" {
		found = "none"
	}
	if len(takes) == 1 && takes[0] == "" {
		return fmt.Errorf("%s takes no operands, found %s", spellings[0].form.Op, found)
	}
	return fmt.Errorf("operands do not fit %s, which takes %s; found %s",
		spellings[0].form.Op, strings.Join(takes, " or "), found)
}

// opByName holds the opcodes by their spelling.
var opByName = func() map[string]Op {
	m := make(map[string]Op)
	for op := OpNone + 1; op < numOps; op++ {
		m[op.String()] = op
	}
	return m
}()

// splitOpcode splits a dotted name into its opcode, which may have several
// words, and the modifiers after it.
func splitOpcode(name string) (Op, []string) {
	for prefix := name; ; {
		if op, ok := opByName[prefix]; ok {
			if len(prefix) == len(name) {
				return op, nil
			}
			return op, strings.Split(name[len(prefix)+1:], ".")
		}
		dot := strings.LastIndexByte(prefix, '.')
		if dot < 0 {
			return OpNone, nil
		}
		prefix = prefix[:dot]
	}
}

// spell returns what the table makes of a dotted name: every form that takes
// its modifiers.
func (p *parser) spell(name string) ([]*spelling, error) {
	if found := p.spellings[name]; found != nil {
		return found, nil
	}
	op, words := splitOpcode(name)
	if op == OpNone {
		first, _, _ := strings.Cut(name, ".")
		if first == "call" {
			return nil, fmt.Errorf("calls are not supported")
		}
		msg := "unknown opcode " + first
		if n := nearest(first, opNames()); n != "" {
			msg += "; did you mean " + n
		}
		return nil, fmt.Errorf("%s", msg)
	}
	var found []*spelling
	for _, f := range table()[op] {
		if ok, _ := f.match(words, &p.trial); ok {
			sp := p.trial
			found = append(found, &sp)
		}
	}
	if found == nil {
		return nil, modifierError(op, words)
	}
	p.spellings[name] = found
	return found, nil
}

// opNames returns the opcodes' spellings.
func opNames() []string {
	var names []string
	for op := OpNone + 1; op < numOps; op++ {
		names = append(names, op.String())
	}
	return names
}

// modifierError says which modifier of an opcode the table does not have.
func modifierError(op Op, words []string) error {
	most := 0
	var expected []string
	var trial spelling
	for _, f := range table()[op] {
		_, n := f.match(words, &trial)
		if n > most {
			most, expected = n, nil
		}
		if n == most {
			for _, word := range f.expected(words[:n]) {
				if !slices.Contains(expected, word) {
					expected = append(expected, word)
				}
			}
		}
	}
	where := strings.Join(append([]string{op.String()}, words[:most]...), ".")
	if most == len(words) {
		return fmt.Errorf("%s lacks a modifier: one of %s", where, listWords(expected))
	}
	msg := fmt.Sprintf("unknown modifier .%s of %s", words[most], where)
	if n := nearest(words[most], expected); n != "" {
		return fmt.Errorf("%s; did you mean .%s", msg, n)
	}
	if len(expected) == 0 {
		return fmt.Errorf("%s, which takes none", msg)
	}
	return fmt.Errorf("%s, which takes %s", msg, listWords(expected))
}

// listWords lists modifiers for an error, some if there are many.
func listWords(words []string) string {
	const limit = 12
	more := ""
	if len(words) > limit {
		words, more = words[:limit], " and others"
	}
	return "." + strings.Join(words, " .") + more
}
