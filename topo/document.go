package topo

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Version is the version of the topology file format (NCCL_TOPO_XML_VERSION).
const Version = 1

// MaxGPUs is the most GPUs of a system, each rank on a shared one counted: NCCL's
// NCCL_TOPO_MAX_NODES (NCCL v2.30 src/include/graph.h).
const MaxGPUs = 640

// maxCPUs is the most CPUs of a system, all linked with one another, as NCCL has it
// (NCCL_TOPO_MAX_NODES, NCCL v2.30 src/include/graph.h).
const maxCPUs = 640

// Bounds on an element, so that a hostile file is refused instead of exhausting
// time or stack.
const (
	maxDepth = 64 // levels of nesting
	maxAttrs = 64
)

// Document is a topology file: NCCL's XML, version 1.
type Document struct {
	// Name is the file's name, or that of a built-in description.
	Name string
	Root *Element
	// Notes are what was found odd but not wrong.
	Notes []Note
}

// Note is a remark about a place in a file.
type Note struct {
	Line, Column int
	Text         string
}

// In returns the note with its place in the file of that name, if it has one.
func (n Note) In(file string) string {
	if n.Line > 0 {
		file = fmt.Sprintf("%s:%d:%d", file, n.Line, n.Column)
	}
	return file + ": " + n.Text
}

// FileError is a mistake in a topology file or a graph file.
type FileError struct {
	File         string
	Line, Column int    // from 1; 0 if the document was not read from a file
	What         string // what is wrong
	Want         string // what is allowed, or what to do
}

// Error returns "file:line:column: what; allowed is ...".
func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": " + e.What)
	if e.Want != "" {
		b.WriteString("; " + e.Want)
	}
	return b.String()
}

// schema is the form of one kind of file.
type schema struct {
	root     string // its root element
	version  int    // the only one there is
	form     string // what a file of that kind looks like, for errors
	elements map[string]elementRule
}

// Parse reads a topology file. name appears in errors.
func Parse(name string, data []byte) (*Document, error) {
	return parse(name, data, &topologySchema)
}

func parse(name string, data []byte, s *schema) (*Document, error) {
	p := parser{
		schema: s,
		doc:    &Document{Name: name},
		data:   data,
		dec:    xml.NewDecoder(bytes.NewReader(data)),
	}
	// NCCL does not look at declared encodings. Bytes that are no UTF-8 are refused
	// where they are.
	p.dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	if err := p.run(); err != nil {
		return nil, err
	}
	return p.doc, nil
}

// WriteTo writes the document as NCCL writes topology files: two spaces a
// level, attributes in order. Comments and elements that the format does not
// have are not in a Document and so not written.
func (d *Document) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	d.Root.write(&b, 0)
	return b.WriteTo(w)
}

func (e *Element) write(b *bytes.Buffer, level int) {
	indent := strings.Repeat("  ", level)
	b.WriteString(indent + "<" + e.Name)
	for _, a := range e.Attrs {
		b.WriteString(" " + a.Name + `="`)
		// A bytes.Buffer never fails.
		_ = xml.EscapeText(b, []byte(a.Value))
		b.WriteString(`"`)
	}
	if len(e.Children) == 0 {
		b.WriteString("/>\n")
		return
	}
	b.WriteString(">\n")
	for _, c := range e.Children {
		c.write(b, level+1)
	}
	b.WriteString(indent + "</" + e.Name + ">\n")
}

// errorAt returns an error about an element of d.
func (d *Document) errorAt(e *Element, want, format string, args ...any) error {
	return &FileError{File: d.Name, Line: e.Line, Column: e.Column, What: printable(fmt.Sprintf(format, args...)), Want: want}
}
