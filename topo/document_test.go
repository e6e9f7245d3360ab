package topo

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// oneGPU is the smallest file with a GPU that has an NVLink.
const oneGPU = `<system version="1">
  <cpu numaid="0" arch="arm64">
    <pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="90" rank="0" gdr="1">
        <nvlink target="0000:02:00.0" count="18" tclass="0x068000"/>
      </gpu>
    </pci>
  </cpu>
</system>
`

// onePCI is the beginning of a pci element.
const onePCI = `<pci busid="0:1:0.0" class="" link_speed="" link_width="0"`

// manyGPUs returns n pci elements with the GPUs of ranks 1 to n.
func manyGPUs(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `<pci busid="1:%x:0.0" class="" link_speed="" link_width="0"><gpu dev="%d" sm="90" rank="%d"/></pci>`, i, i, i)
	}
	return b.String()
}

// manyHosts returns the CPUs of n hosts with the GPU of a rank each, 1 to n.
func manyHosts(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `<cpu host_hash="%#x" numaid="0" arch="arm64"><pci busid="0:1:0.0" class="" link_speed="" link_width="0"><gpu dev="0" sm="90" rank="%d"/></pci></cpu>`, i, i)
	}
	return b.String()
}

// manyCPUs returns n CPUs with a network port each.
func manyCPUs(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `<cpu numaid="%d" arch="arm64"><nic><net dev="%d"/></nic></cpu>`, i, i)
	}
	return b.String()
}

// edit returns oneGPU with a replacement.
func edit(old, new string) string {
	return strings.Replace(oneGPU, old, new, 1)
}

