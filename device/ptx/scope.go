package ptx

import "strconv"

// scope is a { } block of a kernel: the names declared in it. Registers,
// variables and labels of an inner block hide those of the outer ones.
type scope struct {
	outer  *scope
	regs   map[string]int32
	ranges []regRange
	vars   map[string]*Var
	labels map[string]string // name in the text -> name in Entry.Labels

	// branches are the instructions whose label is not known yet.
	branches []pendingBranch
}

// regRange is the registers of one parameterised declaration: %r<8> declares
// %r0 to %r7.
type regRange struct {
	prefix string
	first  int32 // register of number 0
	count  int
}

// pendingBranch is a branch to be resolved when its block ends.
type pendingBranch struct {
	code  int // index into Entry.Code
	label string
	line  int
	text  string
}

// find returns the register called name, declared in this block itself.
func (s *scope) find(name string) (int32, bool) {
	if r, ok := s.regs[name]; ok {
		return r, true
	}
	if len(s.ranges) == 0 {
		return 0, false
	}
	prefix, n := splitNumber(name)
	if n < 0 {
		return 0, false
	}
	for i := range s.ranges {
		if r := &s.ranges[i]; r.prefix == prefix && n < r.count {
			return r.first + int32(n), true
		}
	}
	return 0, false
}

// lookup returns what name means in the current block: a register, or a variable
// and -1, or nil and -1 if it is not declared.
func (p *parser) lookup(name string) (int32, *Var) {
	for s := p.scope; s != nil; s = s.outer {
		if r, ok := s.find(name); ok {
			return r, nil
		}
		if v := s.vars[name]; v != nil {
			return -1, v
		}
	}
	return -1, p.globals[name]
}

// splitNumber splits a name before its number, -1 if it ends in none that a
// parameterised declaration could have made.
func splitNumber(name string) (string, int) {
	i := len(name)
	for i > 0 && charClass[name[i-1]]&charDigit != 0 {
		i--
	}
	digits := name[i:]
	if digits == "" || len(digits) > 6 || digits[0] == '0' && len(digits) > 1 {
		return name, -1
	}
	n := 0
	for _, c := range []byte(digits) {
		n = 10*n + int(c-'0')
	}
	return name[:i], n
}

// apart returns a name that no other register, variable or label of the kernel
// has: the name itself, or with a number if an inner block declares it again.
func (p *parser) apart(name string) string {
	unique := name
	for p.taken[unique] > 0 || p.globals[unique] != nil {
		p.taken[name] = max(p.taken[name], 1) + 1
		unique = name + "_" + strconv.Itoa(p.taken[name])
	}
	p.taken[unique] = 1
	return unique
}

// addRegister declares a register in the current block.
func (p *parser) addRegister(name string, t Type) error {
	if _, ok := p.scope.find(name); ok || p.scope.vars[name] != nil {
		return p.errorf("%s is declared twice in this block", name)
	}
	if p.scope.regs == nil {
		p.scope.regs = make(map[string]int32)
	}
	p.scope.regs[name] = int32(len(p.entry.Regs))
	p.entry.Regs = append(p.entry.Regs, Reg{Name: p.apart(name), Type: t})
	return nil
}

// maxRegisters bounds the registers of a kernel, so that a text cannot ask for
// more memory than it has bytes for.
const maxRegisters = 1 << 16

// addRange declares registers prefix0 to prefix(count-1) in the current block.
func (p *parser) addRange(prefix string, count int, t Type) error {
	if len(p.entry.Regs)+count > maxRegisters {
		return p.errorf("more than %d registers", maxRegisters)
	}
	if _, n := splitNumber(prefix); n >= 0 {
		return p.errorf("a parameterised register name must not end in a digit: %s", prefix)
	}
	for _, r := range p.scope.ranges {
		if r.prefix == prefix {
			return p.errorf("%s is declared twice in this block", prefix)
		}
	}
	p.scope.ranges = append(p.scope.ranges, regRange{prefix: prefix, first: int32(len(p.entry.Regs)), count: count})
	for n := range count {
		p.entry.Regs = append(p.entry.Regs, Reg{Name: p.apart(prefix + strconv.Itoa(n)), Type: t})
	}
	return nil
}

// addLabel declares a label at the next instruction.
func (p *parser) addLabel(name string) error {
	if _, ok := p.scope.labels[name]; ok {
		return p.errorf("label %s is declared twice in this block", name)
	}
	if p.scope.labels == nil {
		p.scope.labels = make(map[string]string)
	}
	unique := p.apart(name)
	p.scope.labels[name] = unique
	p.entry.Labels[unique] = len(p.entry.Code)
	return nil
}

// branch notes that the instruction being read goes to a label.
func (p *parser) branch(in *Instr, raw *rawOperand) error {
	p.scope.branches = append(p.scope.branches, pendingBranch{
		code: len(p.entry.Code), label: raw.word, line: in.Line, text: in.Text,
	})
	return nil
}

// openScope enters a block.
func (p *parser) openScope() { p.scope = &scope{outer: p.scope} }

// closeScope leaves a block: branches to its labels are resolved, others are
// left to the block around it.
func (p *parser) closeScope() {
	s := p.scope
	p.scope = s.outer
	for _, b := range s.branches {
		unique, ok := s.labels[b.label]
		switch {
		case ok:
			p.entry.Code[b.code].Target = p.entry.Labels[unique]
		case p.scope != nil:
			p.scope.branches = append(p.scope.branches, b)
		default:
			p.report(&Error{Line: b.line, Text: b.text, Msg: "label " + b.label + " is not declared"})
		}
	}
}
