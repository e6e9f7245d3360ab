package gen

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
)

func TestPattern(t *testing.T) {
	for _, test := range []struct {
		pattern string
		match   []string
		not     []string
	}{
		{"AllReduce Sum f32 * *",
			[]string{"AllReduce_Sum_f32_RING_LL", "AllReduce_Sum_f32_TREE_SIMPLE"},
			[]string{"AllReduce_Prod_f32_RING_LL", "Reduce_Sum_f32_RING_LL", "SendRecv"}},
		{"AllReduce (Sum|Prod) float",
			[]string{"AllReduce_Sum_f32_RING_LL", "AllReduce_Prod_f32_PAT_LL"},
			[]string{"AllReduce_MinMax_f32_RING_LL"}},
		{"AllReduce | Reduce * f* Ring LL|Simple",
			[]string{"AllReduce_Sum_f16_RING_LL", "Reduce_Sum_f8e4m3_RING_SIMPLE"},
			[]string{"AllReduce_Sum_bf16_RING_LL", "Reduce_Sum_f32_RING_LL128"}},
		{"AllGather * *|Broadcast RING LL|SendRecv",
			[]string{"AllGather_PAT_SIMPLE", "Broadcast_RING_LL", "SendRecv"},
			[]string{"Broadcast_RING_SIMPLE", "AllReduce_Sum_f32_RING_LL"}},
		{"*", []string{"SendRecv", "AllReduce_Sum_f32_RING_LL"}, nil},
		{"* Sum", []string{"AllReduce_Sum_f32_RING_LL"}, []string{"SendRecv", "Broadcast_RING_LL"}},
	} {
		p, err := ParsePattern(test.pattern)
		require.NoError(t, err, test.pattern)
		for _, s := range test.match {
			require.True(t, p.Match(mustVariant(t, s)), "%q has %s", test.pattern, s)
		}
		for _, s := range test.not {
			require.False(t, p.Match(mustVariant(t, s)), "%q has %s", test.pattern, s)
		}
	}
}

func TestPatternRefused(t *testing.T) {
	for _, test := range []struct{ pattern, message string }{
		{"AllReduse", `unknown function "AllReduse"; did you mean "AllReduce"?`},
		{"AllReduce Sun", `unknown device op "Sun"; did you mean "Sum"?`},
		{"AllReduce Sum flaot", `unknown type "flaot"; did you mean "float"?`},
		{"AllReduce Sum f32 Rnig", `unknown algorithm "Rnig"; did you mean "Ring"?`},
		{"AllReduce Sum f32 * Simpel", `unknown protocol "Simpel"; did you mean "Simple"?`},
		{"AllReduce Sum f32 * * *", "more than 5 words"},
		{"Broadcast Ring LL *", `pattern "Broadcast Ring LL *" has more than 3 words`},
		{"Broadcast * * *", `pattern "Broadcast * * *" has more than 3 words`},
		{"Broadcast * * Ring LL", "has no operator and no type"},
		{" ", "empty pattern"},
		{"|", "empty pattern"},
	} {
		_, err := ParsePattern(test.pattern)
		require.ErrorContains(t, err, test.message, "%q", test.pattern)
	}
}

// A type's alias names the kernel that serves it.
func TestPatternMatchesUnits(t *testing.T) {
	p, err := ParsePattern("AllReduce Sum i32 Ring LL")
	require.NoError(t, err)
	var got []string
	for _, u := range Units() {
		if p.MatchUnit(u) {
			got = append(got, u.Variant.String())
		}
	}
	require.Equal(t, []string{"AllReduce_Sum_u32_RING_LL"}, got)
	require.False(t, p.MatchUnit(Unit{Variant: coll.Variant{Func: coll.SendRecv}}))
}
