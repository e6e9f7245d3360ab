package picture

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestApart: ports do not overlap, stay in order, and move no more than they must.
func TestApart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + r.IntN(40)
		least := 2 * math.Pi / float64(n) * []float64{.1, .7, 1}[r.IntN(3)]
		angles := make([]float64, n)
		for i := range angles {
			angles[i] = 2 * math.Pi * r.Float64()
			if i > 0 && r.IntN(3) == 0 {
				angles[i] = angles[i-1]
			}
		}
		slices.Sort(angles)
		placed := apart(angles, least)
		far, around := true, 0.
		for i := range placed {
			turn := 0.
			if i == n-1 {
				turn = 2 * math.Pi
			}
			room := math.Mod(placed[(i+1)%n]-placed[i]+4*math.Pi, 2*math.Pi)
			if n == 1 {
				room = turn
			}
			require.GreaterOrEqual(t, room, least-1e-9)
			around += room
			far = far && (n == 1 || angles[(i+1)%n]-angles[i]+turn >= least)
		}
		require.InDelta(t, 2*math.Pi, around, 1e-9, "in order")
		if far {
			for i := range placed {
				require.InDelta(t, 1, math.Cos(placed[i]-angles[i]), 1e-9, "nothing was in the way")
			}
		}
	}
}