func TestFileErrors(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", `f.xml:1:1: no element; a topology file is XML with the root element <system version="1">`},
		{"json", `{"gpus": 8}`, `f.xml:1:1: text "{\"gpus\": 8}"; a topology file is XML with the root element <system version="1">`},
		{"html", "<!DOCTYPE html>\n<html><head></head></html>", `f.xml:2:1: the root element is <html>; a topology file is XML with the root element <system version="1">`},
		{"graph file", `<graphs version="1"></graphs>`, `f.xml:1:1: the root element is <graphs>; a topology file is XML with the root element <system version="1">`},
		{"binary", "\x7fELF\x02\x01", `f.xml:1:7: not XML (illegal character code U+0002); a topology file is XML with the root element <system version="1">`},
		{"truncated", oneGPU[:160], `f.xml:4:16: the file ends inside <pci> of line 3; is the file truncated?`},
		{"truncated between elements", oneGPU[:strings.Index(oneGPU, "      </gpu>")], `f.xml:6:1: the file ends inside <gpu> of line 4; is the file truncated?`},
		{"no version", edit(` version="1"`, ""), `f.xml:1:1: <system> has no attribute version; a decimal number, a hexadecimal one after 0x or an octal one after 0, of at most 32 bits is required`},
		{"version", edit(`version="1"`, `version="2"`), `f.xml:1:9: version 2; version 1 is allowed`},
		{"number", edit(`sm="90"`, `sm="ninety"`), `f.xml:4:20: <gpu> sm="ninety" is wrong; a decimal number, a hexadecimal one after 0x or an octal one after 0, of at most 32 bits is allowed`},
		{"number too large", edit(`rank="0"`, `rank="99999999999"`), `f.xml:4:28: <gpu> rank="99999999999" is wrong; a decimal number, a hexadecimal one after 0x or an octal one after 0, of at most 32 bits is allowed`},
		{"range", edit(`count="18"`, `count="-1"`), `f.xml:5:39: <nvlink> count="-1" is out of range; 0 to 1024 is allowed`},
		{"address", edit(`busid="0000:01:00.0"`, `busid="gpu0"`), `f.xml:3:10: <pci> busid="gpu0" is wrong; a PCI address like 0000:0f:00.0 is allowed`},
		{"latency", edit("</cpu>", `<nic><net dev="0" latency="inf"/></nic></cpu>`), `f.xml:8:21: <net> latency="inf" is out of range; a finite number, not below 0, is allowed`},
		{"latency too large", edit("</cpu>", `<nic><net dev="0" latency="1e400"/></nic></cpu>`), `f.xml:8:21: <net> latency="1e400" is out of range; a finite number, not below 0, is allowed`},
		{"latency in Go", edit("</cpu>", `<nic><net dev="0" latency="1_0"/></nic></cpu>`), `f.xml:8:21: <net> latency="1_0" is wrong; a number is allowed`},
		{"latency below 0", edit("</cpu>", `<nic><net dev="0" latency="-1"/></nic></cpu>`), `f.xml:8:21: <net> latency="-1" is out of range; a finite number, not below 0, is allowed`},
		{"second socket", edit("</system>", `<cpu numaid="1"/></system>`), `f.xml:9:1: <cpu> has no attribute arch; text is required`},
		{"attribute missing", edit(` class="0x030200"`, ""), `f.xml:3:5: <pci> has no attribute class; text is required`},
		{"attribute twice", edit(`dev="0"`, `dev="0" dev="1"`), `f.xml:4:7: <gpu> has the attribute dev twice; once is allowed`},
		{"element misplaced", edit(`<cpu numaid="0" arch="arm64">`, `<gpu dev="0" sm="90"/><cpu numaid="0" arch="arm64">`), `f.xml:2:3: <gpu> in <system>; <system> holds <cpu>`},
		{"text", edit("</gpu>", "text </gpu>"), `f.xml:6:7: text "text"; only elements and comments are allowed`},
		{"crossed tags", edit("</gpu>", "</pci>"), `f.xml:6:7: </pci> where <gpu> of line 4 is open; </gpu> is allowed`},
		{"second root", oneGPU + oneGPU, `f.xml:10:1: <system> after the end of <system>; one root element is allowed`},
		{"end of nothing", oneGPU + "</system>", `f.xml:10:1: </system> ends nothing; all elements have ended`},
		{"nested", edit("</cpu>", strings.Repeat("\n"+onePCI+">", 100)), `f.xml:71:1: <pci> is nested too deeply; 64 levels are allowed`},
		{"attributes", edit(`sm="90"`, strings.Repeat(`a="" `, 62)+`sm="90"`), `f.xml:4:7: <gpu> has 66 attributes; 64 are allowed`},
		{"unquoted", edit(`sm="90"`, `sm=90`), `f.xml:4:24: not XML (unquoted or missing attribute value in element); elements, quoted attributes, comments and the entities of XML itself are allowed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("f.xml", []byte(c.file))
			require.EqualError(t, err, c.want)
			var fileError *FileError
			require.ErrorAs(t, err, &fileError)
		})
	}
}

func TestSystemErrors(t *testing.T) {
	second := func(bus, gpu string) string {
		return `<pci busid="` + bus + `" class="0x030200" link_speed="" link_width="0">` + gpu + `</pci></cpu>`
	}
	for _, c := range []struct{ name, file, want string }{
		{"duplicate rank", edit("</cpu>", second("0:2:0.0", `<gpu dev="1" sm="90" rank="0" gdr="1"/>`)), `rank 0 again; it is at line 4; a rank has one GPU`},
		{"duplicate dev", edit("</cpu>", second("0:2:0.0", `<gpu dev="0" sm="90" rank="1" gdr="1"/>`)), `dev 0 is also 0000:01:00.0; GPUs of a host have different dev`},
		{"same GPU, other dev", edit("</cpu>", second("0000:01:00.0", `<gpu dev="1" sm="90" rank="1" gdr="1"/>`)), `dev 1 of sm 90 at 0000:01:00.0, where dev 0 of sm 90 is; an address has one GPU, and ranks on it agree in place, dev and sm`},
		{"rank missing", edit(`rank="0"`, `rank="1"`), `rank 1 among 1 GPUs; 0 to 0, each once, are allowed`},
		{"no rank at all", edit(` rank="0"`, ``), `no GPU has a rank; a <gpu> with the attributes dev, sm and rank is required`},
		{"duplicate NUMA node", edit("</system>", `<cpu numaid="0" arch="arm64"/></system>`), `numaid="0" again; one <cpu> a NUMA node and host is allowed`},
		{"duplicate switch", edit("</cpu>", strings.Repeat(`<pci busid="0:9:0.0" class="0x060400" link_speed="" link_width="0"/>`, 2)+"</cpu>"), `busid="0:9:0.0" again; one device an address and host is allowed`},
		{"GPU and card", edit("</cpu>", `<pci busid="0000:01:00.0" class="0x020000" link_speed="" link_width="0"><nic><net dev="0"/></nic></pci></cpu>`), `busid="0000:01:00.0" again; one device an address and host is allowed`},
		{"no vendor", edit("arm64", "x86_64"), `<cpu> has no attribute vendor; text is required where arch is x86_64`},
		{"no model", edit(`"arm64"`, `"x86_64" vendor="GenuineIntel" familyid="6"`), `<cpu> has no attribute modelid; a number is required where the vendor is GenuineIntel`},
		{"CPUs", edit("</system>", manyCPUs(maxCPUs)+"</system>"), `too many CPUs; 640 are allowed`},
		{"hosts", edit("</system>", manyHosts(maxHosts)+"</system>"), `host 257 with a GPU; 256 are allowed; describe one host, and how many there are apart from the file`},
		{"GPUs", edit("</cpu>", manyGPUs(MaxGPUs)+"</cpu>"), `GPU 641; 640 are allowed; describe one host, and how many there are apart from the file`},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc, err := Parse("f.xml", []byte(c.file))
			require.NoError(t, err)
			_, err = NewSystem(doc)
			var fileError *FileError
			require.ErrorAs(t, err, &fileError)
			require.Positive(t, fileError.Line)
			require.Equal(t, c.want, fileError.What+"; "+fileError.Want)
		})
	}
}

func TestNotes(t *testing.T) {
	file := edit(`gdr="1"`, `gdr="1" rnak="3"`)
	file = strings.Replace(file, "</gpu>", "<!-- a comment --><led colour=\"green\"><blink/>fast</led></gpu>", 1)
	file = strings.Replace(file, "0x068000", "0x030200", 1)
	file = strings.Replace(file, "16.0 GT/s PCIe", "fast", 1)
	doc, err := Parse("f.xml", []byte(file))
	require.NoError(t, err)
	s, err := NewSystem(doc)
	require.NoError(t, err)
	require.Equal(t, []Note{
		{4, 45, "unknown attribute rnak of <gpu> kept but not used; did you mean rank?"},
		{6, 25, "unknown element <led> ignored"},
		{3, 5, `unknown link_speed "fast": 6 Gbit/s a lane assumed`},
		{5, 9, "NVLink to 0000:02:00.0, which is no GPU here: ignored"},
	}, s.Notes)

	// What the format does not know survives writing if it is an attribute.
	var out bytes.Buffer
	_, err = doc.WriteTo(&out)
	require.NoError(t, err)
	require.Contains(t, out.String(), `<gpu dev="0" sm="90" rank="0" gdr="1" rnak="3">`)
	require.NotContains(t, out.String(), "led")
}

// TestNVLinkNotes: what is odd about an NVLink is said where it is listed.
func TestNVLinkNotes(t *testing.T) {
	second := `<pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="1" sm="90" rank="1" gdr="1"/></pci></cpu>`
	for _, c := range []struct{ name, file, want string }{
		{"nowhere", edit("0x068000", "0x030200"), "NVLink to 0000:02:00.0, which is no GPU here: ignored"},
		{"one way", strings.Replace(edit("0x068000", "0x030200"), "</cpu>", second, 1), "NVLink to 0000:02:00.0, which lists none back: not used"},
		{"itself", strings.Replace(edit("0x068000", "0x030200"), "0000:02:00.0", "0000:01:00.0", 1), "NVLink from 0000:01:00.0 to itself: not used"},
		{"class", edit("0x068000", "0xdeadbe"), `NVLink to a device of class "0xdeadbe": taken for an NVSwitch`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parseSystem("f.xml", []byte(c.file))
			require.NoError(t, err)
			require.Equal(t, []Note{{5, 9, c.want}}, s.Notes)
			v, err := s.View(Params{})
			require.NoError(t, err)
			require.Equal(t, s.Notes, v.Notes)
			for _, p := range v.Nodes[NodeGPU][0].paths[NodeGPU] {
				require.NotEqual(t, PathNVL, p.Type)
			}
		})
	}
}

// TestDefaultNotes: a value that is taken for another, and a link that carries
// nothing, is said where it is.
func TestDefaultNotes(t *testing.T) {
	second := func(links string) string {
		return `<pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="1" sm="90" rank="1" gdr="1">` + links + `</gpu></pci></cpu>`
	}
	between := strings.Replace(oneGPU, "0x068000", "0x030200", 1)
	long := strings.Repeat("x", 1000)
	for _, c := range []struct{ name, file, want string }{
		{"architecture", edit("arm64", "riscv64"), `2:3 unknown CPU architecture "riscv64": links between CPUs not limited`},
		{"long architecture", edit("arm64", long), `2:3 unknown CPU architecture "` + long[:maxMessage+1-len(`unknown CPU architecture "`)] + "..."},
		{"vendor", edit("arm64\"", "x86_64\" vendor=\"HygonGenuine\""), `2:3 unknown CPU vendor "HygonGenuine": links between CPUs not limited`},
		{"port speed", edit("</cpu>", `<nic><net dev="0" speed="-1"/></nic></cpu>`), `8:8 speed of <net> not known: 10000 Mbit/s assumed`},
		{"no port speed", edit("</cpu>", `<nic><net dev="0"/></nic></cpu>`), `8:8 speed of <net> not known: 10000 Mbit/s assumed`},
		{"no NVLink", edit(`count="18"`, `count="0"`), `5:9 no NVLink to 0000:02:00.0: count is 0`},
		{"no C2C link", edit("<nvlink", `<c2c bw="44712" count="0"/><nvlink`), `5:9 no C2C link: bw or count is 0`},
		{"more one way", strings.Replace(between, "</cpu>", second(`<nvlink target="0000:01:00.0" count="6" tclass="0x030200"/>`), 1), `5:9 18 NVLinks to 0000:02:00.0, which lists 6 back: each direction has its own bandwidth`},
		{"none one way", strings.Replace(between, "</cpu>", second(`<nvlink target="0000:01:00.0" count="0" tclass="0x030200"/>`), 1), `8:128 no NVLink to 0000:01:00.0: count is 0`},
		{"as many one by one", strings.Replace(between, "</cpu>", second(strings.Repeat(`<nvlink target="0000:01:00.0" count="9" tclass="0x030200"/>`, 2)), 1), ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parseSystem("f.xml", []byte(c.file))
			require.NoError(t, err)
			var notes []string
			for _, n := range s.Notes {
				notes = append(notes, fmt.Sprintf("%d:%d %s", n.Line, n.Column, n.Text))
			}
			require.Equal(t, c.want, strings.Join(notes, "\n"))
		})
	}
}

// TestDeclarations: what a file says of its encoding does not matter, its bytes do.
func TestDeclarations(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"UTF-8", `<?xml version="1.0" encoding="UTF-8"?>` + oneGPU, ""},
		{"Latin 1", `<?xml version="1.0" encoding="ISO-8859-1"?>` + oneGPU, ""},
		{"not UTF-8", `<?xml version="1.0" encoding="ISO-8859-1"?>` + edit("arm64", "arm\xe4"), `f.xml:2:30: not XML (invalid UTF-8); elements, quoted attributes, comments and the entities of XML itself are allowed`},
		{"version", `<?xml version="1.1"?>` + oneGPU, `f.xml:1:22: not XML (unsupported version "1.1"; only version 1.0 is supported); a topology file is XML with the root element <system version="1">`},
		{"entity", `<!DOCTYPE system [<!ENTITY a "&b;&b;"><!ENTITY b "arm64">]>` + edit("arm64", "&a;"), `f.xml:2:28: not XML (invalid character entity &a;); elements, quoted attributes, comments and the entities of XML itself are allowed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("f.xml", []byte(c.file))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.want)
		})
	}
}

