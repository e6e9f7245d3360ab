package ptx

import "fmt"

// rawOperand is an operand as its text has it, before names are looked up.
type rawOperand struct {
	kind  rawKind
	word  string   // rawWord; rawAddr: the base, "" for an absolute address
	not   bool     // a ! stands before it
	value constant // rawNumber
	plus  bool     // rawWord: off is written
	off   int64    // rawWord, rawAddr: bytes after the base
	elems []rawOperand
}

type rawKind uint8

const (
	rawWord   rawKind = iota // name, name+offset
	rawNumber                // constant
	rawAddr                  // [base+offset]
	rawVec                   // {a, b}
	rawPair                  // a|b
)

// String describes the shape of an operand for an error.
func (k rawKind) String() string {
	return [...]string{"a name", "a constant", "an address", "a vector", "a pair"}[k]
}

// operand reads one operand.
func (p *parser) operand() (rawOperand, error) {
	switch {
	case p.tok.is('['):
		return p.address()
	case p.tok.is('{'):
		return p.vector()
	}
	o, err := p.scalar()
	if err != nil || !p.tok.is('|') {
		return o, err
	}
	p.next()
	second, err := p.scalar()
	return rawOperand{kind: rawPair, elems: []rawOperand{o, second}}, err
}

// scalar reads a name or constant with what may stand before and after it.
func (p *parser) scalar() (rawOperand, error) {
	var o rawOperand
	if p.tok.is('!') {
		o.not = true
		p.next()
	}
	switch {
	case p.tok.kind == tokenWord:
		o.word = p.tok.text
		p.next()
		if p.tok.is('+') || p.tok.is('-') {
			o.plus = true
			return o, p.offset(&o.off)
		}
		return o, nil
	case p.tok.kind == tokenNumber, p.tok.is('-'):
		var err error
		o.kind = rawNumber
		o.value, err = p.constant()
		return o, err
	}
	return o, p.unexpected("an operand")
}

// constant reads a number with its sign.
func (p *parser) constant() (constant, error) {
	minus := p.tok.is('-')
	if minus {
		p.next()
	}
	if p.tok.kind != tokenNumber {
		return constant{}, p.unexpected("a number")
	}
	c, err := parseConstant(p.tok.text)
	c.minus = minus
	p.next()
	return c, err
}

// offset reads the +n, -n or +-n after a base.
func (p *parser) offset(off *int64) error {
	if p.tok.is('+') {
		p.next()
	}
	c, err := p.constant()
	if err != nil {
		return err
	}
	*off, err = c.int64()
	return err
}

// address reads [base], [base+offset] or [constant].
func (p *parser) address() (rawOperand, error) {
	o := rawOperand{kind: rawAddr}
	p.next()
	var err error
	switch {
	case p.tok.kind == tokenWord:
		o.word = p.tok.text
		p.next()
		if p.tok.is('+') || p.tok.is('-') {
			err = p.offset(&o.off)
		}
	default:
		err = p.offset(&o.off)
	}
	if err != nil {
		return o, err
	}
	return o, p.expect(']')
}

// vector reads {a, b}.
func (p *parser) vector() (rawOperand, error) {
	o := rawOperand{kind: rawVec}
	p.next()
	for {
		e, err := p.scalar()
		if err != nil {
			return o, err
		}
		o.elems = append(o.elems, e)
		if !p.tok.is(',') {
			return o, p.expect('}')
		}
		p.next()
	}
}

// bind turns the text of an operand into what it means in instruction in.
func (p *parser) bind(in *Instr, spec *operandSpec, raw *rawOperand) (Operand, error) {
	typ := spec.typeIn(in)
	switch {
	case raw.kind == rawAddr:
		return p.bindAddress(in, raw)
	case spec.role == roleLabel:
		return Operand{}, p.branch(in, raw)
	case spec.role == roleDstParts || spec.role == roleSrcParts:
		return p.bindParts(spec, typ, raw)
	case raw.kind == rawVec:
		if len(raw.elems) != int(in.Vec) {
			return Operand{}, fmt.Errorf("a vector of %d elements where the instruction moves %d", len(raw.elems), in.Vec)
		}
		return p.bindElements(KindVec, spec, typ, raw)
	case raw.kind == rawPair:
		return p.bindPair(spec, typ, raw)
	}
	return p.bindScalar(spec, typ, raw)
}

// bindElements binds the elements of a vector or pair as operands of type typ.
func (p *parser) bindElements(kind OperandKind, spec *operandSpec, typ Type, raw *rawOperand) (Operand, error) {
	o := Operand{Kind: kind, Type: typ, Vec: make([]Operand, len(raw.elems))}
	for i := range raw.elems {
		var err error
		if o.Vec[i], err = p.bindScalar(spec, typ, &raw.elems[i]); err != nil {
			return o, err
		}
	}
	return o, nil
}

