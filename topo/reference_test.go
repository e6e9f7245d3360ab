package topo

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/testenv"
)

// glob returns the reference files of a pattern. The test is skipped where there
// are none, and in -short.
func glob(t *testing.T, pattern string) []string {
	if testing.Short() {
		t.Skip("skipped: reads all reference data; not in -short")
	}
	files, err := filepath.Glob(filepath.Join(testenv.Shared(t, "reference"), filepath.FromSlash(pattern)))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// TestReferenceFiles reads every reference topology, writes it and reads that.
func TestReferenceFiles(t *testing.T) {
	machines := glob(t, "machines/*.xml")
	files := append(machines, glob(t, "nccl-2.30.7/*.topo.xml")...)
	files = append(files, glob(t, "nccl-2.30.7/env/*.topo.xml")...)
	files = append(files, glob(t, "h200x2/topo.xml")...)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		doc, err := Parse(file, data)
		require.NoError(t, err)
		once := written(t, doc)
		if strings.Contains(file, "nccl-2.30.7") {
			// NCCL wrote it: the same bytes.
			require.Equal(t, string(data), once, file)
		}
		s, err := NewSystem(doc)
		require.NoError(t, err)
		g, err := searchRing(s)
		require.NoError(t, err)
		checkRings(t, s, g)
		again, err := Parse(file, []byte(once))
		require.NoError(t, err)
		require.Equal(t, once, written(t, again))
	}
}

// TestFusedMachines: from the plain description of each machine, or the first of
// its GPUs, or several such hosts, comes what NCCL writes after it has fused the
// views of its ranks, to the byte.
func TestFusedMachines(t *testing.T) {
	for _, file := range glob(t, "nccl-2.30.7/*.topo.xml") {
		name, opts, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".topo.xml"), ".")
		hosts, opt, _ := strings.Cut(opts, "nodes")
		if opt == ".collnet" {
			continue // where network cards gain an attribute
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		machine := filepath.Join(filepath.Dir(file), "..", "machines", name+".xml")
		data, err := os.ReadFile(machine)
		require.NoError(t, err)
		doc, err := Parse(machine, data)
		require.NoError(t, err)
		for _, cpu := range doc.Root.Children {
			// NCCL takes these from the machine it runs on.
			cpu.Set("host_hash", "0x1000")
			cpu.init("affinity", "")
		}
		doc.Renumber()
		s, err := NewSystem(doc)
		require.NoError(t, err)
		if gpus, ok := strings.CutPrefix(opt, ".ngpus"); ok {
			n, err := strconv.Atoi(gpus)
			require.NoError(t, err)
			s, err = s.FirstGPUs(n)
			require.NoError(t, err)
		}
		if opt == ".mnnvl" {
			n, err := strconv.Atoi(hosts)
			require.NoError(t, err)
			s, err = s.Fabric(n)
			require.NoError(t, err)
		}
		require.Equal(t, string(want), written(t, s.doc.Fused()), filepath.Base(file))
	}
}
