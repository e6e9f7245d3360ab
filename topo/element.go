package topo

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Element names of a topology file.
const (
	ElemSystem  = "system"
	ElemCPU     = "cpu"
	ElemPCI     = "pci"
	ElemGPU     = "gpu"
	ElemNVLink  = "nvlink"
	ElemC2C     = "c2c"
	ElemPCILink = "pcilink"
	ElemNIC     = "nic"
	ElemNet     = "net"
)

// Element is an element of a topology file with everything in the order in
// which it is written: NCCL creates links in that order and its search depends
// on it. The values of attributes that the format knows have been checked and
// are read with Int, Text and so on; others are kept as they are.
type Element struct {
	Name     string
	Attrs    []Attr
	Children []*Element
	// Line and Column say where the element begins, from 1; 0 if it was not
	// read from a file. A column counts bytes.
	Line, Column int
}

// Attr is an attribute of an [Element].
type Attr struct {
	Name, Value string
}

// Get returns the value of an attribute and whether e has it.
func (e *Element) Get(name string) (string, bool) {
	for _, a := range e.Attrs {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}

// Has reports whether e has an attribute.
func (e *Element) Has(name string) bool {
	_, ok := e.Get(name)
	return ok
}

// Set gives an attribute a value, in its place or after the others.
func (e *Element) Set(name, value string) {
	for i := range e.Attrs {
		if e.Attrs[i].Name == name {
			e.Attrs[i].Value = value
			return
		}
	}
	e.Attrs = append(e.Attrs, Attr{name, value})
}

// Unset takes an attribute away.
func (e *Element) Unset(name string) {
	e.Attrs = slices.DeleteFunc(e.Attrs, func(a Attr) bool { return a.Name == name })
}

// Clone returns a copy of e and all below it.
func (e *Element) Clone() *Element {
	c := *e
	c.Attrs = slices.Clone(e.Attrs)
	c.Children = nil
	for _, child := range e.Children {
		c.Children = append(c.Children, child.Clone())
	}
	return &c
}

// Text returns the value of an attribute, "" if there is none.
func (e *Element) Text(name string) string {
	v, _ := e.Get(name)
	return v
}

// Int returns the value of an integer attribute, or absent if e lacks it.
func (e *Element) Int(name string, absent int) int {
	v, ok := e.Get(name)
	if !ok {
		return absent
	}
	n, err := parseInt(v)
	if err != nil {
		return absent
	}
	return n
}

// Hex returns the value of a hexadecimal attribute, 0 if e lacks it.
func (e *Element) Hex(name string) uint64 {
	n, err := parseHex(e.Text(name))
	if err != nil {
		return 0
	}
	return n
}

// Float returns the value of a floating-point attribute, 0 if e lacks it.
func (e *Element) Float(name string) float32 {
	f, err := strconv.ParseFloat(e.Text(name), 32)
	if err != nil {
		return 0
	}
	return float32(f)
}

// BusID returns the value of a PCI address attribute, 0 if e lacks it.
func (e *Element) BusID(name string) BusID {
	id, err := ParseBusID(e.Text(name))
	if err != nil {
		return 0
	}
	return id
}

// parseInt reads an integer as NCCL does with strtol base 0: decimal,
// hexadecimal after 0x, octal after 0.
func parseInt(s string) (int, error) {
	digits := strings.ToLower(strings.TrimPrefix(s, "-"))
	// Go's base 0 allows more than C's.
	if strings.Contains(digits, "_") || strings.HasPrefix(digits, "0b") || strings.HasPrefix(digits, "0o") {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseInt(s, 0, 32)
	return int(n), err
}

// parseHex reads a hexadecimal number with or without 0x, as NCCL does with
// strtoull base 16.
func parseHex(s string) (uint64, error) {
	return strconv.ParseUint(strings.TrimPrefix(strings.ToLower(s), "0x"), 16, 64)
}

// BusID is a PCI address as a number: its hexadecimal digits without the
// separators, so 0000:0f:00.0 is 0xf000.
type BusID uint64

// ParseBusID reads a PCI address ("0000:0f:00.0"), in either case and with any
// width of domain.
func ParseBusID(s string) (BusID, error) {
	var id BusID
	digits := 0
	for _, c := range strings.ToLower(s) {
		switch {
		case c == ':' || c == '.':
			continue
		case '0' <= c && c <= '9':
			id = id<<4 | BusID(c-'0')
		case 'a' <= c && c <= 'f':
			id = id<<4 | BusID(c-'a'+10)
		default:
			return 0, fmt.Errorf("%q is no PCI address", s)
		}
		digits++
	}
	if digits == 0 || digits > 15 {
		return 0, fmt.Errorf("%q is no PCI address", s)
	}
	return id, nil
}

// String returns the address in sysfs's form ("0000:0f:00.0").
func (b BusID) String() string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", uint64(b)>>20, uint64(b)>>12&0xff, uint64(b)>>4&0xff, uint64(b)&0xf)
}

// valueKind is the form of an attribute's value.
type valueKind uint8

const (
	textValue valueKind = iota
	intValue
	hexValue
	floatValue
	busValue
)

// allowed says in words what a value of each kind may be.
var allowed = [...]string{
	textValue:  "text",
	intValue:   "a decimal number, a hexadecimal one after 0x or an octal one after 0, of at most 32 bits",
	hexValue:   "a hexadecimal number of at most 64 bits",
	floatValue: "a number",
	busValue:   "a PCI address like 0000:0f:00.0",
}

// attrRule says what an attribute may be.
type attrRule struct {
	name     string
	kind     valueKind
	required bool
	min, max int // bounds of an integer, if max > min
}

// elementRule says what an element may hold.
type elementRule struct {
	attrs    []attrRule
	children []string
}

// topologySchema is version 1 of the topology file.
var topologySchema = schema{
	root:     ElemSystem,
	version:  Version,
	form:     `a topology file is XML with the root element <system version="1">`,
	elements: topologyElements,
}

// topologyElements are the elements of a topology file. Required is what NCCL
// refuses to do without (NCCL v2.30 src/graph/topo.cc).
var topologyElements = map[string]elementRule{
	ElemSystem: {
		attrs:    []attrRule{{name: "version", kind: intValue, required: true}},
		children: []string{ElemCPU},
	},
	ElemCPU: {
		attrs: []attrRule{
			{name: "host_hash", kind: hexValue},
			{name: "numaid", kind: intValue, required: true},
			{name: "affinity"},
			{name: "arch", required: true},
			{name: "vendor"},
			{name: "familyid", kind: intValue},
			{name: "modelid", kind: intValue},
		},
		children: []string{ElemPCI, ElemNIC},
	},
	ElemPCI: {
		attrs: []attrRule{
			{name: "busid", kind: busValue, required: true},
			{name: "class", required: true},
			{name: "vendor", kind: hexValue},
			{name: "device", kind: hexValue},
			{name: "subsystem_vendor", kind: hexValue},
			{name: "subsystem_device", kind: hexValue},
			{name: "link_speed", required: true},
			{name: "link_width", kind: intValue, required: true, min: 0, max: 64},
		},
		children: []string{ElemPCI, ElemGPU, ElemNIC, ElemPCILink},
	},
	ElemGPU: {
		attrs: []attrRule{
			{name: "dev", kind: intValue, required: true, min: 0, max: 1 << 16},
			{name: "sm", kind: intValue, required: true, min: 1, max: 999},
			{name: "rank", kind: intValue, min: 0, max: 1 << 24},
			{name: "gdr", kind: intValue},
			{name: "mlopart", kind: intValue, min: -1, max: 1},
		},
		children: []string{ElemNVLink, ElemC2C},
	},
	ElemNVLink: {
		attrs: []attrRule{
			{name: "target", kind: busValue, required: true},
			{name: "count", kind: intValue, required: true, min: 0, max: 1024},
			{name: "tclass", required: true},
		},
	},
	ElemC2C: {
		attrs: []attrRule{
			{name: "bw", kind: intValue, required: true, min: 0, max: 1 << 24},
			{name: "count", kind: intValue, required: true, min: 0, max: 1024},
		},
	},
	ElemPCILink: {
		attrs: []attrRule{{name: "target", kind: busValue, required: true}},
	},
	ElemNIC: {
		children: []string{ElemNet},
	},
	ElemNet: {
		attrs: []attrRule{
			{name: "name"},
			{name: "dev", kind: intValue, min: 0, max: 1 << 16},
			{name: "speed", kind: intValue},
			{name: "port", kind: intValue},
			{name: "guid", kind: hexValue},
			{name: "maxconn", kind: intValue},
			{name: "gdr", kind: intValue},
			{name: "latency", kind: floatValue},
			{name: "coll", kind: intValue},
			{name: "keep", kind: intValue},
			{name: "net", kind: intValue},
			{name: "gin", kind: intValue},
			{name: "rma", kind: intValue},
			{name: "rail", kind: intValue},
			{name: "plane", kind: intValue},
		},
	},
}

// attr returns the rule of an attribute, nil if the format has none.
func (r elementRule) attr(name string) *attrRule {
	if i := slices.IndexFunc(r.attrs, func(a attrRule) bool { return a.name == name }); i >= 0 {
		return &r.attrs[i]
	}
	return nil
}

// check says what is wrong with a value, or nothing and "".
func (r *attrRule) check(value string) (wrong, want string) {
	var err error
	want = allowed[r.kind]
	switch r.kind {
	case intValue:
		var n int
		n, err = parseInt(value)
		if err == nil && r.max > r.min && (n < r.min || n > r.max) {
			return fmt.Sprintf("%s=%q is out of range", r.name, value), fmt.Sprintf("%d to %d", r.min, r.max)
		}
	case hexValue:
		_, err = parseHex(value)
	case floatValue:
		var f float64
		f, err = strconv.ParseFloat(value, 32)
		if errors.Is(err, strconv.ErrRange) || err == nil && !(f >= 0 && f <= math.MaxFloat32) {
			return fmt.Sprintf("%s=%q is out of range", r.name, value), "a finite number, not below 0,"
		}
		// Go's form of numbers allows more than C's.
		if strings.Contains(value, "_") {
			err = strconv.ErrSyntax
		}
	case busValue:
		_, err = ParseBusID(value)
	}
	if err != nil {
		return fmt.Sprintf("%s=%q is wrong", r.name, value), want
	}
	return "", ""
}
