package ptx

import (
	"strconv"
	"strings"
)

// Normalize returns a PTX text without what changes from one compiler release
// to the next: comments, blank lines, debugging data, spacing, and the numbers
// of registers and labels, which it counts anew in the order of their
// appearance in each kernel. The result is for comparison; the sizes of register
// declarations are gone.
func Normalize(text string) string {
	n := normalizer{numbers: make(map[string]string), counts: make(map[string]int)}
	l := lexer{text: text, line: 1}
	for t := l.next(); t.kind != tokenEnd; t = l.next() {
		switch t.text {
		case ".loc", ".file":
			l.skipLine()
			continue
		case ".section":
			p := parser{lexer: l, tok: t}
			p.skipSection()
			l = p.lexer
			l.pos = p.tok.pos
			l.line = p.tok.line
			continue
		case ".entry":
			clear(n.numbers)
			clear(n.counts)
		}
		n.add(t, text)
	}
	return strings.TrimPrefix(n.out.String()+"\n", "\n")
}

// normalizer writes tokens with their new names.
type normalizer struct {
	out     strings.Builder
	line    int // of the last token
	end     int // where it ended
	last    token
	numbers map[string]string // old name -> new name
	counts  map[string]int    // by prefix
}

// add writes a token after the line end or space that stood before it.
func (n *normalizer) add(t token, text string) {
	switch {
	case t.line != n.line:
		n.out.WriteByte('\n')
		if t.pos > 0 && (text[t.pos-1] == ' ' || text[t.pos-1] == '\t') {
			n.out.WriteByte('\t')
		}
	case t.pos > n.end:
		n.out.WriteByte(' ')
	}
	if t.kind != tokenNumber || !n.last.is('<') {
		n.out.WriteString(n.rename(t))
	}
	n.line, n.end, n.last = t.line, t.pos+len(t.text), t
}

// rename returns the new name of a register (%r7) or a compiler's label
// ($L__BB0_7), other tokens as they are.
func (n *normalizer) rename(t token) string {
	if t.kind != tokenWord || sregByName[t.text] != NoSreg {
		return t.text
	}
	var prefix string
	switch t.text[0] {
	case '%':
		var number int
		if prefix, number = splitNumber(t.text); number < 0 {
			return t.text
		}
	case '$':
		prefix = "$L"
	default:
		return t.text
	}
	if n.numbers[t.text] == "" {
		n.counts[prefix]++
		n.numbers[t.text] = prefix + strconv.Itoa(n.counts[prefix])
	}
	return n.numbers[t.text]
}
