package ptx

// parseEntry reads a kernel.
func (p *parser) parseEntry() error {
	p.next()
	e := &Entry{Line: p.tok.line, Labels: make(map[string]int)}
	var err error
	if e.Name, err = p.name("a kernel's name"); err != nil {
		return err
	}
	if p.entries[e.Name] {
		return p.errorf("kernel %s is declared twice", e.Name)
	}
	p.entry, p.scope, p.taken = e, &scope{}, make(map[string]int)
	defer func() { p.entry, p.scope = nil, nil }()
	if p.tok.is('(') {
		if err := p.parseParams(); err != nil {
			return err
		}
	}
	for p.tok.kind == tokenWord {
		if err := p.parseTuning(); err != nil {
			return err
		}
	}
	if p.tok.is(';') { // a declaration; the definition follows
		p.next()
		return nil
	}
	if err := p.expect('{'); err != nil {
		return err
	}
	p.entries[e.Name] = true
	p.module.Entries = append(p.module.Entries, e)
	p.parseBody()
	return nil
}

// parseParams reads a kernel's parameters.
func (p *parser) parseParams() error {
	e := p.entry
	for p.next(); !p.tok.is(')'); {
		if p.tok.text != ".param" {
			return p.unexpected(".param")
		}
		p.next()
		s, err := p.declaredType(Param)
		if err != nil {
			return err
		}
		if err := p.declarator(&s, false); err != nil {
			return err
		}
		v := s.v
		if p.scope.vars[v.Name] != nil {
			return p.errorf("%s is declared twice", v.Name)
		}
		v.Offset = alignUp(e.ParamBytes, v.Align)
		e.ParamBytes = v.Offset + v.Size
		if limit := p.module.maxParams(); e.ParamBytes > limit {
			return p.errorf("kernel %s has %d bytes of parameters with %s; at PTX %s and sm_%d it may have %d",
				e.Name, e.ParamBytes, v.Name, p.module.Version, p.module.SM, limit)
		}
		p.addVariable(v)
		e.Params = append(e.Params, v)
		if p.tok.is(',') {
			p.next()
		} else if !p.tok.is(')') {
			return p.unexpected(") or ,")
		}
	}
	p.next()
	return nil
}

// maxDimension bounds what the tuning directives say: the grid's own limit.
const maxDimension = 1<<31 - 1

// parseTuning reads one of the directives between a kernel's parameters and its
// body.
func (p *parser) parseTuning() error {
	e := p.entry
	directive := p.tok.text
	switch directive {
	case ".maxntid":
		return p.dimensions(&e.MaxNTID)
	case ".reqntid":
		return p.dimensions(&e.ReqNTID)
	case ".minnctapersm":
		p.next()
		var err error
		e.MinNCTA, err = p.count("a number of CTAs", maxDimension)
		return err
	case ".maxnreg", ".maxnctapersm": // for the assembler's register allocation
		p.next()
		_, err := p.count("a number", maxDimension)
		return err
	case ".noreturn":
		p.next()
		return nil
	case ".pragma":
		return p.parsePragma()
	}
	return p.errorf("unknown directive %s of a kernel", directive)
}

// dimensions reads one to three numbers; those that are not written are 1.
func (p *parser) dimensions(d *[3]int) error {
	*d = [3]int{1, 1, 1}
	for i := range d {
		p.next()
		var err error
		if d[i], err = p.count("a number of threads", maxDimension); err != nil {
			return err
		}
		if !p.tok.is(',') {
			return nil
		}
	}
	return p.unexpected("at most three dimensions")
}

// parseBody reads a kernel's statements up to the closing brace.
func (p *parser) parseBody() {
	for depth := 1; !p.done(); {
		start := p.tok
		switch {
		case p.tok.is('{'):
			depth++
			p.openScope()
			p.next()
		case p.tok.is('}'):
			p.closeScope()
			p.next()
			if depth--; depth == 0 {
				return
			}
		default:
			if err := p.parseStatement(); err != nil {
				p.reportStatement(err, start)
				p.skipFaulty()
			}
		}
	}
	if len(p.errors) < maxErrors {
		p.report(&Error{Line: p.entry.Line, Msg: "kernel " + p.entry.Name + " has no end"})
	}
}

// skipFaulty moves behind a statement with an error in a kernel, vectors
// included.
func (p *parser) skipFaulty() {
	for p.tok.kind != tokenEnd && !p.tok.is(';') {
		p.next()
	}
	if p.tok.is(';') {
		p.next()
	}
}

// parseStatement reads a directive, a label or an instruction.
func (p *parser) parseStatement() error {
	switch {
	case p.tok.is(';'): // empty
		p.next()
		return nil
	case p.tok.is('@'):
		return p.parseInstr()
	case p.tok.kind != tokenWord:
		return p.unexpected("an instruction")
	case p.tok.text[0] == '.':
		return p.parseDirective()
	}
	return p.parseInstr()
}

// parseDirective reads a directive in a kernel.
func (p *parser) parseDirective() error {
	switch directive := p.tok.text; directive {
	case ".reg":
		return p.parseRegisters()
	case ".shared", ".local", ".global", ".const":
		return p.parseVariables(false)
	case ".extern":
		p.next()
		return p.errorf("an .extern variable is declared outside kernels")
	case ".param":
		return p.errorf("calls are not supported: .param in a kernel passes arguments of one")
	case ".loc", ".file":
		p.skipDebugLine()
		return nil
	case ".pragma":
		return p.parsePragma()
	default:
		return p.errorf("unknown directive %s", directive)
	}
}

// parseRegisters reads .reg.
func (p *parser) parseRegisters() error {
	p.next()
	name, err := p.word("a register type")
	if err != nil {
		return err
	}
	t := typeByName[name[1:]]
	if !isRegisterType(t) || name[0] != '.' {
		return p.errorf("registers have no type %s", name)
	}
	for {
		if name, err = p.name("a register's name"); err != nil {
			return err
		}
		if p.tok.is('<') {
			p.next()
			n, err := p.count("a number of registers", maxRegisters)
			if err != nil {
				return err
			}
			if err := p.expect('>'); err != nil {
				return err
			}
			err = p.addRange(name, n, t)
			if err != nil {
				return err
			}
		} else if err := p.addRegister(name, t); err != nil {
			return err
		}
		if !p.tok.is(',') {
			return p.expect(';')
		}
		p.next()
	}
}

// isRegisterType reports whether registers can have type t: the fundamental
// types but the packed and 8-bit float formats, which live in untyped ones.
func isRegisterType(t Type) bool {
	return t == Pred || t.Size() > 0 && t <= F16x2 || t == F32 || t == F64
}
