package gen

import (
	"os"
	"path"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/golden"
	"github.com/ncclgo/ncclgo/internal/testenv"
)

// The rendered sources of units that span what is built.
func TestRender(t *testing.T) {
	src, err := readSources(os.DirFS(testenv.Root()))
	require.NoError(t, err)
	for _, symbol := range []string{
		"AllReduce_Sum_f32_RING_LL", "AllReduce_Prod_f16_RING_SIMPLE", "AllReduce_MinMax_u8_RING_LL", "AllReduce_Sum_u32_RING_SIMPLE",
		"AllReduce_Sum_f16_RING_LL128",
	} {
		t.Run(symbol, func(t *testing.T) {
			unit, ok := unitOf(mustVariant(t, symbol))
			require.True(t, ok)
			text, err := src.render(unit)
			require.NoError(t, err)
			golden.Check(t, "gen/"+symbol+".cu", text)
		})
	}
}

func TestRenderReportsTemplate(t *testing.T) {
	unit, ok := unitOf(mustVariant(t, "AllReduce_Sum_f32_RING_LL"))
	require.True(t, ok)
	for _, test := range []struct{ template, message string }{
		{"{{.Nothing}}", "templates/cuda: template: unit.cu.tmpl:1:2"},
		{"\n{{", "templates/cuda: template: unit.cu.tmpl:2"},
	} {
		s := &sources{template: []byte(test.template)}
		_, err := s.render(unit)
		require.ErrorContains(t, err, test.message)
	}
}

// A unit's hash covers what it includes, directly or not, and nothing else.
func TestSourceHash(t *testing.T) {
	files := func(change, to string) *sources {
		s := &sources{files: map[string][]byte{
			"templates/cuda/a.cuh":    []byte("  #  include \"b.cuh\"\n#include \"abi.h\"\n#include <c.cuh>\n"),
			"templates/cuda/b.cuh":    []byte("#include \"a.cuh\"\n"), // a circle is no trap
			"templates/cuda/c.cuh":    []byte("in angle brackets\n"),
			"templates/cuda/d.cuh":    []byte("unused\n"),
			"generated/abi.h":         []byte("abi\n"),
			"templates/cuda/zero.cuh": []byte(""),
		}}
		if change != "" {
			s.files[change] = []byte(to)
		}
		return s
	}
	unit := []byte("#include \"a.cuh\"\n#include \"missing.cuh\"\n")
	require.Equal(t, []string{"generated/abi.h", "templates/cuda/a.cuh", "templates/cuda/b.cuh", "templates/cuda/c.cuh"}, files("", "").closure(unit))
	base := files("", "").hash(unit)
	require.Equal(t, base, files("templates/cuda/d.cuh", "changed").hash(unit))
	require.NotEqual(t, base, files("templates/cuda/c.cuh", "changed").hash(unit))
	require.NotEqual(t, base, files("templates/cuda/b.cuh", "changed").hash(unit))
	require.NotEqual(t, base, files("generated/abi.h", "changed").hash(unit))
	require.NotEqual(t, base, files("", "").hash(append(unit, '\n')))
	// Text that moves from one file's end to the next one's start counts.
	require.NotEqual(t,
		files("templates/cuda/b.cuh", "").hash(unit), files("templates/cuda/b.cuh", "\n").hash(unit))
}

func TestReadSourcesNeedsTemplate(t *testing.T) {
	_, err := readSources(fstest.MapFS{"templates/cuda/a.cuh": {}})
	require.ErrorContains(t, err, path.Join(templateDir, unitTemplate))
}
