package ptx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads a PTX text. The file name appears in errors.
//
// It refuses what an assembler would: what is not in the opcode table, and what
// is newer than the text's own .version or .target (see [Module.Check]). Its
// error is an [ErrorList]; reading goes on after an error, up to 20 of them.
func Parse(file string, text []byte) (*Module, error) {
	p := &parser{
		lexer:     lexer{text: string(text), line: 1},
		module:    &Module{File: file},
		globals:   make(map[string]*Var),
		entries:   make(map[string]bool),
		spellings: make(map[string][]*spelling),
	}
	p.next()
	p.parseModule()
	if len(p.errors) == 0 {
		p.errors = p.module.check(p.module.Version, p.module.SM)
	}
	if len(p.errors) > 0 {
		slices.SortStableFunc(p.errors, func(a, b *Error) int { return a.Line - b.Line })
		return nil, p.errors
	}
	return p.module, nil
}

// parser reads a module. Its methods return the error of the statement they
// read; the loops over statements report it and go on behind the statement.
type parser struct {
	lexer
	tok    token // the token to read next
	module *Module
	errors ErrorList

	globals    map[string]*Var        // variables of the module
	constBytes int                    // of the variables in .const
	entries    map[string]bool        // names of the kernels
	spellings  map[string][]*spelling // what the table makes of the opcodes seen

	// Of the kernel being read.
	entry    *Entry
	scope    *scope
	taken    map[string]int // names given to registers, variables and labels, and how often
	operands []Operand      // spare room for operands
	raws     []rawOperand   // operands of the instruction being read
	fit      []*operandSpec // the same instruction's operands in its form
	trial    spelling       // the form being tried on its name
}

// next moves to the next token.
func (p *parser) next() { p.tok = p.lexer.next() }

// errorf makes an error at the current line.
func (p *parser) errorf(format string, args ...any) error {
	return &Error{Line: p.tok.line, Msg: fmt.Sprintf(format, args...)}
}

// unexpected says what is there in place of what is wanted.
func (p *parser) unexpected(want string) error {
	found := p.tok.text
	if p.tok.kind == tokenEnd {
		found = "the end of the file"
	}
	return p.errorf("expected %s, found %s", want, found)
}

// undeclared says that a name is not known, and which is nearest.
func (p *parser) undeclared(what, name string) error {
	msg := fmt.Sprintf("%s is not a declared %s", name, what)
	var names []string
	if p.entry != nil {
		for i := range p.entry.Regs {
			names = append(names, p.entry.Regs[i].Name)
		}
	}
	if n := nearest(name, names); n != "" {
		msg += "; did you mean " + n
	}
	return &Error{Line: p.tok.line, Msg: msg}
}

// expect moves over the punctuation c.
func (p *parser) expect(c byte) error {
	if !p.tok.is(c) {
		return p.unexpected(string(c))
	}
	p.next()
	return nil
}

// word moves over a word and returns it.
func (p *parser) word(what string) (string, error) {
	if p.tok.kind != tokenWord {
		return "", p.unexpected(what)
	}
	text := p.tok.text
	p.next()
	return text, nil
}

// name moves over an identifier that is being declared and returns it.
func (p *parser) name(what string) (string, error) {
	text := p.tok.text
	if p.tok.kind != tokenWord || strings.ContainsAny(text, ".:") ||
		len(text) == 1 && strings.Contains("_$%", text) {
		return "", p.unexpected(what)
	}
	p.next()
	return text, nil
}

// count reads a whole number that is at most limit.
func (p *parser) count(what string, limit int) (int, error) {
	if p.tok.kind != tokenNumber {
		return 0, p.unexpected(what)
	}
	c, err := parseConstant(p.tok.text)
	if err != nil || c.kind != constInt {
		return 0, p.errorf("%s is a whole number, not %s", what, p.tok.text)
	}
	if c.bits > uint64(limit) {
		return 0, p.errorf("%s is at most %d, not %s", what, limit, p.tok.text)
	}
	p.next()
	return int(c.bits), nil
}

// report notes an error.
func (p *parser) report(e *Error) {
	e.File = p.module.File
	p.errors = append(p.errors, e)
}

// reportStatement notes the error of the statement that began at start.
func (p *parser) reportStatement(err error, start token) {
	e, ok := err.(*Error)
	if !ok {
		e = &Error{Line: start.line, Msg: err.Error()}
	}
	if e.Text == "" {
		end := max(start.pos, p.tok.pos)
		if n := strings.IndexAny(p.text[end:], ";\n"); n >= 0 {
			end += n
		} else {
			end = len(p.text)
		}
		e.Text = clip(collapse(p.text[start.pos:end]))
	}
	p.report(e)
}

// clip shortens a text for an error.
func clip(s string) string {
	const limit = 160
	if len(s) > limit {
		return s[:limit] + "..."
	}
	return s
}

