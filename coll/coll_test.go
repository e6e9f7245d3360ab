package coll

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIDIsDenseAndInvertible(t *testing.T) {
	seen := map[string]bool{}
	for id := range ID(NumIDs) {
		v := id.Variant()
		require.Equal(t, id, v.ID(), "%v", v)
		require.False(t, seen[v.String()], "two IDs for %v", v)
		seen[v.String()] = true
	}
	require.Equal(t, ID(NumIDs), firstID[NumFuncs], "the ranges of the functions must add up")
}

func TestVariantString(t *testing.T) {
	for _, row := range []struct {
		v    Variant
		want string
	}{
		{Variant{AllReduce, Sum, Float32, Ring, LL}, "AllReduce_Sum_f32_RING_LL"},
		{Variant{ReduceScatter, MinMax, BFloat16, CollNetDirect, Simple}, "ReduceScatter_MinMax_bf16_COLLNET_DIRECT_SIMPLE"},
		{Variant{AllReduce, SumPostDiv, Uint64, NVLSTree, Simple}, "AllReduce_SumPostDiv_u64_NVLS_TREE_SIMPLE"},
		{Variant{AllReduce, PreMulSum, F8E4M3, TwoShot, LL128}, "AllReduce_PreMulSum_f8e4m3_TWO_SHOT_LL128"},
		{Variant{Func: AllGatherV, Algo: Ring, Proto: LL128}, "AllGatherV_RING_LL128"},
		{Variant{Func: SendRecv}, "SendRecv"},
	} {
		require.Equal(t, row.want, row.v.String())
		back, err := ParseVariant(row.want)
		require.NoError(t, err)
		require.Equal(t, row.v, back)
	}
	_, err := ParseVariant("AllReduce_Sum_f33_RING_LL")
	require.ErrorContains(t, err, "AllReduce_Sum_f33_RING_LL")
}