// written returns what WriteTo writes.
func written(t *testing.T, d *Document) string {
	var out bytes.Buffer
	_, err := d.WriteTo(&out)
	require.NoError(t, err)
	return out.String()
}

func TestRoundTrip(t *testing.T) {
	doc, err := Parse("f.xml", []byte(oneGPU))
	require.NoError(t, err)
	require.Equal(t, oneGPU, written(t, doc))

	awkward := edit(`arch="arm64"`, "arch=\"arm64\" affinity=\"a&lt;&quot;b&#10;c\"")
	doc, err = Parse("f.xml", []byte(awkward))
	require.NoError(t, err)
	again, err := Parse("f.xml", []byte(written(t, doc)))
	require.NoError(t, err)
	require.Equal(t, "a<\"b\nc", again.Root.Children[0].Text("affinity"))
}

func TestIntegers(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "12": 12, "-1": -1, "0x1F": 31, "0b1": -99, "1_0": -99, "010": 8, "": -99, " 1": -99, "0xb": 11} {
		n, err := parseInt(text)
		if want == -99 {
			require.Error(t, err, "%q", text)
			continue
		}
		require.NoError(t, err, "%q", text)
		require.Equal(t, want, n, "%q", text)
	}
}

func TestBusID(t *testing.T) {
	for text, want := range map[string]BusID{
		"0000:0f:00.0": 0xf000, "0000:0F:00.0": 0xf000, "fffffff:ff:ff.0": 0xfffffffffff0, "10000:e1:00.1": 0x10000e1001,
	} {
		id, err := ParseBusID(text)
		require.NoError(t, err)
		require.Equal(t, want, id)
		require.Equal(t, strings.ToLower(text), id.String())
	}
	for _, text := range []string{"", ":", "0000:0g:00.0", "0000:0f:00.0 ", "00000000000000001"} {
		_, err := ParseBusID(text)
		require.Error(t, err, "%q", text)
	}
}

