package ptx

import "strings"

// tokenKind is what a token is; single characters of punctuation are their own
// kind.
type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenWord             // an identifier, opcode or directive, dotted words included
	tokenNumber           // starts with a digit
	tokenString           // with its quotes
	tokenPunct            // one character, in text
)

// token is one token of a PTX text. Its text is part of the text.
type token struct {
	kind tokenKind
	text string
	line int
	pos  int // byte offset of its first character
}

// is reports whether the token is the punctuation c.
func (t token) is(c byte) bool { return t.kind == tokenPunct && t.text[0] == c }

// lexer cuts a PTX text into tokens.
type lexer struct {
	text string
	pos  int
	line int
}

// Classes of characters.
const (
	charStart  = 1 << iota // may start a word
	charFollow             // may continue one
	charDigit
	charSpace
)

var charClass = func() (class [256]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		class[c] = charStart | charFollow
		class[c-'a'+'A'] = charStart | charFollow
	}
	for c := '0'; c <= '9'; c++ {
		class[c] = charFollow | charDigit
	}
	for _, c := range "_$" {
		class[c] = charStart | charFollow
	}
	for _, c := range "%." {
		class[c] = charStart
	}
	for _, c := range " \t\r\n\f\v" {
		class[c] = charSpace
	}
	return class
}()

// skipSpace moves over white space and comments.
func (l *lexer) skipSpace() {
	for l.pos < len(l.text) {
		switch c := l.text[l.pos]; {
		case c == '\n':
			l.line++
			l.pos++
		case charClass[c]&charSpace != 0:
			l.pos++
		case strings.HasPrefix(l.text[l.pos:], "//"):
			l.skipLine()
		case strings.HasPrefix(l.text[l.pos:], "/*"):
			end := strings.Index(l.text[l.pos+2:], "*/")
			if end < 0 {
				end = len(l.text) - l.pos - 4
			}
			comment := l.text[l.pos : l.pos+end+4]
			l.line += strings.Count(comment, "\n")
			l.pos += len(comment)
		default:
			return
		}
	}
}

// skipLine moves to the end of the line, before its newline.
func (l *lexer) skipLine() {
	if n := strings.IndexByte(l.text[l.pos:], '\n'); n >= 0 {
		l.pos += n
	} else {
		l.pos = len(l.text)
	}
}

// next returns the next token.
func (l *lexer) next() token {
	l.skipSpace()
	t := token{line: l.line, pos: l.pos}
	if l.pos == len(l.text) {
		return t
	}
	switch c := l.text[l.pos]; {
	case charClass[c]&charStart != 0:
		t.kind = tokenWord
		l.word()
	case charClass[c]&charDigit != 0:
		t.kind = tokenNumber
		l.number()
	case c == '"':
		t.kind = tokenString
		l.quoted()
	default:
		t.kind = tokenPunct
		l.pos++
	}
	t.text = l.text[t.pos:l.pos]
	return t
}

// word moves over an identifier with its dotted parts: ld.shared::cta.u32.
func (l *lexer) word() {
	l.pos++
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		switch {
		case charClass[c]&charFollow != 0, c == '.':
			l.pos++
		case c == ':' && l.pos+2 < len(l.text) && l.text[l.pos+1] == ':' && charClass[l.text[l.pos+2]]&charFollow != 0:
			l.pos += 2
		default:
			return
		}
	}
}

// number moves over a constant: digits, letters, a fraction, and the sign of a
// decimal exponent.
func (l *lexer) number() {
	start := l.pos
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		sign := (c == '-' || c == '+') && (l.text[l.pos-1]|0x20) == 'e' && isDecimal(l.text[start:l.pos-1])
		if charClass[c]&charFollow == 0 && c != '.' && !sign {
			return
		}
		l.pos++
	}
}

// isDecimal reports whether s has digits and points only.
func isDecimal(s string) bool {
	for i := range len(s) {
		if charClass[s[i]]&charDigit == 0 && s[i] != '.' {
			return false
		}
	}
	return s != ""
}

// quoted moves over a string.
func (l *lexer) quoted() {
	for l.pos++; l.pos < len(l.text) && l.text[l.pos] != '\n'; l.pos++ {
		switch l.text[l.pos] {
		case '\\':
			if l.pos+1 < len(l.text) && l.text[l.pos+1] != '\n' {
				l.pos++
			}
		case '"':
			l.pos++
			return
		}
	}
}

// collapse returns s without comments and with its white space as single
// spaces.
func collapse(s string) string {
	clean := true
	for i := range len(s) {
		c := s[i]
		if c == '/' || charClass[c]&charSpace != 0 && (c != ' ' || i+1 < len(s) && s[i+1] == ' ') {
			clean = false
			break
		}
	}
	if clean {
		return strings.TrimSpace(s)
	}
	out := make([]byte, 0, len(s))
	l := lexer{text: s}
	for {
		before := l.pos
		l.skipSpace()
		if l.pos == len(s) {
			return string(out)
		}
		if l.pos > before && len(out) > 0 {
			out = append(out, ' ')
		}
		start := l.pos
		l.next()
		out = append(out, s[start:l.pos]...)
	}
}
