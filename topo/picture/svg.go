package picture

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// element is an element of SVG.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Raw      string     `xml:",innerxml"` // text that needs no escapes
	Children []*element
}

// newElement makes an element; attrs are names and values in turn, numbers px.
func newElement(name string, attrs ...any) *element {
	e := &element{XMLName: xml.Name{Local: name}}
	for i := 0; i < len(attrs); i += 2 {
		var value string
		switch v := attrs[i+1].(type) {
		case float64:
			value = px(v)
		default:
			value = fmt.Sprint(v)
		}
		e.Attrs = append(e.Attrs, xml.Attr{Name: xml.Name{Local: attrs[i].(string)}, Value: value})
	}
	return e
}

// px writes a number in tenths.
func px(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64)
}

// classes adds the classes of e and what is in it to a set.
func (e *element) classes(set map[string]bool) {
	set[e.XMLName.Local] = true
	for _, a := range e.Attrs {
		if a.Name.Local == "class" {
			for _, class := range strings.Fields(a.Value) {
				set[class] = true
			}
		}
	}
	for _, child := range e.Children {
		child.classes(set)
	}
}

// dashed breaks a line as dash says; "" leaves it whole.
func (e *element) dashed(dash string) *element {
	if dash != "" {
		e.Attrs = append(e.Attrs, xml.Attr{Name: xml.Name{Local: "stroke-dasharray"}, Value: dash})
	}
	return e
}

func (e *element) add(children ...*element) *element {
	e.Children = append(e.Children, children...)
	return e
}

// text is a line of text, at its middle unless its class says otherwise.
func text(class string, x, y float64, s string) *element {
	e := newElement("text", "class", class, "x", x, "y", y)
	e.Text = s
	return e
}

// tip is what is shown when a pointer rests on an element.
func tip(s string) *element {
	e := newElement("title")
	e.Text = s
	return e
}

// onGround is a text of class on ground of its own, so that no line is in its way.
func onGround(class string, x, y float64, s string) *element {
	w := textWidth(s)*.95 + 3
	return newElement("g").add(newElement("rect", "class", "ground", "x", x-w/2, "y", y-11, "width", w, "height", 14), text(class, x, y, s))
}

// line is a line of class through what the format draws with the numbers.
func line(class, format string, numbers ...float64) *element {
	args := make([]any, len(numbers))
	for i, n := range numbers {
		args[i] = px(n)
	}
	return newElement("path", "class", class, "d", fmt.Sprintf(format, args...))
}

// textWidth is about how wide a line of text is.
func textWidth(s string) float64 { return 6.8 * float64(len([]rune(s))) }

// write writes a picture of that size with a title and a description for those
// who cannot see it.
func write(w io.Writer, width, height float64, title, description string, content ...*element) error {
	root := newElement("svg", "xmlns", "http://www.w3.org/2000/svg", "role", "img",
		"viewBox", strings.Join([]string{"0 0", px(width), px(height)}, " "), "width", width, "height", height)
	desc, sheet := newElement("desc"), newElement("style")
	root.add(tip(title), desc, sheet, newElement("rect", "class", "ground", "width", "100%", "height", "100%"))
	root.add(content...)
	desc.Text, sheet.Raw = description, style(root)
	enc := xml.NewEncoder(w)
	enc.Indent("", " ")
	if err := enc.Encode(root); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
