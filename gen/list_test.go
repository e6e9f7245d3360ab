package gen

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestList(t *testing.T) {
	rows, err := List(Options{Only: mustPattern(t, "AllReduce Sum i32|f32 Ring LL")}, false)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	space := Space()
	for _, row := range rows {
		require.Equal(t, Targets[:1], row.Targets)
		require.Equal(t, space[row.Number], row.Row)
	}
	all, err := List(Options{}, false)
	require.NoError(t, err)
	require.Len(t, all, len(space))
	built, err := List(Options{}, true)
	require.NoError(t, err)
	kernels := map[string]bool{}
	for _, row := range built {
		for _, target := range row.Targets {
			kernels[Unit{Variant: row.Canonical, Target: target}.Name()] = true
		}
	}
	require.Len(t, kernels, len(Units()))
}

// A variant is listed with each target that has a kernel of its own for it.
func TestListTargets(t *testing.T) {
	for _, test := range []struct {
		pattern string
		targets []Target
	}{
		{"AllReduce Sum f16 Ring LL", Targets[:1]},
		{"AllReduce MinMax bf16 Ring Simple", Targets},
		{"AllReduce PreMulSum f8e5m2 Ring LL", Targets[1:]},
		{"AllReduce Sum bf16 Tree LL", nil},
		{"AllReduce SumPostDiv bf16 Ring LL", nil},
	} {
		rows, err := List(Options{Only: mustPattern(t, test.pattern)}, false)
		require.NoError(t, err)
		require.Len(t, rows, 1)
		require.Equal(t, test.targets, rows[0].Targets, test.pattern)
	}
}

// A pattern that leaves no row is refused as it is for generating.
func TestListOfNothing(t *testing.T) {
	for _, test := range []struct {
		pattern string
		built   bool
	}{
		{"SendRecv RING", false},
		{"AllReduce Sum f32 Tree LL", true},
		{"AllReduce Prod f32 NVLS Simple", true},
	} {
		o := Options{Only: mustPattern(t, test.pattern)}
		_, err := List(o, test.built)
		var usage *UsageError
		require.ErrorAs(t, err, &usage, test.pattern)
		_, generating := o.units()
		require.EqualError(t, err, generating.Error())
	}
}

func BenchmarkList(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := List(Options{}, true); err != nil {
			b.Fatal(err)
		}
	}
}
