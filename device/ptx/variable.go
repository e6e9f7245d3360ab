package ptx

import (
	"encoding/binary"
	"math/bits"
)

// Limits of a variable, so that a text cannot ask for more memory than it is
// worth: bytes in all, and bytes of written initial contents.
const (
	maxVariable = 1 << 40
	maxInit     = 1 << 20
)

var spaceByDirective = map[string]Space{
	".global": Global, ".const": Const, ".shared": Shared, ".local": Local, ".param": Param,
}

// declaration is a variable with its dimensions, outermost first; a first
// dimension of 0 is one that is not written.
type declaration struct {
	v    *Var
	dims []int
}

// parseVariables reads the variables declared by one statement at module scope
// or in a kernel.
func (p *parser) parseVariables(extern bool) error {
	space := spaceByDirective[p.tok.text]
	p.next()
	base, err := p.declaredType(space)
	if err != nil {
		return err
	}
	for {
		s := declaration{v: &Var{}, dims: base.dims}
		*s.v = *base.v
		if err := p.declarator(&s, extern || p.entry == nil || space == Shared); err != nil {
			return err
		}
		if p.tok.is('=') {
			p.next()
			if err := p.initialiser(&s); err != nil {
				return err
			}
		}
		if err := p.declareVariable(&s, extern); err != nil {
			return err
		}
		if !p.tok.is(',') {
			return p.expect(';')
		}
		p.next()
	}
}

// declaredType reads the alignment, type and attributes of a declaration.
func (p *parser) declaredType(space Space) (declaration, error) {
	s := declaration{v: &Var{Space: space}}
	vector := 1
	for p.tok.kind == tokenWord && p.tok.text[0] == '.' {
		attribute := p.tok.text
		p.next()
		switch attribute {
		case ".align":
			n, err := p.count("an alignment", 1<<16)
			if err != nil {
				return s, err
			}
			if bits.OnesCount(uint(n)) != 1 {
				return s, p.errorf("an alignment is a power of two, not %d", n)
			}
			s.v.Align = n
		case ".ptr":
			if err := p.skipPointer(); err != nil {
				return s, err
			}
		case ".v2":
			vector = 2
		case ".v4":
			vector = 4
		default:
			t := typeByName[attribute[1:]]
			if t.Size() == 0 || s.v.Type != NoType {
				return s, p.errorf("%s is not an attribute of a variable", attribute)
			}
			s.v.Type = t
		}
	}
	if s.v.Type == NoType {
		return s, p.unexpected("a type")
	}
	s.v.Align = max(s.v.Align, s.v.Type.Size()*vector)
	if vector > 1 {
		s.dims = []int{vector}
	}
	return s, nil
}

// skipPointer reads what .ptr says of the memory a parameter points to.
func (p *parser) skipPointer() error {
	if _, ok := spaceByDirective[p.tok.text]; ok {
		p.next()
	}
	if p.tok.text != ".align" {
		return nil
	}
	p.next()
	_, err := p.count("an alignment", 1<<16)
	return err
}

// declarator reads a variable's name and dimensions.
func (p *parser) declarator(s *declaration, mayBeOpen bool) error {
	s.v.Line = p.tok.line
	var err error
	if s.v.Name, err = p.name("a variable's name"); err != nil {
		return err
	}
	var dims []int
	for p.tok.is('[') {
		p.next()
		n := 0
		if !p.tok.is(']') || len(dims) > 0 || !mayBeOpen {
			if n, err = p.count("a dimension", maxVariable); err != nil {
				return err
			}
			if n == 0 {
				return p.errorf("%s has a dimension of 0", s.v.Name)
			}
		}
		if err := p.expect(']'); err != nil {
			return err
		}
		dims = append(dims, n)
	}
	s.dims = append(dims, s.dims...)
	s.v.Size = s.v.Type.Size()
	for _, n := range s.dims {
		if high, low := bits.Mul64(uint64(s.v.Size), uint64(n)); high != 0 || low > maxVariable {
			return p.errorf("%s has more than %d bytes", s.v.Name, maxVariable)
		}
		s.v.Size *= n
	}
	return nil
}

// declareVariable notes a variable that was read.
func (p *parser) declareVariable(s *declaration, extern bool) error {
	v := s.v
	open := len(s.dims) > 0 && s.dims[0] == 0
	switch {
	case extern && v.Space != Shared:
		return p.errorf("%s is defined in another module: linking is not supported", v.Name)
	case v.Size == 0 && !extern, open && v.Size == 0 && v.Space != Shared:
		return p.errorf("%s has no size", v.Name)
	case v.Init != nil && v.Space != Global && v.Space != Const:
		return p.errorf("%s is in .%s and cannot have initial contents", v.Name, v.Space)
	case p.entry == nil:
		if p.globals[v.Name] != nil {
			return p.errorf("%s is declared twice", v.Name)
		}
		p.globals[v.Name] = v
		p.module.Globals = append(p.module.Globals, v)
		if v.Space == Const {
			p.constBytes = alignUp(p.constBytes, v.Align) + v.Size
			if e := v.overflow(p.constBytes); e != nil {
				return e
			}
		}
		return nil
	case v.Space != Shared && v.Space != Local || extern:
		return p.errorf("%s: a kernel may declare .shared and .local variables only", v.Name)
	}
	if _, ok := p.scope.find(v.Name); ok || p.scope.vars[v.Name] != nil {
		return p.errorf("%s is declared twice in this block", v.Name)
	}
	p.addVariable(v)
	p.entry.Vars = append(p.entry.Vars, v)
	if v.Space == Local {
		v.Offset = alignUp(p.entry.LocalSize, v.Align)
		p.entry.LocalSize = v.Offset + v.Size
		if e := v.overflow(p.entry.LocalSize); e != nil {
			return e
		}
	}
	return nil
}

