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
	absent   = coll.Variant{Func: coll.AllReduce, Op: coll.Sum, Type: coll.Float32, Algo: coll.Tree, Proto: coll.LL}
	excluded = coll.Variant{Func: coll.AllReduce, Op: coll.Prod, Type: coll.Float32, Algo: coll.NVLS, Proto: coll.Simple}
)

// sample returns a table with one kernel, and its archive.
func sample(t testing.TB) (*Table, []byte) {
	data, err := archive.Build([][]archive.Module{{{Name: "other", Data: []byte("no")}, {Name: "k.sm_70", Data: []byte("ptx")}}})
	require.NoError(t, err)
	dispatch := make([]int16, coll.NumIDs)
	for i := range dispatch {
		dispatch[i] = NotBuilt
	}
	dispatch[present.ID()] = 0
	dispatch[excluded.ID()] = Excluded(1)
	return NewTable(dispatch, []string{"another rule", "the switch cannot"}, []Kernel{{Variant: present, Symbol: "k", SM: 70, Module: 1}}, data), data
}

func TestLookup(t *testing.T) {
	table, _ := sample(t)
	k, err := table.Lookup(present)
	require.NoError(t, err)
	require.Same(t, &table.Kernels()[0], k)
	text, err := k.PTX()
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
		{"function", coll.Variant{Func: coll.NumFuncs}, result.InvalidArgument, false, "outside its enumeration"},
		{"operator", coll.Variant{Func: coll.AllReduce, Op: coll.NumRedOps}, result.InvalidArgument, false, "outside its enumeration"},
		{"type", coll.Variant{Func: coll.AllReduce, Type: 255}, result.InvalidArgument, false, "outside its enumeration"},
		{"algorithm", coll.Variant{Func: coll.AllReduce, Algo: coll.NumAlgos}, result.InvalidArgument, false, "outside its enumeration"},
		{"protocol", coll.Variant{Func: coll.SendRecv, Proto: coll.NumProtos}, result.InvalidArgument, false, "outside its enumeration"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k, err := table.Lookup(test.variant)
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
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = table.Lookup(present) }))
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = table.Lookup(absent) }), 1.0)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = table.Lookup(excluded) }), 1.0)
}

// Tables and an archive that are not of one run, as an interrupted one leaves
// them, never give another kernel's text.
func TestForeignArchive(t *testing.T) {
	for _, change := range []func(*Kernel){
		func(k *Kernel) { k.Module = 0 },
		func(k *Kernel) { k.Module = 2 },
		func(k *Kernel) { k.SM = 90 },
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