func TestParse(t *testing.T) {
	for _, s := range []string{"AllReduce", "all_reduce", "all-reduce", "ALLREDUCE"} {
		f, err := ParseFunc(s)
		require.NoError(t, err)
		require.Equal(t, AllReduce, f)
	}
	for s, want := range map[string]DataType{
		"f32": Float32, "float": Float32, "float32": Float32, "half": Float16, "int8": Int8, "uint64": Uint64,
		"bfloat16": BFloat16, "bf16": BFloat16, "f8e4m3": F8E4M3, "fp8e5m2": F8E5M2, "double": Float64, "INT": Int32,
		"fp16": Float16, "fp32": Float32, "FP64": Float64, "float16": Float16, "float64": Float64, "i8": Int8,
	} {
		got, err := ParseDataType(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
	}
	for a := range Algo(NumAlgos) {
		for _, s := range []string{a.String(), a.Symbol(), strings.ToLower(a.Symbol())} {
			got, err := ParseAlgo(s)
			require.NoError(t, err)
			require.Equal(t, a, got)
		}
	}
	for p := range Proto(NumProtos) {
		got, err := ParseProto(p.Symbol())
		require.NoError(t, err)
		require.Equal(t, p, got)
	}
	for o := range RedOp(NumRedOps) {
		got, err := ParseRedOp(o.String())
		require.NoError(t, err)
		require.Equal(t, o, got)
	}
}

func TestParseErrorsNameWhatIsAllowed(t *testing.T) {
	for _, row := range []struct {
		err     func() error
		nearest string
		allowed string
	}{
		{func() error { _, err := ParseDataType("flaot"); return err }, "float", "bf16"},
		{func() error { _, err := ParseUserOp("summ"); return err }, "sum", "mulsum"},
		{func() error { _, err := ParseProto("Simpel"); return err }, "Simple", "LL128"},
		{func() error { _, err := ParseAlgo("rung"); return err }, "Ring", "TwoShot"},
		{func() error { _, err := ParseFunc("zzzzzzzz"); return err }, "", "SendRecv"},
	} {
		var e *ParseError
		require.ErrorAs(t, row.err(), &e)
		require.Equal(t, row.nearest, e.Nearest)
		require.Contains(t, e.Allowed, row.allowed)
		require.Contains(t, e.Error(), e.Given)
	}
}

// Types are listed by nccl-tests' names, then by the short ones, each once.
func TestAllowedTypes(t *testing.T) {
	_, err := ParseDataType("nope")
	require.ErrorContains(t, err, "(allowed: int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2 "+
		"i8 u8 i32 u32 i64 u64 f16 f32 f64 bf16)")
}

// A name is suggested only to who plausibly meant it.
func TestNearest(t *testing.T) {
	for _, row := range []struct{ given, names, want string }{
		{"gcc", "clang nvcc", ""},
		{"nvc", "clang nvcc", "nvcc"},
		{"clan", "clang nvcc", "clang"},
		{"sm_80", "sm_70 sm_90", ""},
		{"LL129", "LL LL128 Simple", "LL128"},
		{"sm70", "sm_70 sm_90", "sm_70"},
		{"wmma", "fma mad", ""},
		{"fmaa", "fma mad", "fma"},
		{"f23", "f16 f32", "f32"},
		{"f33", "f16 f32", ""},
		{"rign", "Tree Ring", "Ring"},
		{"all-redoce", "all-reduce doctor", "all-reduce"},
		{"lolo", "topo algo", ""},
		{"opto", "topo", ""},
		{"", "a", ""},
		{"x", "h j", ""},
		{"summ", "mulsum sum", "sum"},
		{"LL12", "LL LL128 Simple", "LL128"},
	} {
		require.Equal(t, row.want, Nearest(row.given, strings.Fields(row.names)), "%q of %s", row.given, row.names)
	}
}

func TestUserOpDevice(t *testing.T) {
	require.Equal(t, Sum, OpSum.Device(Float16))
	require.Equal(t, Prod, OpProd.Device(Int8))
	require.Equal(t, MinMax, OpMax.Device(Uint64))
	require.Equal(t, MinMax, OpMin.Device(Float32))
	require.Equal(t, PreMulSum, OpAvg.Device(BFloat16))
	require.Equal(t, SumPostDiv, OpAvg.Device(Int32))
	require.Equal(t, PreMulSum, OpMulSum.Device(Int32))
}

// The mask must turn signed and unsigned minimum and maximum into the unsigned
// minimum, on values that straddle every sign and wrap.
func TestMinMaxArg(t *testing.T) {
	values := []int64{0, 1, 2, 127, 128, 254, 255, -1, -2, -127, -128}
	for _, op := range []UserOp{OpMin, OpMax} {
		for _, a := range values {
			for _, b := range values {
				m := uint8(op.MinMaxArg(Int8))
				got := int8(min(uint8(a)^m, uint8(b)^m) ^ m)
				want := min(int8(a), int8(b))
				if op == OpMax {
					want = max(int8(a), int8(b))
				}
				require.Equal(t, want, got, "%v of i8 %d %d", op, int8(a), int8(b))

				u := uint8(op.MinMaxArg(Uint8))
				gotU := min(uint8(a)^u, uint8(b)^u) ^ u
				wantU := min(uint8(a), uint8(b))
				if op == OpMax {
					wantU = max(uint8(a), uint8(b))
				}
				require.Equal(t, wantU, gotU, "%v of u8 %d %d", op, uint8(a), uint8(b))
			}
		}
	}
	require.Equal(t, uint64(1)<<63, OpMin.MinMaxArg(Int64))
	require.Equal(t, uint64(1), OpMax.MinMaxArg(Float64))
	require.Equal(t, uint64(0), OpMin.MinMaxArg(BFloat16))
}

func TestBusBWFactor(t *testing.T) {
	require.Equal(t, 1.75, AllReduce.BusBWFactor(8))
	require.Equal(t, 0.875, AllGather.BusBWFactor(8))
	require.Equal(t, 0.875, ReduceScatter.BusBWFactor(8))
	require.Equal(t, 1.0, Broadcast.BusBWFactor(8))
	require.Equal(t, 1.0, Reduce.BusBWFactor(3))
	require.Zero(t, AllReduce.BusBWFactor(1))
}