// addVariable makes a variable known in the current block.
func (p *parser) addVariable(v *Var) {
	if p.scope.vars == nil {
		p.scope.vars = make(map[string]*Var)
	}
	p.scope.vars[v.Name] = v
	v.Name = p.apart(v.Name)
}

func alignUp(n, align int) int { return (n + align - 1) &^ (align - 1) }

// placeShared lays out shared memory: the module's variables, then the
// kernel's, then the variable of unknown size, whose size the launch says. That
// one must begin at the same place in every kernel.
func (p *parser) placeShared() {
	shared, align := 0, 1
	var open []*Var
	for _, v := range p.module.Globals {
		switch {
		case v.Space != Shared:
		case v.Size == 0:
			open = append(open, v)
			align = max(align, v.Align)
		default:
			shared = p.placeAfter(v, shared)
		}
	}
	most := shared
	for _, e := range p.module.Entries {
		e.SharedSize = shared
		for _, v := range e.Vars {
			if v.Space == Shared {
				e.SharedSize = p.placeAfter(v, e.SharedSize)
			}
		}
		most = max(most, e.SharedSize)
	}
	if len(open) == 0 {
		return
	}
	most = alignUp(most, align)
	for _, v := range open {
		v.Offset = most
	}
	for _, e := range p.module.Entries {
		e.SharedSize = most
	}
}

// placeAfter places a variable of shared memory behind used bytes, and returns
// where it ends.
func (p *parser) placeAfter(v *Var, used int) int {
	v.Offset = alignUp(used, v.Align)
	end := v.Offset + v.Size
	if e := v.overflow(end); e != nil && len(p.errors) < maxErrors {
		p.report(e)
	}
	return end
}

// initialiser reads what stands after =.
func (p *parser) initialiser(s *declaration) error {
	elem := s.v.Type.Size()
	if len(s.dims) == 0 {
		return p.initElement(s.v, 0)
	}
	n, err := p.initList(s, s.dims, 0)
	if err == nil && s.dims[0] == 0 {
		// The list says how many there are.
		inner := 1
		for _, d := range s.dims[1:] {
			inner *= d
		}
		s.v.Size = (n + inner - 1) / inner * inner * elem
	}
	return err
}

// initList reads a list of elements or lists in braces, whose first element has
// index at in the variable, and returns how many elements it covers.
func (p *parser) initList(s *declaration, dims []int, at int) (int, error) {
	if err := p.expect('{'); err != nil {
		return 0, err
	}
	inner, limit := 1, 0
	for _, d := range dims[1:] {
		inner *= d
	}
	limit = inner * dims[0]
	n := 0
	for !p.tok.is('}') {
		var err error
		step := 1
		switch {
		case dims[0] != 0 && n >= limit:
			return n, p.errorf("%s has more initial values than elements", s.v.Name)
		case p.tok.is('{') && len(dims) > 1:
			_, err = p.initList(s, dims[1:], at+n)
			step = inner
		default:
			err = p.initElement(s.v, (at+n)*s.v.Type.Size())
		}
		if err != nil {
			return n, err
		}
		n += step
		if p.tok.is(',') {
			p.next()
		} else if !p.tok.is('}') {
			return n, p.unexpected("} or ,")
		}
	}
	p.next()
	return n, nil
}

// initElement reads one element of the initial contents, at byte offset at: a
// constant or an address.
func (p *parser) initElement(v *Var, at int) error {
	size := v.Type.Size()
	if at+size > maxInit {
		return p.errorf("%s has more than %d bytes of initial contents", v.Name, maxInit)
	}
	if need := at + size - len(v.Init); need > 0 {
		v.Init = append(v.Init, make([]byte, need)...)
	}
	if p.tok.kind == tokenWord {
		return p.initAddress(v, at)
	}
	c, err := p.constant()
	if err != nil {
		return err
	}
	value, err := c.as(v.Type)
	if err != nil {
		return err
	}
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], value)
	copy(v.Init[at:at+size], word[:])
	return nil
}

// initAddress reads name, name+offset or generic(name)+offset.
func (p *parser) initAddress(v *Var, at int) error {
	if v.Type.Size() != 8 {
		return p.errorf("%s: an address needs 64 bits, the elements are .%s", v.Name, v.Type)
	}
	name, err := p.word("a variable's name")
	if err != nil {
		return err
	}
	a := Addr{At: at}
	if name == "generic" && p.tok.is('(') {
		a.Generic = true
		p.next()
		if name, err = p.word("a variable's name"); err != nil {
			return err
		}
		if err := p.expect(')'); err != nil {
			return err
		}
	}
	if a.Var = p.globals[name]; a.Var == nil {
		return p.undeclared("variable", name)
	}
	if p.tok.is('+') || p.tok.is('-') {
		if err := p.offset(&a.Off); err != nil {
			return err
		}
	}
	v.Addrs = append(v.Addrs, a)
	return nil
}
