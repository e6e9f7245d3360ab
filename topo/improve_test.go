package topo

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPackingLimit: no attempt finds more than any attempt proves to be the most, and
// what is found is what links carry.
func TestPackingLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	reached := 0
	for range 60 {
		n := 2 + r.IntN(6)
		s := randomSystem(t, r, n)
		v, err := s.View(Params{NRanks: s.NRanks() * (1 + r.IntN(2))})
		require.NoError(t, err)
		if len(v.Nodes[NodeGPU]) < 2 {
			continue
		}
		p := newPacking(newTerrain(v, &SearchParams{}), anywhere, 1<<22)
		found, most := 0., ringLimit(v, anywhere)
		for count := 1; count <= 6; count++ {
			bw := p.attempt(count, most/float64(count))
			if bw == 0 {
				continue
			}
			require.Len(t, p.best, count)
			require.InEpsilon(t, bw, p.carried(p.best), 1e-9)
			found = max(found, bw*float64(count))
			most = min(most, p.limit())
		}
		require.LessOrEqual(t, found, most*(1+1e-9))
		if found > .99*most {
			reached++
		}
	}
	require.Greater(t, reached, 10, "limits that are of use")
}

// TestBetterOfRandomMachines: what replaces NCCL's graphs carries more, fits into the
// links and does not depend on anything but the machine.
func TestBetterOfRandomMachines(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	better := 0
	for range rounds {
		n := 1 + r.IntN(exactTour+3)
		s := randomSystem(t, r, n)
		v, err := s.View(Params{NRanks: s.NRanks() * (1 + r.IntN(2))})
		require.NoError(t, err)
		p := SearchParams{CrossNIC: CrossNIC(r.IntN(3)), NVLS: true}
		nccl := Search(v, p)
		p.Better = true
		ours := Search(v, p)
		require.Equal(t, ours, Search(v, p), "the same again")
		if requireBetter(t, v, nccl, ours) {
			better++
		}
	}
	require.Greater(t, better, rounds/20)
}

// requireBetter fails if a search for better graphs than NCCL's came by worse ones, and
// reports whether it came by any.
func requireBetter(t *testing.T, v *System, nccl, ours *Graphs) bool {
	if ours[GraphTree].Instead == 0 {
		require.Equal(t, nccl, ours)
		return false
	}
	for id, g := range ours {
		if g.Instead == 0 && GraphID(id) == GraphRing {
			require.Equal(t, nccl[id], g)
			require.GreaterOrEqual(t, ours[GraphTree].counted(), betterBy*nccl[GraphTree].counted())
			continue
		}
		checkGraph(t, v, g)
		require.False(t, g.Simple)
		old := nccl[id]
		switch GraphID(id) {
		case GraphRing:
			require.GreaterOrEqual(t, float64(g.BW()), betterBy*float64(old.BW()))
		case GraphTree:
			require.Len(t, g.Channels, len(ours[GraphRing].Channels))
			require.GreaterOrEqual(t, g.counted(), old.counted())
		default:
			require.Equal(t, old.Channels, g.Channels)
			continue
		}
		require.Equal(t, old.BW(), g.Instead)
		require.GreaterOrEqual(t, float64(times(len(g.Channels), g.BWInter))*g.Pattern.share(), float64(times(len(old.Channels), old.BWInter))*old.Pattern.share())
		if !old.Simple {
			require.True(t, old.TypeIntra > PathNVB || g.TypeIntra <= old.TypeIntra)
			require.True(t, old.TypeInter > PathPXN || g.TypeInter <= old.TypeInter)
		}
		if !old.Simple {
			require.LessOrEqual(t, g.LatencyInter, old.LatencyInter)
		}
	}
	return true
}

// TestBetterRing: through one Intel CPU traffic takes a fifth more of PCIe than through
// two. With one ring the same PCIe links bear that all the time; with two that cross
// between sockets at different GPUs each link bears it half of the time. Where NVLink
// carries all that GPUs have there is nothing to gain.
func TestBetterRing(t *testing.T) {
	for _, c := range []struct {
		machine    string
		nccl, ours float32
	}{{"pcie8", 20, 21.81816}, {"pcie4-intel", 20, 21.81816}, {"dgx-h100", 360, 0}, {"dgx-1v", 120, 0}} {
		s := ownMachine(t, c.machine)
		nccl, err := searchRing(s)
		require.NoError(t, err)
		require.Equal(t, c.nccl, nccl.BW(), c.machine)
		l, err := ConnectHost(s, true)
		require.NoError(t, err)
		ours := l.Graphs(0)[GraphRing]
		if c.ours == 0 {
			require.Equal(t, nccl, ours, c.machine)
			continue
		}
		require.InDelta(t, c.ours, ours.BW(), 1e-4, c.machine)
		require.Equal(t, c.nccl, ours.Instead, c.machine)
	}
}

