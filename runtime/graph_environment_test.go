package nccl

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/topo"
)

func TestReadGraphSettings(t *testing.T) {
	read := func(name, value string) (*GraphSettings, error) {
		return ReadGraphSettings(func(n string) (string, bool) { return value, n == name })
	}
	defaults, err := read("", "")
	require.NoError(t, err)
	require.Equal(t, topo.CrossNICPairs, defaults.Hosts.Search.CrossNIC)
	require.True(t, defaults.Hosts.Search.NVLS)
	require.True(t, defaults.Hosts.Search.Better)

	for _, c := range []struct {
		name, value string
		change      func(*GraphSettings)
	}{
		{"NCCL_CROSS_NIC", "0", func(s *GraphSettings) { s.Hosts.Search.CrossNIC = topo.CrossNICNever }},
		{"NCCL_P2P_LEVEL", "phb", func(s *GraphSettings) { s.Hosts.Params.P2PLevel = new(topo.PathPHB) }},
		{"NCCL_P2P_LEVEL", "2", func(s *GraphSettings) { s.Hosts.Params.P2PLevel = new(topo.PathPXB) }},
		{"NCCL_P2P_DISABLE", "1", func(s *GraphSettings) { s.Hosts.Params.P2PLevel = new(topo.PathLOC) }},
		{"NCCL_P2P_DISABLE", "0", func(*GraphSettings) {}},
		{"NCCL_NET_GDR_LEVEL", "SYS", func(s *GraphSettings) { s.Hosts.Params.GDRLevel = new(topo.PathSYS) }},
		{"NCCL_NET_GDR_READ", "0", func(s *GraphSettings) { s.Hosts.Params.GDRRead = topo.GDRReadOff }},
		{"NCCL_NET_GDR_C2C", "0", func(s *GraphSettings) { s.Hosts.Params.NoGDRC2C = true }},
		{"NCCL_PXN_DISABLE", "1", func(s *GraphSettings) { s.Hosts.Params.NoPXN = true }},
		{"NCCL_SHM_DISABLE", "1", func(s *GraphSettings) { s.Hosts.Params.NoSHM = true }},
		{"NCCL_NETDEVS_POLICY", "max:3", func(s *GraphSettings) { s.Hosts.Params.NetDevs.Max = 3 }},
		{"NCCL_NETDEVS_POLICY", "ALL", func(s *GraphSettings) { s.Hosts.Params.NetDevs.All = true }},
		{"NCCL_MNNVL_ENABLE", "1", func(s *GraphSettings) { s.Fabric = true }},
		{"NCCL_MNNVL_ENABLE", "0", func(*GraphSettings) {}},
		{"NCCL_NVLS_ENABLE", "0", func(s *GraphSettings) { s.Hosts.Search.NVLS = false }},
		{"NCCL_COLLNET_ENABLE", "1", func(s *GraphSettings) { s.Hosts.Search.CollNet, s.Layout.CollNet = true, true }},
		{"NCCL_NCHANNELS_PER_NET_PEER", "4", func(s *GraphSettings) { s.Hosts.NetPeerChannels, s.Layout.FixedNetChannels = 4, true }},
		{"NCCL_MIN_NRINGS", "0x10", func(s *GraphSettings) { s.Layout.MinChannels = 16 }},
		{"NCCL_MAX_CTAS", "8", func(s *GraphSettings) { s.Layout.MaxCTAs = 8 }},
		{"NCCLGO_BETTER_CHANNELS", "0", func(s *GraphSettings) { s.Hosts.Search.Better = false }},
		{"NCCL_GRAPH_FILE", "g.xml", func(s *GraphSettings) { s.GraphFile = "g.xml" }},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			want := *defaults
			c.change(&want)
			got, err := read(c.name, c.value)
			require.NoError(t, err)
			require.Equal(t, &want, got)
		})
	}
}

func TestGraphSettingsErrors(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"NCCL_CROSS_NIC", "3", "NCCL_CROSS_NIC=3: allowed are 0 to 2"},
		{"NCCL_P2P_LEVEL", "NET", "NCCL_P2P_LEVEL=NET: allowed are LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS, and 0 to 5"},
		{"NCCL_NET_GDR_LEVEL", "6", "NCCL_NET_GDR_LEVEL=6: allowed are LOC"},
		{"NCCL_NETDEVS_POLICY", "MAX:0", "NCCL_NETDEVS_POLICY=MAX:0: allowed are AUTO, ALL and MAX:n with n > 0"},
		{"NCCL_NETDEVS_POLICY", "ALL:1", "NCCL_NETDEVS_POLICY=ALL:1: allowed are"},
		{"NCCL_NVB_DISABLE", "yes", "NCCL_NVB_DISABLE=yes: not a whole number"},
	} {
		_, err := ReadGraphSettings(func(n string) (string, bool) { return c.value, n == c.name })
		require.ErrorContains(t, err, c.want)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
}

func TestGraphVariables(t *testing.T) {
	names := GraphVariables()
	require.True(t, slices.IsSorted(names))
	require.Contains(t, names, "NCCL_NETDEVS_POLICY")
	require.Contains(t, Variables(), "NCCL_PROTO")
	require.Equal(t, len(names), len(slices.Compact(slices.Clone(names))))
}

func TestBetterChannels(t *testing.T) {
	for value, want := range map[string]bool{"": true, "0": false, "1": true} {
		better, err := BetterChannels(func(n string) (string, bool) { return value, n == "NCCLGO_BETTER_CHANNELS" })
		require.NoError(t, err)
		require.Equal(t, want, better, value)
	}
	_, err := BetterChannels(func(string) (string, bool) { return "yes", true })
	require.ErrorIs(t, err, ErrInvalidArgument)
}
