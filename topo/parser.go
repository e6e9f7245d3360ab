package topo

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ncclgo/ncclgo/coll"
)

// parser turns XML tokens into elements.
type parser struct {
	*schema
	doc      *Document
	data     []byte
	dec      *xml.Decoder
	open     []*Element // the elements that have not ended
	skipping int        // depth inside an element that the format does not have
	// Before offset reached there are line line ends, the last before lineStart.
	reached, line, lineStart int
}

func (p *parser) run() error {
	for {
		start := p.dec.InputOffset()
		token, err := p.dec.RawToken()
		if errors.Is(err, io.EOF) {
			return p.end()
		}
		if err != nil {
			return p.syntax(err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			err = p.start(t, start)
		case xml.EndElement:
			err = p.close(t, start)
		case xml.CharData:
			err = p.text(t, start)
		}
		if err != nil {
			return err
		}
	}
}

// position returns the line and column of a byte offset. Offsets mostly rise, so
// it counts on from the last.
func (p *parser) position(offset int64) (line, column int) {
	at := min(int(offset), len(p.data))
	if at < p.reached {
		p.reached, p.line, p.lineStart = 0, 0, 0
	}
	passed := p.data[p.reached:at]
	p.line += bytes.Count(passed, []byte{'\n'})
	if i := bytes.LastIndexByte(passed, '\n'); i >= 0 {
		p.lineStart = p.reached + i + 1
	}
	p.reached = at
	return p.line + 1, at - p.lineStart + 1
}

func (p *parser) errorAt(offset int64, want, format string, args ...any) error {
	line, column := p.position(offset)
	return &FileError{File: p.doc.Name, Line: line, Column: column, What: printable(fmt.Sprintf(format, args...)), Want: want}
}

func (p *parser) note(offset int64, format string, args ...any) {
	line, column := p.position(offset)
	p.doc.Notes = append(p.doc.Notes, Note{line, column, printable(fmt.Sprintf(format, args...))})
}

// maxMessage bounds the bytes of a message that quotes a file.
const maxMessage = 200

// printable returns a message with what a terminal would not show, or would obey,
// as Go's escapes: names and values come from a file that may hold anything.
func printable(message string) string {
	var b strings.Builder
	for i, r := range message {
		switch _, size := utf8.DecodeRuneInString(message[i:]); {
		case b.Len() > maxMessage:
			return b.String() + "..."
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, message[i])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// syntax turns the XML decoder's error into one of ours.
func (p *parser) syntax(err error) error {
	var s *xml.SyntaxError
	what := strings.TrimPrefix(err.Error(), "xml: ")
	if errors.As(err, &s) {
		what = s.Msg
	}
	if p.doc.Root == nil {
		return p.errorAt(p.dec.InputOffset(), p.form, "not XML (%s)", what)
	}
	if strings.Contains(what, "unexpected EOF") {
		return p.truncated()
	}
	return p.errorAt(p.dec.InputOffset(), "elements, quoted attributes, comments and the entities of XML itself are allowed", "not XML (%s)", what)
}

// truncated is the error of a file that ends inside an element.
func (p *parser) truncated() error {
	inside := "an unknown element"
	if p.skipping == 0 && len(p.open) > 0 {
		e := p.open[len(p.open)-1]
		inside = fmt.Sprintf("<%s> of line %d", e.Name, e.Line)
	}
	return p.errorAt(int64(len(p.data)), "is the file truncated?", "the file ends inside %s", inside)
}

func (p *parser) end() error {
	switch {
	case p.doc.Root == nil:
		return p.errorAt(int64(len(p.data)), p.form, "no element")
	case len(p.open) > 0 || p.skipping > 0:
		return p.truncated()
	}
	return nil
}

func (p *parser) text(t xml.CharData, at int64) error {
	blank := len(t) - len(bytes.TrimLeft(t, " \t\r\n"))
	if blank == len(t) || p.skipping > 0 {
		return nil
	}
	shown := string(bytes.TrimSpace(t))
	if len(shown) > 20 {
		shown = shown[:20] + "..."
	}
	want := "only elements and comments are allowed"
	if p.doc.Root == nil {
		want = p.form
	}
	return p.errorAt(at+int64(blank), want, "text %q", shown)
}

func (p *parser) close(t xml.EndElement, at int64) error {
	if p.skipping > 0 {
		p.skipping--
		return nil
	}
	if len(p.open) == 0 {
		want := "all elements have ended"
		if p.doc.Root == nil {
			want = p.form
		}
		return p.errorAt(at, want, "</%s> ends nothing", t.Name.Local)
	}
	top := p.open[len(p.open)-1]
	if t.Name.Local != top.Name {
		return p.errorAt(at, fmt.Sprintf("</%s> is allowed", top.Name),
			"</%s> where <%s> of line %d is open", t.Name.Local, top.Name, top.Line)
	}
	p.open = p.open[:len(p.open)-1]
	return nil
}

func (p *parser) start(t xml.StartElement, at int64) error {
	name := t.Name.Local
	if len(p.open)+p.skipping >= maxDepth {
		return p.errorAt(at, fmt.Sprintf("%d levels are allowed", maxDepth), "<%s> is nested too deeply", name)
	}
	if p.skipping > 0 {
		p.skipping++
		return nil
	}
	rule, known := p.elements[name]
	if len(p.open) == 0 {
		if p.doc.Root != nil {
			return p.errorAt(at, "one root element is allowed", "<%s> after the end of <%s>", name, p.doc.Root.Name)
		}
		if name != p.root {
			return p.errorAt(at, p.form, "the root element is <%s>", name)
		}
	} else {
		parent := p.open[len(p.open)-1]
		children := p.elements[parent.Name].children
		if !known || !slices.Contains(children, name) {
			if known {
				return p.errorAt(at, childrenForm(parent.Name, children), "<%s> in <%s>", name, parent.Name)
			}
			// NCCL ignores elements it does not know.
			p.note(at, "unknown element <%s> ignored", name)
			p.skipping = 1
			return nil
		}
	}
	e := &Element{Name: name}
	e.Line, e.Column = p.position(at)
	if len(t.Attr) > maxAttrs {
		return p.errorAt(at, fmt.Sprintf("%d are allowed", maxAttrs), "<%s> has %d attributes", name, len(t.Attr))
	}
	for _, a := range t.Attr {
		if err := p.attr(e, rule, a, at); err != nil {
			return err
		}
	}
	for _, r := range rule.attrs {
		if r.required && !e.Has(r.name) {
			return p.errorAt(at, allowed[r.kind]+" is required", "<%s> has no attribute %s", name, r.name)
		}
	}
	if len(p.open) == 0 {
		if v := e.Int("version", 0); v != p.version {
			return p.errorAt(p.attrOffset(at, "version"), fmt.Sprintf("version %d is allowed", p.version), "version %d", v)
		}
		p.doc.Root = e
	} else {
		parent := p.open[len(p.open)-1]
		parent.Children = append(parent.Children, e)
	}
	p.open = append(p.open, e)
	return nil
}

func (p *parser) attr(e *Element, rule elementRule, a xml.Attr, at int64) error {
	name := a.Name.Local
	if a.Name.Space != "" {
		name = a.Name.Space + ":" + name
	}
	if e.Has(name) {
		return p.errorAt(at, "once is allowed", "<%s> has the attribute %s twice", e.Name, name)
	}
	e.Attrs = append(e.Attrs, Attr{name, a.Value})
	r := rule.attr(name)
	if r == nil {
		var names []string
		for _, known := range rule.attrs {
			names = append(names, known.name)
		}
		text := fmt.Sprintf("unknown attribute %s of <%s> kept but not used", name, e.Name)
		if near := coll.Nearest(name, names); near != "" {
			text += fmt.Sprintf("; did you mean %s?", near)
		}
		p.note(p.attrOffset(at, name), "%s", text)
		return nil
	}
	if wrong, want := r.check(a.Value); wrong != "" {
		return p.errorAt(p.attrOffset(at, name), want+" is allowed", "<%s> %s", e.Name, wrong)
	}
	return nil
}

// attrOffset returns where the attribute of that name begins in the tag at
// offset at.
func (p *parser) attrOffset(at int64, name string) int64 {
	tag := p.data[at:p.dec.InputOffset()]
	for from := 0; ; {
		i := bytes.Index(tag[from:], []byte(name))
		if i < 0 {
			return at
		}
		i += from
		rest := bytes.TrimLeft(tag[i+len(name):], " \t\r\n")
		if i > 0 && bytes.IndexByte([]byte(" \t\r\n"), tag[i-1]) >= 0 && len(rest) > 0 && rest[0] == '=' {
			return at + int64(i)
		}
		from = i + len(name)
	}
}

func childrenForm(parent string, children []string) string {
	if len(children) == 0 {
		return fmt.Sprintf("<%s> holds nothing", parent)
	}
	return fmt.Sprintf("<%s> holds <%s>", parent, strings.Join(children, ">, <"))
}