// FuzzParse: whatever the bytes, no panic; what parses, prints and parses to
// the same; what is refused names a place in the file.
func FuzzParse(f *testing.F) {
	f.Add([]byte(oneGPU))
	for _, name := range Builtins() {
		data, err := machines.ReadFile("machines/" + name + ".xml")
		require.NoError(f, err)
		f.Add(data)
	}
	for _, text := range []string{"", "<", "<system version='1'/>", "<system version=\"1\"><cpu", "<a xmlns:b='c' b:d='e'/>"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := Parse("f.xml", data)
		if err != nil {
			var fileError *FileError
			require.True(t, errors.As(err, &fileError), "%T", err)
			require.Positive(t, fileError.Line)
			require.Positive(t, fileError.Column)
			return
		}
		once := written(t, doc)
		again, err := Parse("f.xml", []byte(once))
		require.NoError(t, err, "%s", once)
		require.Equal(t, once, written(t, again))
		if s, err := NewSystem(doc); err == nil && s.NRanks() <= 8 {
			// A search may find no path, but nothing worse happens.
			_, _ = searchRing(s)
		}
		if s, err := parseSystem("f.xml", data); err == nil && s.NRanks() <= 4 {
			connectTwo(t, s)
		}
	})
}

// connectTwo makes a layout of two hosts like s, and shows everything: two hosts can
// always be connected, if only by a guess.
func connectTwo(t *testing.T, s *System) {
	members, err := Members(s, HostParams{Hosts: 2, Search: SearchParams{CrossNIC: CrossNICPairs, NVLS: true}})
	require.NoError(t, err)
	l, err := Connect(members, LayoutParams{})
	require.NoError(t, err)
	checkLayout(t, l)
	v, err := s.View(Params{NRanks: l.NRanks()})
	require.NoError(t, err)
	require.NotEmpty(t, s.String()+v.Matrix()+l.NodeString(0)+l.String())
}

// Whatever a file holds, its errors and notes are text that a terminal shows.
func TestMessagesArePrintable(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"binary", "\x7fELF\x02\x01", `f.xml:1:7: not XML (illegal character code U+0002); `},
		{"tag", "<a\u009b31m/>", `f.xml:1:8: not XML (invalid XML name: a\u009b31m); `},
		{"no UTF-8", "<system version=\"\u009b2J\xff\"/>", `f.xml:1:24: not XML (invalid UTF-8); `},
		{"value", "<system version=\"\u009b2J\u202e\"/>", `f.xml:1:9: <system> version="\u009b2J\u202e" is wrong; `},
		{"note", "<system version=\"1\"><\u00e9" + strings.Repeat("x", 400) + "/></system>", "unknown element <\u00e9xxx"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var text string
			if doc, err := Parse("f.xml", []byte(test.data)); err != nil {
				text = err.Error()
			} else {
				text = doc.Notes[0].Text
			}
			require.True(t, strings.HasPrefix(text, test.want), text)
			require.Less(t, len(text), 2*maxMessage)
			for _, r := range text {
				require.True(t, strconv.IsPrint(r), "%q", text)
			}
		})
	}
}
