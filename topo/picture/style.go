package picture

import (
	"fmt"
	"slices"
	"strings"
)

// look is how elements of a class look: the colours on light and on dark ground,
// and what is the same on both.
type look struct {
	class       string
	light, dark string
	both        string
}

var looks = []look{
	{".ground", "fill:#ffffff", "fill:#0d1117", ""},
	{"text", "fill:#1f2328", "fill:#e6edf3", "font:12px system-ui,sans-serif;text-anchor:middle"},
	{".title", "", "", "font-size:15px;font-weight:600;text-anchor:start"},
	{".name", "", "", "font-weight:600"},
	{".dim", "fill:#59636e", "fill:#9198a1", "font-size:11px"},
	{".left", "", "", "text-anchor:start"},
	{".gbs", "", "", "font-size:11px"},
	{".host", "stroke:#afb8c1", "stroke:#59636e", "fill:none;stroke-dasharray:4 3"},
	{".cpu", "fill:#ddf4ff;stroke:#54aeff", "fill:#12263f;stroke:#388bfd", ""},
	{".pci", "fill:#eaeef2;stroke:#818b98", "fill:#21262d;stroke:#6e7681", ""},
	{".gpu", "fill:#dafbe1;stroke:#2da44e", "fill:#12361f;stroke:#3fb950", ""},
	{".net", "fill:#fff1e5;stroke:#bc4c00", "fill:#3b2300;stroke:#db6d28", ""},
	{".nvs", "fill:#dafbe1;stroke:#2da44e", "fill:#12361f;stroke:#3fb950", ""},
	{".socket", "stroke:#80ccff", "stroke:#1f6feb", "fill:none;stroke-width:6px;stroke-linecap:round"},
	{".link", "", "", "fill:none;stroke-width:2px"},
	{".on-pci", "stroke:#818b98", "stroke:#8b949e", ""},
	{".on-nvl", "stroke:#2da44e", "stroke:#3fb950", ""},
	{".on-c2c", "stroke:#bf3989", "stroke:#f778ba", ""},
	{".on-sys", "stroke:#0969da", "stroke:#58a6ff", ""},
	{".path", "", "", "fill:none;stroke-width:2.5px"},
}

// hues are the colours of channels on light and on dark ground, told apart also
// by those who see few colours.
var hues = [...][2]string{
	{"#0969da", "#58a6ff"}, {"#cf222e", "#ff7b72"}, {"#1a7f37", "#3fb950"}, {"#8250df", "#bc8cff"},
	{"#bc4c00", "#f0883e"}, {"#0b7285", "#39c5cf"}, {"#bf3989", "#f778ba"}, {"#7d6608", "#d4a72c"},
}

// hue returns the class of the i-th colour.
func hue(i int) string { return fmt.Sprintf("hue%d", i%len(hues)) }

// dash returns how a line of the i-th colour is broken, where colours recur.
func dash(i int) string {
	if i < len(hues) {
		return ""
	}
	return fmt.Sprintf("%d 4", 6*(i/len(hues)))
}

// style returns the style sheet of a picture.
func style(picture *element) string {
	used := map[string]bool{}
	picture.classes(used)
	var both, dark strings.Builder
	rule := func(b *strings.Builder, class string, parts ...string) {
		set := slices.DeleteFunc(parts, func(p string) bool { return p == "" })
		if len(set) > 0 {
			fmt.Fprintf(b, "%s{%s}\n", class, strings.Join(set, ";"))
		}
	}
	for _, l := range looks {
		if used[strings.TrimPrefix(l.class, ".")] {
			rule(&both, l.class, l.light, l.both)
			rule(&dark, l.class, l.dark)
		}
	}
	for i, h := range hues {
		if used[hue(i)] {
			rule(&both, ".path."+hue(i), "stroke:"+h[0])
			rule(&both, ".head."+hue(i), "fill:"+h[0])
			rule(&dark, ".path."+hue(i), "stroke:"+h[1])
			rule(&dark, ".head."+hue(i), "fill:"+h[1])
		}
	}
	return "\n" + both.String() + "@media (prefers-color-scheme:dark){\n" + dark.String() + "}\n"
}