// TestBetterOfParts: where hosts are of several nodes that differ, these agree on what is
// no worse than what they would agree on with NCCL's channels, though each by itself may
// have better ones that fit ill together.
func TestBetterOfParts(t *testing.T) {
	kept, dropped := 0, 0
	for seed := range uint64(14) {
		s := splitSystem(t, rand.New(rand.NewPCG(7, seed)))
		p := HostParams{Hosts: 2, Search: SearchParams{CrossNIC: CrossNICPairs}}
		nccl, err := Members(s, p)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(nccl), 4, "two nodes to a host")
		p.Search.Better = true
		ours, err := Members(s, p)
		require.NoError(t, err)
		g, o := agreed(ours), agreed(nccl)
		for _, id := range []GraphID{GraphRing, GraphTree} {
			require.GreaterOrEqual(t, g[id].counted(), o[id].counted(), "%d, %v", seed, id)
			require.GreaterOrEqual(t, times(len(g[id].Channels), g[id].BWInter), times(len(o[id].Channels), o[id].BWInter), "%d, %v", seed, id)
		}
		p.Params.NRanks = 2 * s.NRanks()
		alone, err := s.nodes(p)
		require.NoError(t, err)
		switch {
		case g[GraphTree].counted() > o[GraphTree].counted():
			kept++
		case agreed(alone)[GraphRing].BW() < o[GraphRing].BW():
			dropped++
		}
	}
	require.Positive(t, kept)
	require.Positive(t, dropped)
}

// TestSlowPort: a port of more latency than NCCL's search takes is left alone, however
// much it carries.
func TestSlowPort(t *testing.T) {
	for _, c := range []struct {
		latency string
		better  bool
	}{{"", true}, {` latency="40"`, false}} {
		// The port behind the other socket would double what one alone carries.
		file := `<system version="1">`
		for socket := range 2 {
			latency := ""
			if socket == 1 {
				latency = c.latency
			}
			file += fmt.Sprintf(`<cpu numaid="%d" arch="x86_64" vendor="AuthenticAMD">`, socket)
			if socket == 0 {
				for gpu := range 2 {
					file += fmt.Sprintf(`<pci busid="0:8%d:0.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="%d" sm="80" rank="%d" gdr="1"><nvlink target="0:8%d:0.0" count="4" tclass="0x030200"/></gpu></pci>`, gpu, gpu, gpu, 1-gpu)
				}
			}
			file += fmt.Sprintf(`<pci busid="0:4%d:0.0" class="0x020000" link_speed="16.0 GT/s PCIe" link_width="16"><nic><net name="m%d" dev="%d" speed="100000" port="1" guid="0x%d" gdr="1"%s/></nic></pci></cpu>`, socket, socket, socket, 1+socket, latency)
		}
		s, err := parseSystem("slow port", []byte(file+`</system>`))
		require.NoError(t, err)
		v, err := s.View(Params{NRanks: 4})
		require.NoError(t, err)
		p := SearchParams{CrossNIC: CrossNICPairs}
		nccl := Search(v, p)
		p.Better = true
		ours := Search(v, p)
		require.Equal(t, c.better, ours[GraphRing].Instead > 0, "%v instead of %v", ours[GraphRing], nccl[GraphRing])
		require.Zero(t, ours[GraphRing].LatencyInter)
	}
}

// TestGraphsThatAreGiven: what a user gives is taken, and CollNet's graphs have as many
// channels as NCCL's rings.
func TestGraphsThatAreGiven(t *testing.T) {
	v, err := ownMachine(t, "pcie8").View(Params{NRanks: 16})
	require.NoError(t, err)
	p := SearchParams{CrossNIC: CrossNICPairs}
	nccl := Search(v, p)
	p.Better = true
	require.Positive(t, Search(v, p)[GraphRing].Instead)
	given := p
	given.Given = nccl
	require.Equal(t, nccl, Search(v, given))
	p.CollNet = true
	require.Zero(t, Search(v, p)[GraphRing].Instead)
}