// skipStatement moves behind the next semicolon, but not over a brace.
func (p *parser) skipStatement() {
	for p.tok.kind != tokenEnd && !p.tok.is('}') && !p.tok.is('{') {
		end := p.tok.is(';')
		p.next()
		if end {
			return
		}
	}
}

// skipBlock moves behind a { } block with everything in it.
func (p *parser) skipBlock() {
	for depth := 0; p.tok.kind != tokenEnd; {
		switch {
		case p.tok.is('{'):
			depth++
		case p.tok.is('}'):
			depth--
		}
		p.next()
		if depth <= 0 {
			return
		}
	}
}

// done reports whether reading is to stop.
func (p *parser) done() bool { return p.tok.kind == tokenEnd || len(p.errors) >= maxErrors }

// parseModule reads the file.
func (p *parser) parseModule() {
	start := p.tok
	if err := p.parseHeader(); err != nil {
		p.reportStatement(err, start)
		return
	}
	for !p.done() {
		start = p.tok
		if err := p.parseModuleStatement(); err != nil {
			p.reportStatement(err, start)
			p.skipStatement()
			if p.tok.is('{') {
				p.skipBlock()
			} else if p.tok.is('}') {
				p.next()
			}
		}
	}
	p.placeShared()
}

// parseHeader reads .version, .target and .address_size.
func (p *parser) parseHeader() error {
	m := p.module
	if p.tok.text != ".version" {
		return p.unexpected(".version")
	}
	p.next()
	major, minor, _ := strings.Cut(p.tok.text, ".")
	var err error
	if m.Version.Major, err = strconv.Atoi(major); err == nil {
		m.Version.Minor, err = strconv.Atoi(minor)
	}
	if err != nil {
		return p.unexpected("a version such as 7.8")
	}
	if !m.Version.known() {
		return p.errorf("unknown PTX version %s; known are %s", m.Version, knownVersions())
	}
	p.next()
	if p.tok.text != ".target" {
		return p.unexpected(".target")
	}
	p.next()
	if err := p.parseTarget(); err != nil {
		return err
	}
	if p.tok.text != ".address_size" {
		return p.unexpected(".address_size 64")
	}
	p.next()
	if m.AddressSize, err = p.count("an address size", 64); err == nil && m.AddressSize != 64 {
		err = p.errorf("addresses have 64 bits, not %d", m.AddressSize)
	}
	return err
}

// parseTarget reads what stands after .target.
func (p *parser) parseTarget() error {
	target, err := p.word("a target such as sm_70")
	if err != nil {
		return err
	}
	p.module.TargetText = target
	digits := target
	for _, prefix := range []string{"sm_", "compute_"} {
		if len(target) > len(prefix) && target[:len(prefix)] == prefix {
			digits = target[len(prefix):]
		}
	}
	// What a suffix adds exists on one architecture (a) or family (f) only: the
	// machine has none of it, and no other GPU runs the text.
	if last := len(digits) - 1; digits[last] == 'a' || digits[last] == 'f' {
		if _, err := strconv.Atoi(digits[:last]); err == nil {
			return p.errorf("target %s is for one kind of GPU; compile for %s, without the suffix", target, target[:len(target)-1])
		}
	}
	sm, err := strconv.Atoi(digits)
	if _, known := targets[sm]; err != nil || !known {
		return p.errorf("unknown target %s; known are %s", target, knownTargets())
	}
	p.module.SM = sm
	for p.tok.is(',') {
		p.next()
		if option, err := p.word("a target option"); err != nil || option != "debug" {
			return p.errorf("unknown target option %s", option)
		}
	}
	return nil
}

// parseModuleStatement reads one declaration at module scope.
func (p *parser) parseModuleStatement() error {
	extern := false
	for {
		if p.tok.kind != tokenWord {
			return p.unexpected("a declaration")
		}
		switch p.tok.text {
		case ".visible", ".weak", ".common":
			p.next()
		case ".extern":
			extern = true
			p.next()
		case ".global", ".const", ".shared":
			return p.parseVariables(extern)
		case ".entry":
			return p.parseEntry()
		case ".func", ".callprototype", ".alias":
			return p.errorf("calls are not supported: the text has device functions")
		case ".file", ".loc":
			p.skipDebugLine()
			return nil
		case ".section":
			p.skipSection()
			return nil
		case ".pragma":
			return p.parsePragma()
		default:
			return p.errorf("unknown declaration %s", p.tok.text)
		}
	}
}

// skipDebugLine moves behind a .file or .loc, which end with their line.
func (p *parser) skipDebugLine() {
	p.skipLine()
	p.next()
}

// skipSection moves behind the debugging data of a .section.
func (p *parser) skipSection() {
	for p.tok.kind != tokenEnd && !p.tok.is('{') {
		p.next()
	}
	p.skipBlock()
}

// parsePragma reads .pragma, which only advises the assembler.
func (p *parser) parsePragma() error {
	for p.next(); p.tok.kind == tokenString || p.tok.is(','); p.next() {
	}
	return p.expect(';')
}
