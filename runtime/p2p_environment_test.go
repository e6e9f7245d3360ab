package nccl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/planner"
)

func TestP2PLimits(t *testing.T) {
	for _, test := range []struct {
		name, value string
		change      func(l *planner.P2PLimits)
	}{
		{"NCCL_P2P_NET_CHUNKSIZE", "65536", func(l *planner.P2PLimits) { l.NetChunk = 64 << 10 }},
		{"NCCL_P2P_NVL_CHUNKSIZE", "0x20000", func(l *planner.P2PLimits) { l.NVLinkChunk = 128 << 10 }},
		{"NCCL_P2P_PCI_CHUNKSIZE", "32768", func(l *planner.P2PLimits) { l.PCIChunk = 32 << 10 }},
		{"NCCL_P2P_LL_THRESHOLD", "0", func(l *planner.P2PLimits) { l.LLBytes = 0 }},
		{"NCCL_ALLOC_P2P_NET_LL_BUFFERS", "1", func(l *planner.P2PLimits) { l.NetLL = true }},
		{"NCCL_P2P_SCHEDULE_GROUP_SIZE", "4", func(l *planner.P2PLimits) { l.GroupSize = 4 }},
		{"NCCL_P2P_SCHEDULE_GROUP_SIZE", "", func(*planner.P2PLimits) {}},
	} {
		want := planner.DefaultP2PLimits()
		test.change(&want)
		got, err := ReadP2PLimits(variables(test.name, test.value))
		require.NoError(t, err)
		require.Equal(t, want, got, test.name)
		require.Contains(t, P2PVariables(), test.name)
	}
	for _, test := range []struct{ name, value, want string }{
		{"NCCL_P2P_NET_CHUNKSIZE", "100", "NCCL_P2P_NET_CHUNKSIZE=100: allowed are"},
		{"NCCL_P2P_NVL_CHUNKSIZE", "5000", "NCCL_P2P_NVL_CHUNKSIZE=5000: not a multiple of"},
		{"NCCL_P2P_LL_THRESHOLD", "-1", "NCCL_P2P_LL_THRESHOLD=-1: allowed are 0 to"},
		{"NCCL_P2P_SCHEDULE_GROUP_SIZE", "0", "NCCL_P2P_SCHEDULE_GROUP_SIZE=0: allowed are 1 to"},
	} {
		_, err := ReadP2PLimits(variables(test.name, test.value))
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.ErrorContains(t, err, test.want)
	}
}
