package nccl

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
)

// callsOf returns calls of shapes.
func callsOf(shapes ...shape) []call {
	calls := make([]call, len(shapes))
	for i, s := range shapes {
		calls[i].shape = s
	}
	return calls
}

// TestPlanCache looks plans up by calls in every order and number.
func TestPlanCache(t *testing.T) {
	a := shape{coll.AllReduce, coll.Sum, coll.Float32, 8}
	b := shape{coll.AllReduce, coll.Sum, coll.Float32, 9}
	c := shape{coll.AllReduce, coll.Sum, coll.Float64, 8}
	d := shape{coll.AllReduce, coll.Prod, coll.Float32, 8}
	var cache planCache
	groups := [][]shape{{a}, {b}, {c}, {d}, {a, b}, {b, a}, {a, a}, {a, a, a}, {a, c, d}}
	plans := make([]*plan, len(groups))
	for i, shapes := range groups {
		require.Nil(t, cache.lookup(callsOf(shapes...)))
		plans[i] = &plan{shapes: shapes}
		cache.add(plans[i])
	}
	for i, shapes := range groups {
		require.Same(t, plans[i], cache.lookup(callsOf(shapes...)))
	}
	require.Len(t, cache.plans, len(groups), "hashes of small shapes differ")
	last := callsOf(groups[len(groups)-1]...)
	require.Zero(t, testing.AllocsPerRun(100, func() { cache.lookup(last) }))

	// Plans of one hash are told apart.
	collide := &plan{shapes: []shape{b, c}}
	hash := (&groups[0][0]).hash(0)
	collide.next, cache.plans[hash] = cache.plans[hash], collide
	require.Same(t, plans[0], cache.lookup(callsOf(a)))
}

// TestPlanCacheIsBounded adds plans without end.
func TestPlanCacheIsBounded(t *testing.T) {
	var cache planCache
	r := rand.New(rand.NewPCG(1, 1))
	most := 0
	for range 3 * maxPlanned {
		cache.add(&plan{shapes: []shape{{coll.AllReduce, coll.Sum, coll.Float32, r.Uint64()}}})
		require.LessOrEqual(t, cache.planned, maxPlanned)
		most = max(most, len(cache.plans))
	}
	require.Equal(t, maxPlanned, most)
	large := &plan{shapes: make([]shape, 2*maxPlanned)}
	cache.add(large)
	require.Same(t, large, cache.lookup(callsOf(large.shapes...)), "a group beyond the bound is remembered alone")
	require.Len(t, cache.plans, 1)
}

// TestSecondGroupIsALookup: the same group again is not planned again, which at debug
// level is seen: every plan is logged once.
func TestSecondGroupIsALookup(t *testing.T) {
	var log bytes.Buffer
	driver, cfg := fakes(t, 2)
	cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	comms := mustInit(t, cfg)
	driver.Quiet()
	for range 3 {
		require.NoError(t, Group(sumF32(comms, someBuffer, 1000)))
		require.NoError(t, Group(func(g *Calls) error {
			for _, count := range []uint64{10, 2000} {
				if err := sumF32(comms, someBuffer, count)(g); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	require.Equal(t, 2, strings.Count(log.String(), `level=DEBUG msg="AllReduce_Sum_f32_RING_LL: `))
	require.Equal(t, 1, strings.Count(log.String(), `level=DEBUG msg="AllReduce Sum f32, 4000 bytes, 2 ranks: `))
	require.Contains(t, log.String(), `msg="  PAT           LL LL128 Simple  not defined for AllReduce" subsys=TUNING`)
	require.Contains(t, log.String(), `msg="    channel 0: bytes 0 to 3999" subsys=TUNING`)
}

// BenchmarkPlanLookup measures finding the plan of a call, and of a group of 16,
// that was planned before.
func BenchmarkPlanLookup(b *testing.B) {
	_, cfg := fakes(b, 8)
	c := mustInit(b, cfg)[0]
	for _, n := range []int{1, 16} {
		b.Run(map[int]string{1: "call", 16: "group16"}[n], func(b *testing.B) {
			shapes := make([]shape, n)
			for i := range shapes {
				shapes[i] = shape{coll.AllReduce, coll.Sum, coll.Float32, 1 << (10 + i)}
			}
			calls := callsOf(shapes...)
			_, err := c.plan(calls)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if p, err := c.plan(calls); p == nil || err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFreshPlan measures planning a call, and a group of 16, that was not
// planned before.
func BenchmarkFreshPlan(b *testing.B) {
	_, cfg := fakes(b, 8)
	c := mustInit(b, cfg)[0]
	for _, n := range []int{1, 16} {
		b.Run(map[int]string{1: "call", 16: "group16"}[n], func(b *testing.B) {
			shapes := make([]shape, n)
			for i := range shapes {
				shapes[i] = shape{coll.AllReduce, coll.Sum, coll.Float32, 1 << (10 + i)}
			}
			calls := callsOf(shapes...)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.newPlan(calls); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
