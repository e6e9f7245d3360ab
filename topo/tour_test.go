package topo

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// cheapestOf tries all tours from vertex 0 through rest.
func cheapestOf(t *tours, tour, rest []int) float64 {
	last := tour[len(tour)-1]
	if len(rest) == 0 {
		return t.cost[last*t.n]
	}
	least := noWay
	for i, v := range rest {
		others := slices.Concat(rest[:i], rest[i+1:])
		least = min(least, t.cost[last*t.n+v]+cheapestOf(t, slices.Concat(tour, []int{v}), others))
	}
	return least
}

func randomTours(r *rand.Rand, n int, missing float64) (t *tours, inOrder []int) {
	t = newTours(n, 1<<30)
	for i := range t.cost {
		if t.cost[i] = 1 + r.Float64(); r.Float64() < missing {
			t.cost[i] = noWay
		}
	}
	for v := range n {
		inOrder = append(inOrder, v)
	}
	return t, inOrder
}

func TestTours(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		c, inOrder := randomTours(r, 2+r.IntN(6), .4)
		want := cheapestOf(c, inOrder[:1], inOrder[1:])
		got := c.cheapest(inOrder)
		if want >= noWay {
			require.GreaterOrEqual(t, got, noWay)
			continue
		}
		require.InDelta(t, want, got, 1e-9)
		requireTour(t, c, got)
	}
	// Of many vertices what is found is a tour, and no worse than where it began.
	for range 50 {
		c, inOrder := randomTours(r, exactTour+1+r.IntN(20), 0)
		before := 0.
		copy(c.order, inOrder)
		for i := range inOrder {
			before += c.edge(i)
		}
		got := c.cheapest(inOrder)
		require.LessOrEqual(t, got, before+1e-9)
		requireTour(t, c, got)
	}
}

func requireTour(t *testing.T, c *tours, cost float64) {
	sum := 0.
	for i := range c.order {
		sum += c.edge(i)
	}
	require.InDelta(t, sum, cost, 1e-9)
	sorted := slices.Sorted(slices.Values(c.order))
	for v := range c.n {
		require.Equal(t, v, sorted[v])
	}
}
