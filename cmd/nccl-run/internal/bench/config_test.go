package bench

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizes(t *testing.T) {
	tests := []struct {
		name string
		c    Config
		want []int64
	}{
		{"factor", Config{MinBytes: 4, MaxBytes: 256, StepFactor: 4}, []int64{4, 16, 64, 256}},
		{"factor stops below the end", Config{MinBytes: 3, MaxBytes: 20, StepFactor: 2}, []int64{3, 6, 12}},
		{"bytes", Config{MinBytes: 0, MaxBytes: 10, StepBytes: 4}, []int64{0, 4, 8}},
		{"factor 1 steps by bytes", Config{MinBytes: 1, MaxBytes: 3, StepBytes: 1, StepFactor: 1}, []int64{1, 2, 3}},
		{"one", Config{MinBytes: 7, MaxBytes: 7, StepFactor: 2}, []int64{7}},
		{"product that wraps to a size in range", Config{MinBytes: 1<<33 + 1, MaxBytes: 1 << 40, StepFactor: 1<<31 + 1<<2}, []int64{1<<33 + 1}},
		{"no step", Config{MinBytes: 7, MaxBytes: 7}, []int64{7}},
		{"nothing times a factor", Config{StepFactor: 2}, []int64{0}},
		{"product beyond int64", Config{MinBytes: 1 << 62, MaxBytes: math.MaxInt64, StepFactor: 4}, []int64{1 << 62}},
		{"sum beyond int64", Config{MinBytes: 1, MaxBytes: math.MaxInt64, StepBytes: math.MaxInt64}, []int64{1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.c.sizes()
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

// Groups are cut so that an interrupt need not wait for many operations.
func TestCut(t *testing.T) {
	var groups []int
	require.NoError(t, cut(t.Context(), 2*maxGroup+3, func(ops int) error {
		groups = append(groups, ops)
		return nil
	}))
	require.Equal(t, []int{maxGroup, maxGroup, 3}, groups)

	ctx, cancel := context.WithCancel(t.Context())
	groups = nil
	require.ErrorIs(t, cut(ctx, 3*maxGroup, func(ops int) error {
		groups = append(groups, ops)
		cancel()
		return nil
	}), context.Canceled)
	require.Equal(t, []int{maxGroup}, groups)
}

func TestShare(t *testing.T) {
	for _, test := range []struct {
		channels, rings int
		want            string
	}{
		{24, 12, "2 for each of 12 rings: channel c uses ring c mod 12"},
		{8, 12, "one for each of the first 8 rings"},
		{12, 12, "one for each of the first 12 rings"},
		{5, 2, "2 or 3 for each of 2 rings: channel c uses ring c mod 2"},
	} {
		require.Equal(t, test.want, share(test.channels, test.rings))
	}
}
