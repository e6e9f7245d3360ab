package report

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSkippedText(t *testing.T) {
	const unbuilt = "not in this build"
	require.Equal(t, "skipped 1 combination: not in this build: avg of float",
		SkippedText([]Skipped{{"float", "avg", "", unbuilt}}))
	require.Equal(t, "skipped 7 combinations: LL not in this build: avg mulsum of int8 float, sum of int64; "+
		"LL no such rule: sum of half; LL128 not in this build: sum of int8",
		SkippedText([]Skipped{
			{"int8", "avg", "LL", unbuilt}, {"int8", "mulsum", "LL", unbuilt},
			{"int64", "sum", "LL", unbuilt},
			{"half", "sum", "LL", "no such rule"},
			{"float", "avg", "LL", unbuilt}, {"float", "mulsum", "LL", unbuilt},
			{"int8", "sum", "LL128", unbuilt},
		}))
}
