package abi

import (
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// layouts lists every struct with its size and the offset of each field that
// has a name. gen asserts what it renders from the same types; the numbers here
// hold the Go side to what kernels already built expect.
var layouts = []struct {
	value   any
	size    uintptr
	offsets map[string]uintptr
}{
	{KernelArgs{}, 4032, map[string]uintptr{"Comm": 0, "Overflow": 8, "NumWorks": 16, "Works": 32}},
	{Work{}, 80, map[string]uintptr{
		"SendBuf": 0, "RecvBuf": 8, "RedOpArg": 16, "CountLo": 24, "CountMid": 32, "CountHi": 40, "Op": 48,
		"ChunkBytes": 56, "Root": 60, "ChannelLo": 64, "ChannelHi": 66, "Threads": 68, "RedOpArgIsPtr": 70,
	}},
	{Comm{}, 48, map[string]uintptr{
		"Rank": 0, "NumRanks": 4, "AbortFlag": 8, "Reports": 16, "SlotBytes": 24, "NumChannels": 36,
	}},
	{Channel{}, 32, map[string]uintptr{"Peers": 0, "Ring": 8}},
	{Ring{}, 24, map[string]uintptr{"Prev": 0, "Next": 4, "Index": 8, "Ranks": 16}},
	{Peer{}, 128, map[string]uintptr{"Send": 0, "Recv": 64}},
	{Conn{}, 64, map[string]uintptr{"Fifo": 0, "Tail": 24, "Head": 32, "Step": 40}},
	{Report{}, 32, map[string]uintptr{"State": 0, "Peer": 4, "Step": 8, "Op": 16}},
}

func TestLayout(t *testing.T) {
	for _, l := range layouts {
		typ := reflect.TypeOf(l.value)
		t.Run(typ.Name(), func(t *testing.T) {
			require.Equal(t, l.size, typ.Size())
			named := 0
			var end uintptr
			for i := range typ.NumField() {
				f := typ.Field(i)
				require.Equal(t, end, f.Offset, "padding before %s must be declared", f.Name)
				end = f.Offset + f.Type.Size()
				if f.Name == "_" {
					continue
				}
				named++
				want, ok := l.offsets[f.Name]
				require.True(t, ok, "%s is not in the table", f.Name)
				require.Equal(t, want, f.Offset, f.Name)
			}
			require.Equal(t, typ.Size(), end, "padding at the end must be declared")
			require.Len(t, l.offsets, named)
			require.Equal(t, int(l.size), binary.Size(l.value), "encoding/binary writes the same bytes")
		})
	}
	require.LessOrEqual(t, reflect.TypeFor[KernelArgs]().Size(), uintptr(KernelArgsBytes))
	require.Greater(t, reflect.TypeFor[KernelArgs]().Size()+reflect.TypeFor[Work]().Size(), uintptr(KernelArgsBytes),
		"one more work would fit")
}
