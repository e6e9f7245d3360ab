package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// modelView is a view as a plain table: for each slot and lane the last clock.
type modelView [4][lanes]uint32

func (m *modelView) add(p reach) {
	for l := range lanes {
		if p.lanes>>l&1 != 0 {
			m[p.slot][l] = max(m[p.slot][l], p.clk)
		}
	}
}

func (m *modelView) join(o *modelView) {
	for s := range m {
		for l := range lanes {
			m[s][l] = max(m[s][l], o[s][l])
		}
	}
}

// Views agree with the table, whatever is added and joined.
func TestViews(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var f viewMaker
	views := []*view{origin}
	models := []modelView{{}}
	for i := range 3000 {
		a, b := rng.IntN(len(views)), rng.IntN(len(views))
		m := models[a]
		var v *view
		if rng.IntN(2) == 0 {
			var parts []reach
			for range 1 + rng.IntN(3) {
				p := reach{slot: uint32(rng.IntN(4)), lanes: full, clk: 1 + uint32(rng.IntN(12))}
				if rng.IntN(3) > 0 {
					p.lanes = 1 << rng.IntN(4) * (1 + uint32(rng.IntN(7)))
				}
				parts = append(parts, p)
				m.add(p)
			}
			v = f.with(views[a], parts...)
		} else {
			m.join(&models[b])
			v = f.join(views[a], views[b])
			require.True(t, v.includes(views[a]) && v.includes(views[b]))
			require.Same(t, v, f.join(views[a], views[b]), "joined again")
		}
		for s := range uint32(4) {
			for l := range uint8(lanes) {
				for clk := uint32(1); clk < 14; clk++ {
					if known := v.knows(s, l, clk); known != (clk <= m[s][l]) {
						t.Fatalf("step %d: %v says %v of slot %d lane %d clock %d; the last one known is %d", i, v, known, s, l, clk, m[s][l])
					}
				}
			}
		}
		// Views that know everything find little: start anew now and then.
		if rng.IntN(5) == 0 {
			v, m = origin, modelView{}
		}
		if len(views) < 8 {
			views, models = append(views, v), append(models, m)
		} else {
			at := rng.IntN(len(views))
			views[at], models[at] = v, m
		}
	}
}

func TestWholeLines(t *testing.T) {
	for _, test := range []struct {
		name  string
		lanes uint32
		off   func(lane uint64) uint64
		want  uint32
	}{
		{"four lines", full, func(l uint64) uint64 { return 16 * l }, 0xfefefefe},
		{"in any order", full, func(l uint64) uint64 { return 16 * (l ^ 5) }, 0xfefefefe},
		{"one of the lines not whole", full &^ 1, func(l uint64) uint64 { return 16 * l }, 0xfefefe00},
		{"not aligned", full, func(l uint64) uint64 { return 16*l + 64 }, 0x0fefefe0},
		{"half of the line twice", full, func(l uint64) uint64 { return 16 * (l & 3) }, 0},
		{"apart", full, func(l uint64) uint64 { return 32 * l }, 0},
		{"the last lanes", 0xff000000, func(l uint64) uint64 { return 1024 + 16*l }, 0xfe000000},
	} {
		t.Run(test.name, func(t *testing.T) {
			var offs row64
			for l := range offs {
				offs[l] = test.off(uint64(l))
			}
			require.Equal(t, fmt.Sprintf("%#x", test.want), fmt.Sprintf("%#x", wholeLines(&offs, test.lanes)))
		})
	}
}
