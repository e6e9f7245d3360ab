package topo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// outline is a document in a line: GPUs as dev/rank, ports as name:dev, switches
// and CPUs with what is below them in brackets.
func outline(e *Element) string {
	var below []string
	for _, child := range e.Children {
		if o := outline(child); o != "" {
			below = append(below, o)
		}
	}
	inner := strings.Join(below, " ")
	switch {
	case e.Name == ElemGPU:
		return e.Text("dev") + "/" + e.Text("rank")
	case e.Name == ElemNet:
		return e.Text("name") + ":" + e.Text("dev")
	case e.Name == ElemCPU, e.Name == ElemPCI && e.Text("class") == "0x060400":
		return "[" + inner + "]"
	}
	return inner
}

func gpuAt(bus int, attrs string) string {
	return pci(fmt.Sprintf("0001:%02x:00.0", bus), "0x030200", `<gpu sm="90" `+attrs+`/>`)
}

func portAt(bus int, attrs string) string {
	return pci(fmt.Sprintf("0002:%02x:00.0", bus), "0x020000", `<nic><net `+attrs+`/></nic>`)
}

// TestFused: numbers as a program of one rank on each GPU has them, and the order
// in which ranks put together what they keep of a file.
func TestFused(t *testing.T) {
	unused := pci("0009:00:00.0", "0x060400", pci("0009:01:00.0", "0x068000", ""))
	hosts := func(b string) string {
		return strings.Replace(file(arm, gpuAt(1, `dev="0" rank="0"`), b), `numaid="1"`, `numaid="1" host_hash="0x2"`, 1)
	}
	for _, c := range []struct{ name, file, want string }{
		{"own GPU and ports first",
			file(arm, bridge(1, gpuAt(0, `dev="0" rank="0"`), gpuAt(1, `dev="1" rank="1"`), portAt(0, `name="a" dev="0"`))+bridge(2, gpuAt(2, `dev="2" rank="2"`), portAt(1, `name="b" dev="1"`))),
			"[[0/0 a:0 1/1] [b:1 2/2]]"},
		{"first rank on the second socket",
			file(arm, gpuAt(1, `dev="1" rank="0"`), gpuAt(0, `dev="0" rank="1"`)),
			"[0/0] [1/1]"},
		{"what nobody uses",
			file(arm, unused+gpuAt(0, `dev="0" rank="0"`)+gpuAt(1, `dev="1"`)+portAt(0, `name="a"`)+portAt(1, `name="b" dev="4"`), unused),
			"[0/0 b:0]"},
		{"nobody has a number",
			file(arm, gpuAt(1, `dev="1"`)+gpuAt(0, `dev="0"`)+portAt(0, `name="a"`)+portAt(1, `name="b"`)),
			"[0/0 a:0 b:1 1/1]"},
		{"ports of one name and of one number",
			file(arm, gpuAt(0, `dev="0"`)+portAt(0, `name="a" dev="0"`)+portAt(1, `name="b" dev="0"`), portAt(2, `name="a" dev="1"`)),
			"[0/0 a:0 b:1]"},
		{"ports for device-initiated traffic keep theirs",
			file(arm, gpuAt(0, `dev="0"`)+portAt(0, `name="a" dev="5" net="0"`)+portAt(1, `name="b" dev="7"`)),
			"[0/0 a:5 b:0]"},
		{"hosts",
			hosts(gpuAt(2, `dev="0" rank="1"`) + portAt(0, `name="a" dev="3"`)),
			"[0/0] [0/1 a:0]"},
		{"cards that look the same",
			file(arm, `<nic><net name="a" dev="0"/></nic>`+gpuAt(0, `dev="0"`)+portAt(0, `name="b" dev="1"`)+`<nic><net name="c" dev="2"/></nic>`+gpuAt(1, `dev="1"`)),
			"[a:0 0/0 b:1 c:2 1/1]"},
		{"ranks that share a GPU, listed apart",
			file(arm, pci("0001:00:00.0", "0x030200", `<gpu sm="90" dev="0" rank="0"/>`)+portAt(0, `name="a" dev="0"`)+pci("0001:00:00.0", "0x030200", `<gpu sm="90" dev="0" rank="1"/>`)),
			"[0/0 0/1 a:0]"},
		{"ranks that share a GPU",
			file(arm, pci("0001:00:00.0", "0x030200", `<gpu sm="90" dev="0" rank="0"/><gpu sm="90" dev="0" rank="1"/>`)+portAt(0, `name="a" dev="0"`)),
			"[0/0 0/1 a:0]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc, err := Parse("f.xml", []byte(c.file))
			require.NoError(t, err)
			doc.Renumber()
			fused := doc.Fused()
			require.Equal(t, c.want, outline(fused.Root))
			require.Equal(t, written(t, fused), written(t, fused.Fused()), "fused again")
		})
	}
}
