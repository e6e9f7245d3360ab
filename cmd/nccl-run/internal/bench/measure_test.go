package bench

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/check"
)

// hostPass is a pass over n ranks whose buffers are host memory and whose
// collective is done by the test.
func hostPass(t *testing.T, n int, capacity int64) (*pass, []*hostMemory) {
	p := &pass{
		c: &Config{Check: 1, Unalign: 1}, seed: 3, ranks: make([]rank, n),
	}
	memories := make([]*hostMemory, 0, 2*n)
	for i := range p.ranks {
		for _, b := range []**buffer{&p.ranks[i].send, &p.ranks[i].recv} {
			m := &hostMemory{}
			memories = append(memories, m)
			var err error
			*b, err = newBuffer(m, capacity, 8, fmt.Sprintf("rank %d", i))
			require.NoError(t, err)
		}
	}
	return p, memories
}

// reduce puts what must be there in a rank's receive buffer.
func reduce(t *testing.T, p *pass, rank int, memories []*hostMemory, data check.Case) {
	want, err := data.Expected(t.Context())
	require.NoError(t, err)
	want.Fill(memories[2*rank+1].bytes[p.ranks[rank].recv.data()-hostBase:][:data.Bytes()], 0)
}

// The check finds one wrong byte wherever it is, and nothing else.
func TestVerifyFindsEveryByte(t *testing.T) {
	const n, count = 3, 5
	for _, inPlace := range []bool{false, true} {
		k := cell{coll.Float32, coll.OpSum, count, inPlace}
		t.Run(k.String(), func(t *testing.T) {
			p, memories := hostPass(t, n, 64)
			p.place(k)
			data, err := p.prepare(t.Context(), k)
			require.NoError(t, err)

			wrong, first, err := p.verify(t.Context(), k, data)
			require.NoError(t, err)
			require.Equal(t, int64(n*count), wrong, "no collective ran")
			require.Equal(t, "rank 0 recv, element 0", first)

			for i := range p.ranks {
				reduce(t, p, i, memories, data)
			}
			wrong, first, err = p.verify(t.Context(), k, data)
			require.NoError(t, err)
			require.Zero(t, wrong)
			require.Empty(t, first)

			for i, m := range memories {
				b, which := p.ranks[i/2].send, "send"
				if i%2 == 1 {
					b, which = p.ranks[i/2].recv, "recv"
				}
				for at := range b.start + b.size + guardBytes {
					m.bytes[at] ^= 1
					wrong, first, err = p.verify(t.Context(), k, data)
					require.NoError(t, err)
					require.Equal(t, int64(1), wrong, "buffer %d byte %d", i, at)
					where := "outside the buffer"
					if at >= b.start && at < b.start+b.size {
						where = fmt.Sprintf("element %d", (at-b.start)/4)
					}
					require.Equal(t, fmt.Sprintf("rank %d %s, %s", i/2, which, where), first)
					m.bytes[at] ^= 1
				}
			}
		})
	}
}

// No repetition can pass on what an earlier one left.
func TestRepetitionsHaveFreshData(t *testing.T) {
	p, memories := hostPass(t, 2, 64)
	k := cell{coll.Int32, coll.OpMax, 8, false}
	p.place(k)
	first, err := p.prepare(t.Context(), k)
	require.NoError(t, err)
	for i := range p.ranks {
		reduce(t, p, i, memories, first)
	}
	stale := p.ranks[0].recv.data()
	before := append([]byte{}, memories[1].bytes[stale-hostBase:][:first.Bytes()]...)

	second, err := p.prepare(t.Context(), k)
	require.NoError(t, err)
	require.NotEqual(t, first.Seed, second.Seed)
	reduce(t, p, 0, memories, second)
	require.NotEqual(t, before, memories[1].bytes[stale-hostBase:][:second.Bytes()])

	other, _ := hostPass(t, 2, 64)
	other.seed++
	other.place(k)
	otherFirst, err := other.prepare(t.Context(), k)
	require.NoError(t, err)
	require.NotEqual(t, first.Seed, otherFirst.Seed)
	require.NotEqual(t, second.Seed, otherFirst.Seed)
}

func TestSimulatedGPU(t *testing.T) {
	for _, tt := range []struct{ sm, like int }{{70, 70}, {75, 70}, {80, 80}, {86, 80}, {89, 89}, {90, 90}, {100, 90}, {120, 90}} {
		info, err := simulatedGPU(tt.sm)
		require.NoError(t, err)
		require.Equal(t, tt.sm, info.SM)
		like, err := simulatedGPU(tt.like)
		require.NoError(t, err)
		require.Equal(t, like.NumSMs, info.NumSMs, "sm_%d", tt.sm)
	}
	_, err := simulatedGPU(61)
	require.ErrorContains(t, err, "sm_61 is older than sm_70")
}
