package sim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device/ptx"
	"github.com/ncclgo/ncclgo/generated"
)

// conflicts returns pairs of registers that share a row while both are live.
func conflicts(e *ptx.Entry, regs []loc) (bad [][2]int32) {
	flows := flowsOf(e)
	live := liveness(flows, len(e.Regs))
	for i, f := range flows {
		after := newBitset(len(e.Regs))
		for _, s := range f.next {
			after.join(live[s], func(int32) {})
		}
		after.addAll(f.writes, func(int32) {})
		for _, set := range []bitset{live[i], after} {
			at := map[loc]int32{}
			newBitset(len(e.Regs)).join(set, func(r int32) {
				if o, ok := at[regs[r]]; ok {
					bad = append(bad, [2]int32{o, r})
				}
				at[regs[r]] = r
			})
		}
	}
	return bad
}

func assign(e *ptx.Entry) *lowering {
	l := &lowering{prog: &program{entry: e, preds: 1}}
	l.assignRows(e)
	return l
}

func TestLiveRegistersHaveTheirOwnRows(t *testing.T) {
	for _, k := range generated.Kernels() {
		if k.Symbol != "AllReduce_Sum_f32_RING_LL" && k.Symbol != "AllReduce_MinMax_f16_RING_SIMPLE" {
			continue
		}
		text, err := k.PTX()
		require.NoError(t, err)
		m, err := ptx.Parse(k.Symbol, text)
		require.NoError(t, err)
		for _, e := range m.Entries {
			l := assign(e)
			require.Empty(t, conflicts(e, l.regs), k.Symbol)
			require.Less(t, l.prog.rows32+l.prog.rows64, len(e.Regs)/2, "%s: rows", k.Symbol)
		}
	}
}

func TestRowsAreShared(t *testing.T) {
	m, err := ptx.Parse("rows.ptx", []byte(`.version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 P)
{
.reg .pred p; .reg .b32 a, b, c, d, n, unused; .reg .b64 x;
ld.param.u64 x, [P];
mov.u32 n, 0;
mov.u32 a, 1;
LOOP:
add.u32 b, a, 1;
add.u32 c, b, 1;
add.u32 n, n, c;
setp.lt.u32 p, n, 100;
@p bra LOOP;
@p mov.u32 d, 5;
ld.global.v2.u32 {a, b}, [x];
st.global.u32 [x], d;
ret;
}
`))
	require.NoError(t, err)
	e := m.Entries[0]
	l := assign(e)
	require.Empty(t, conflicts(e, l.regs))
	reg := func(name string) loc {
		return l.regs[slices.IndexFunc(e.Regs, func(r ptx.Reg) bool { return r.Name == name })]
	}
	// d keeps the lanes for which its guard is false, so it is live from the
	// start; a is live round the loop; both results of the load are written.
	for _, pair := range [][2]string{{"a", "n"}, {"a", "c"}, {"a", "b"}, {"d", "a"}, {"d", "n"}, {"d", "c"}} {
		require.NotEqual(t, reg(pair[0]), reg(pair[1]), "%v", pair)
	}
	require.LessOrEqual(t, l.prog.rows32, 5)
}

func BenchmarkLower(b *testing.B) {
	k := generated.Kernels()[0]
	text, err := k.PTX()
	require.NoError(b, err)
	m, err := ptx.Parse(k.Symbol, text)
	require.NoError(b, err)
	for b.Loop() {
		_, err := lower(m, m.Entries[0], &sequential)
		require.NoError(b, err)
	}
}
