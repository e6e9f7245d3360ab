package detect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/internal/testenv"
	"github.com/ncclgo/ncclgo/topo"
)

// sysfsDocument is the form of the reference machine's sysfs.json.
type sysfsDocument struct {
	CPU   map[string]any    `json:"cpu"`
	Files map[string]string `json:"files"`
	Links map[string]string `json:"links"`
}

// referenceFiles returns the files of the reference machine.
func referenceFiles(t *testing.T) fs.FS {
	t.Helper()
	data, err := os.ReadFile(testenv.Shared(t, "reference/h200x2/sysfs.json"))
	require.NoError(t, err)
	var doc sysfsDocument
	require.NoError(t, json.Unmarshal(data, &doc))
	files := fstest.MapFS{}
	for name, text := range doc.Files {
		if !strings.HasPrefix(text, "ERR") {
			files[name[1:]] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
		}
	}
	for name, to := range doc.Links {
		files[name[1:]] = &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
	}
	info := ""
	for _, key := range []string{"vendor_id", "cpu family", "model"} {
		info += fmt.Sprintf("%s\t: %v\n", key, doc.CPU[key])
	}
	files["proc/cpuinfo"] = &fstest.MapFile{Data: []byte(info), Mode: 0o444}
	return files
}

func referenceSource(t *testing.T) Source {
	t.Helper()
	f, err := os.Open(testenv.Shared(t, "reference/h200x2/nvml.json"))
	require.NoError(t, err)
	defer f.Close()
	snapshot, err := nvml.ReadSnapshot(f)
	require.NoError(t, err)
	return Source{
		Files: referenceFiles(t), Arch: "amd64", NVML: snapshot.Replay(),
		GPUs: []GPU{{BusID: "0000:00:06.0", SM: 90, GDR: true}, {BusID: "0000:00:07.0", SM: 90, GDR: true}},
	}
}

// NCCL 2.28.9 wrote the reference files; these attributes are newer, or name the
// host.
var notIn228 = []string{"host_hash", "affinity", "mlopart", "net"}

func plain(e *topo.Element) string {
	c := e.Clone()
	var strip func(*topo.Element)
	strip = func(e *topo.Element) {
		for _, name := range notIn228 {
			e.Unset(name)
		}
		for _, child := range e.Children {
			strip(child)
		}
	}
	strip(c)
	var b bytes.Buffer
	// A bytes.Buffer takes everything.
	_, _ = (&topo.Document{Root: c}).WriteTo(&b)
	return b.String()
}

// From what a real machine's sysfs and NVML say comes what NCCL made of it there.
func TestReferenceMachine(t *testing.T) {
	m, err := Detect(referenceSource(t), Config{})
	require.NoError(t, err)
	data, err := os.ReadFile(testenv.Shared(t, "reference/h200x2/topo.xml"))
	require.NoError(t, err)
	doc, err := topo.Parse("topo.xml", data)
	require.NoError(t, err)
	require.Equal(t, plain(doc.Root), plain(m.Document.Root))

	system, err := m.System()
	require.NoError(t, err)
	params := topo.HostParams{Hosts: 1, Search: topo.SearchParams{CrossNIC: topo.CrossNICPairs}}
	members, err := topo.Members(system, params)
	require.NoError(t, err)
	var found bytes.Buffer
	require.NoError(t, topo.WriteGraphs(&found, members[0].Found(), system))
	want, err := os.ReadFile(testenv.Shared(t, "reference/h200x2/graph.xml"))
	require.NoError(t, err)
	require.Equal(t, string(want), strings.NewReplacer(` rank="0"`, "", ` rank="1"`, "").Replace(found.String()))
	for _, n := range m.Document.Notes {
		t.Log(n.Text)
	}
}

// Without the architecture, and with bus ids as CUDA and NVML write them elsewhere,
// it is the same machine.
func TestReferenceMachineSpelled(t *testing.T) {
	want, err := Detect(referenceSource(t), Config{})
	require.NoError(t, err)
	src := referenceSource(t)
	src.Arch = ""
	for i := range src.GPUs {
		src.GPUs[i].BusID = "0000" + strings.ToUpper(src.GPUs[i].BusID)
	}
	m, err := Detect(src, Config{})
	require.NoError(t, err)
	require.Equal(t, plain(want.Document.Root), plain(m.Document.Root))
	require.Equal(t, want.Document.Notes, m.Document.Notes)
	require.Contains(t, m.Facts, Fact{Subject: "CPUs", Name: "arch", Value: "x86_64", From: fromProc})
}
