package kernel

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/archive"
	"github.com/ncclgo/ncclgo/internal/result"
)

var (
	present  = coll.Variant{Func: coll.AllReduce, Op: coll.Sum, Type: coll.Float32, Algo: coll.Ring, Proto: coll.LL}
	newer    = coll.Variant{Func: coll.AllReduce, Op: coll.Sum, Type: coll.F8E4M3, Algo: coll.Ring, Proto: coll.LL}
	absent   = coll.Variant{Func: coll.AllReduce, Op: coll.Sum, Type: coll.Float32, Algo: coll.Tree, Proto: coll.LL}
	excluded = coll.Variant{Func: coll.AllReduce, Op: coll.Prod, Type: coll.Float32, Algo: coll.NVLS, Proto: coll.Simple}
)

// sample returns a table with kernels of two variants, one of them for two
// targets, and its archive.
func sample(t testing.TB) (*Table, []byte) {
	data, err := archive.Build([][]archive.Module{{{Name: "other", Data: []byte("no")}, {Name: "k.sm_70", Data: []byte("ptx")}}})
	require.NoError(t, err)
	dispatch := make([]int16, coll.NumIDs)
	for i := range dispatch {
		dispatch[i] = NotBuilt
	}
	dispatch[present.ID()] = 0
	dispatch[newer.ID()] = 2
	dispatch[excluded.ID()] = Excluded(1)
	kernels := []Kernel{
		{Variant: present, Symbol: "k", SM: 70, Module: 1},
		{Variant: present, Symbol: "k", SM: 90},
		{Variant: newer, Symbol: "n", SM: 90},
	}
	return NewTable(dispatch, []string{"another rule", "the switch cannot"}, kernels, data), data
}

func TestLookup(t *testing.T) {
	table, _ := sample(t)
	for _, test := range []struct {
		variant    coll.Variant
		sm, kernel int
	}{{present, 70, 0}, {present, 89, 0}, {present, 90, 1}, {present, 100, 1}, {newer, 90, 2}, {newer, 120, 2}} {
		k, err := table.Lookup(test.variant, test.sm)
		require.NoError(t, err)
		require.Same(t, &table.Kernels()[test.kernel], k, "%v on sm_%d", test.variant, test.sm)
	}
	text, err := table.Kernels()[0].PTX()
	require.NoError(t, err)
	require.Equal(t, "ptx", string(text))
}

func TestLookupRefused(t *testing.T) {
	table, _ := sample(t)
	for _, test := range []struct {
		name     string
		variant  coll.Variant
		code     result.Code
		notBuilt bool
		message  string
	}{
		{"not built", absent, result.InvalidUsage, true,
			"find kernel: AllReduce_Sum_f32_TREE_LL: valid, but this build has no kernel for it (nccl-gen -list -built lists those it has)"},
		{"excluded", excluded, result.InvalidArgument, false, "find kernel: AllReduce_Prod_f32_NVLS_SIMPLE: the switch cannot"},
		{"older GPU", newer, result.InvalidArgument, false, "find kernel: f8e4m3 reductions need compute capability 9.0; the GPU is sm_89"},
		{"function", coll.Variant{Func: coll.NumFuncs}, result.InvalidArgument, false, "outside its enumeration"},
		{"operator", coll.Variant{Func: coll.AllReduce, Op: coll.NumRedOps}, result.InvalidArgument, false, "outside its enumeration"},
		{"type", coll.Variant{Func: coll.AllReduce, Type: 255}, result.InvalidArgument, false, "outside its enumeration"},
		{"algorithm", coll.Variant{Func: coll.AllReduce, Algo: coll.NumAlgos}, result.InvalidArgument, false, "outside its enumeration"},
		{"protocol", coll.Variant{Func: coll.SendRecv, Proto: coll.NumProtos}, result.InvalidArgument, false, "outside its enumeration"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k, err := table.Lookup(test.variant, 89)
			require.Nil(t, k)
			require.Equal(t, test.code, result.CodeOf(err))
			require.Equal(t, test.notBuilt, errors.Is(err, result.ErrNotBuilt))
			require.Equal(t, !test.notBuilt, errors.Is(err, result.ErrInvalidArgument))
			require.ErrorContains(t, err, test.message)
		})
	}
}

func TestLookupAllocations(t *testing.T) {
	table, _ := sample(t)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = table.Lookup(present, 90) }))
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = table.Lookup(absent, 90) }), 1.0)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = table.Lookup(excluded, 90) }), 1.0)
}

// Tables and an archive that are not of one run, as an interrupted one leaves
// them, never give another kernel's text.
func TestForeignArchive(t *testing.T) {
	for _, change := range []func(*Kernel){
		func(k *Kernel) { k.Module = 0 },
		func(k *Kernel) { k.Module = 2 },
		func(k *Kernel) { k.SM = 80 },
	} {
		table, _ := sample(t)
		k := &table.Kernels()[0]
		change(k)
		_, err := k.PTX()
		require.ErrorIs(t, err, result.ErrSystem)
		require.ErrorContains(t, err, "read kernel k: module")
		require.ErrorContains(t, err, "tables and archive are of different runs of nccl-gen; run it again")
	}
}

// A damaged archive is an error of every kernel, each time it is asked for.
func TestDamagedArchive(t *testing.T) {
	table, data := sample(t)
	data[len(data)-1] ^= 1
	for range 2 {
		_, err := table.Kernels()[0].PTX()
		var format *archive.FormatError
		require.ErrorAs(t, err, &format)
		require.ErrorIs(t, err, result.ErrSystem)
		require.ErrorContains(t, err, "open kernels: kernel archive: altered")
	}
}

// A refused GPU may be named, and a variant that needs a newer one for another
// reason than its type is named itself.
func TestSMError(t *testing.T) {
	table, _ := sample(t)
	_, err := table.Lookup(newer, 80)
	var old *SMError
	require.ErrorAs(t, err, &old)
	old.GPU = "GPU 3"
	require.EqualError(t, err, "find kernel: f8e4m3 reductions need compute capability 9.0; GPU 3 is sm_80")
	require.EqualError(t, &SMError{Variant: present, Need: 90, SM: 80},
		"AllReduce_Sum_f32_RING_LL needs compute capability 9.0; the GPU is sm_80")
}