// bindPair binds p|q or d|p: the second part is a predicate.
func (p *parser) bindPair(spec *operandSpec, typ Type, raw *rawOperand) (Operand, error) {
	first, err := p.bindScalar(spec, typ, &raw.elems[0])
	if err != nil {
		return first, err
	}
	second, err := p.bindScalar(spec, Pred, &raw.elems[1])
	return Operand{Kind: KindPair, Type: typ, Vec: []Operand{first, second}}, err
}

// bindParts binds the parts of a value that mov packs or unpacks.
func (p *parser) bindParts(spec *operandSpec, typ Type, raw *rawOperand) (Operand, error) {
	n := len(raw.elems)
	part := map[int]Type{1: B8, 2: B16, 4: B32, 8: B64}[typ.Size()/n]
	if n != 2 && n != 4 || part == NoType {
		return Operand{}, fmt.Errorf("%d parts do not make a .%s", n, typ)
	}
	parts := operandSpec{role: roleSrc}
	if spec.isDst() {
		parts.role = roleDst
	}
	return p.bindElements(KindVec, &parts, part, raw)
}

// bindScalar binds a name or constant as an operand of type typ.
func (p *parser) bindScalar(spec *operandSpec, typ Type, raw *rawOperand) (Operand, error) {
	o := Operand{Type: typ}
	if raw.not {
		if !spec.negate {
			return o, fmt.Errorf("operand cannot be negated")
		}
		o.Not = true
	}
	if raw.kind == rawNumber {
		bits, err := raw.value.as(typ)
		o.Kind, o.Imm = KindImm, bits
		return o, err
	}
	if raw.word == "_" {
		o.Kind = KindSink
		if !spec.isDst() {
			return o, fmt.Errorf("_ stands for a destination, not a source")
		}
		return o, nil
	}
	if raw.word == WarpSize.String() && spec.role == roleSrc {
		// A constant; every target has warps of 32 threads (PTX ISA, "Integer
		// Constants").
		bits, err := constant{bits: 32}.as(typ)
		o.Kind, o.Imm = KindImm, bits
		return o, err
	}
	r, v := p.lookup(raw.word)
	if r >= 0 {
		o.Kind, o.Reg = KindReg, r
		if raw.plus {
			return o, fmt.Errorf("%s+%d is an address only in brackets", raw.word, raw.off)
		}
		if have := p.entry.Regs[r].Type; !registerAccepts(have, typ, spec.wider) {
			return o, fmt.Errorf("register %s is .%s, the operand .%s", raw.word, have, typ)
		}
		return o, nil
	}
	return p.bindName(spec, o, v, raw)
}

// bindName binds the address of variable v or, if that is nil, a special
// register, where they are allowed.
func (p *parser) bindName(spec *operandSpec, o Operand, v *Var, raw *rawOperand) (Operand, error) {
	if s, ok := sregByName[raw.word]; ok && v == nil {
		o.Kind, o.Sreg = KindSreg, s
		if want := s.Type(); spec.role != roleMov {
			return o, fmt.Errorf("special register %s can only be read by mov", raw.word)
		} else if !registerAccepts(want, o.Type, false) {
			return o, fmt.Errorf("special register %s is .%s, the operand .%s", raw.word, want, o.Type)
		}
		return o, nil
	}
	if v == nil {
		return o, p.undeclared("register", raw.word)
	}
	if spec.role != roleMov && spec.role != roleVar {
		return o, fmt.Errorf("%s is a variable: its address must be moved to a register first", raw.word)
	}
	// Addresses outside .global and the generic space fit 32 bits.
	if size := o.Type.Size(); o.Type.IsFloat() || size != 8 && (size != 4 || v.Space == Global) {
		return o, fmt.Errorf("the address of %s has 64 bits, the operand is .%s", raw.word, o.Type)
	}
	o.Kind, o.Var, o.Off = KindVar, v, raw.off
	return o, nil
}

// bindAddress binds [base+offset].
func (p *parser) bindAddress(in *Instr, raw *rawOperand) (Operand, error) {
	o := Operand{Kind: KindAddr, Type: U64, Reg: -1, Off: raw.off}
	if raw.word == "" {
		return o, nil
	}
	r, v := p.lookup(raw.word)
	o.Reg, o.Var = r, v
	if r >= 0 {
		// A 32-bit address is extended with zeros.
		have := p.entry.Regs[r].Type
		if !registerAccepts(have, U64, false) && !registerAccepts(have, U32, false) {
			return o, fmt.Errorf("register %s is .%s, which cannot hold an address", raw.word, have)
		}
		return o, nil
	}
	if v == nil {
		return o, p.undeclared("register or variable", raw.word)
	}
	// A variable in .global has the same address in the generic space.
	space := v.Space
	if space != in.Space && !(space == Global && in.Space == Generic) && in.Op != OpCpAsyncBulk {
		return o, fmt.Errorf("variable %s is in .%s, the instruction addresses .%s", raw.word, space, in.Space)
	}
	return o, nil
}
