package topo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Difference is something in which two topology files differ.
type Difference struct {
	Where string // "cpu 0 / pci 0000:17:00.0 / gpu"
	// Attr is the attribute that differs, "" if only one file has the element, and
	// "order" if both have the same ones in another order.
	Attr        string
	First, Then string // what each file has; "" if it lacks it
}

// String returns the difference in one line.
func (d Difference) String() string {
	switch {
	case d.Attr == "" && d.Then == "":
		return d.Where + ": only in the first"
	case d.Attr == "":
		return d.Where + ": only in the second"
	}
	return fmt.Sprintf("%s: %s %s, %s", d.Where, d.Attr, given(d.First), given(d.Then))
}

func given(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// Compare lists in what two files differ, both fused as [Document.Fused] says:
// elements are the same if their place is, CPUs by NUMA node, devices by address,
// ports by name, links by target. PCI addresses and numbers count by value, and the
// host's hash does not count.
func Compare(a, b *Document) []Difference {
	var c comparison
	c.elements("", a.Fused().Root, b.Fused().Root)
	return c.found
}

type comparison struct{ found []Difference }

// keys are the attributes that tell the children of an element apart; of others it
// has one.
var keys = map[string]string{ElemCPU: "numaid", ElemPCI: "busid", ElemNet: "name", ElemNVLink: "target", ElemPCILink: "target"}

// place names an element in its parent.
func place(e *Element) string {
	key := keys[e.Name]
	if key == "" {
		return e.Name
	}
	return e.Name + " " + e.canonical(key)
}

// canonical returns an attribute in one spelling.
func (e *Element) canonical(name string) string {
	value := e.Text(name)
	rule := topologyElements[e.Name].attr(name)
	if rule == nil || !e.Has(name) {
		return value
	}
	switch rule.kind {
	case intValue:
		if n, err := parseInt(value); err == nil {
			return fmt.Sprint(n)
		}
	case hexValue:
		if n, err := parseHex(value); err == nil {
			return fmt.Sprintf("%#x", n)
		}
	case busValue:
		return e.BusID(name).String()
	}
	return value
}

func (c *comparison) elements(where string, a, b *Element) {
	for _, name := range attrNames(a, b) {
		if x, y := a.canonical(name), b.canonical(name); name != "host_hash" && x != y {
			c.found = append(c.found, Difference{where, name, x, y})
		}
	}
	inA, inB := places(a), places(b)
	for _, p := range inA {
		at := strings.TrimPrefix(where+" / "+p, " / ")
		if !slices.Contains(inB, p) {
			c.found = append(c.found, Difference{Where: at, First: p})
			continue
		}
		c.elements(at, child(a, p), child(b, p))
	}
	for _, p := range inB {
		if !slices.Contains(inA, p) {
			c.found = append(c.found, Difference{Where: strings.TrimPrefix(where+" / "+p, " / "), Then: p})
		}
	}
	both := func(list, other []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(p string) bool { return !slices.Contains(other, p) })
	}
	if x, y := both(inA, inB), both(inB, inA); !slices.Equal(x, y) {
		c.found = append(c.found, Difference{cmp.Or(where, ElemSystem), "order", strings.Join(x, ", "), strings.Join(y, ", ")})
	}
}

// attrNames returns the attributes that either element has.
func attrNames(a, b *Element) []string {
	var names []string
	for _, attr := range slices.Concat(a.Attrs, b.Attrs) {
		if !slices.Contains(names, attr.Name) {
			names = append(names, attr.Name)
		}
	}
	return names
}

func places(e *Element) []string {
	var all []string
	for _, c := range e.Children {
		all = append(all, place(c))
	}
	return all
}

func child(e *Element, at string) *Element {
	return e.Children[slices.IndexFunc(e.Children, func(c *Element) bool { return place(c) == at })]
}
