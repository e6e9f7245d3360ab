package detect

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/golden"
	"github.com/ncclgo/ncclgo/topo"
)

// FuzzReadCapture holds detection to a topology or an error, whatever sysfs and NVML
// say. A machine that was detected is a topology file that can be read again.
func FuzzReadCapture(f *testing.F) {
	scripts, err := filepath.Glob(golden.Path("topo/detect/*.txt"))
	require.NoError(f, err)
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		require.NoError(f, err)
		_, input, _ := strings.Cut(string(text), "\n\n")
		input, _, _ = strings.Cut(input, "\n----\n")
		c, err := Record(parseLayout(f, input).src)
		if err != nil {
			continue // a machine that makes no topology
		}
		var b bytes.Buffer
		require.NoError(f, c.Write(&b))
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadCapture(bytes.NewReader(data))
		if err != nil {
			return
		}
		m, err := Detect(c.Source(), Config{})
		if err != nil {
			return
		}
		var text bytes.Buffer
		_, err = m.Document.WriteTo(&text)
		require.NoError(t, err)
		_, err = topo.Parse("detected", text.Bytes())
		require.NoError(t, err)
		if system, err := m.System(); err == nil {
			require.Equal(t, len(m.gpus()), system.NRanks())
		}
	})
}

// gpus returns the gpu elements that have a rank.
func (m *Machine) gpus() []*topo.Element {
	var all []*topo.Element
	var down func(*topo.Element)
	down = func(e *topo.Element) {
		if e.Name == topo.ElemGPU && e.Has("rank") {
			all = append(all, e)
		}
		for _, c := range e.Children {
			down(c)
		}
	}
	down(m.Document.Root)
	return all
}

// FuzzFile holds detection to a topology or an error, whatever a topology file says.
func FuzzFile(f *testing.F) {
	f.Add([]byte(azure))
	files, err := filepath.Glob(golden.Path("topo/machines/*.xml"))
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	src := parseLayout(f, twoGPUs).src
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := topo.Parse("fuzz.xml", data)
		if err != nil {
			return
		}
		m, err := Detect(src, Config{File: file})
		require.NoError(t, err)
		system, err := m.System()
		if err != nil {
			return
		}
		require.Equal(t, 2, system.NRanks())
		var text bytes.Buffer
		_, err = m.Document.WriteTo(&text)
		require.NoError(t, err)
		_, err = topo.Parse("detected", text.Bytes())
		require.NoError(t, err)
	})
}
