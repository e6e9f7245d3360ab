package topo

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	intel = `arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"`
	amd   = `arch="x86_64" vendor="AuthenticAMD"`
	arm   = `arch="arm64"`
)

// file is a machine of CPUs of one kind.
func file(kind string, cpus ...string) string {
	var b strings.Builder
	b.WriteString(`<system version="1">`)
	for i, below := range cpus {
		fmt.Fprintf(&b, "\n<cpu numaid=\"%d\" %s>%s</cpu>", i, kind, below)
	}
	return b.String() + "\n</system>"
}

func pci(bus, class, below string) string {
	return fmt.Sprintf(`<pci busid="%s" class="%s" link_speed="16.0 GT/s PCIe" link_width="16">%s</pci>`, bus, class, below)
}

// bridge is PCIe switch i with devices below it.
func bridge(i int, below ...string) string {
	return pci(fmt.Sprintf("0000:%02x:00.0", i), "0x060400", strings.Join(below, ""))
}

// card is GPU i; links is what it lists.
func card(i, sm int, links ...string) string {
	return pci(fmt.Sprintf("0001:%02x:00.0", i), "0x030200", fmt.Sprintf(`<gpu dev="%d" sm="%d" rank="%d" gdr="1">%s</gpu>`, i, sm, i, strings.Join(links, "")))
}

// port is network port i of 200 Gbit/s.
func port(i int) string {
	return pci(fmt.Sprintf("0002:%02x:00.0", i), "0x020000", fmt.Sprintf(`<nic><net name="n%d" dev="%d" speed="200000" gdr="1"/></nic>`, i, i))
}

const (
	toSwitch = `<nvlink target="fffffff:ff:ff.0" count="12" tclass="0x068000"/>`
	toCPU    = `<c2c bw="1000" count="100"/>`
)

// toGPU is an NVLink to GPU i.
func toGPU(i int) string {
	return fmt.Sprintf(`<nvlink target="0001:%02x:00.0" count="2" tclass="0x030200"/>`, i)
}

// TestView: what settings make of paths.
func TestView(t *testing.T) {
	far := file(intel, card(0, 90), card(1, 90))
	chain := file(intel, card(0, 80, toGPU(1))+card(1, 80, toGPU(0), toGPU(2))+card(2, 80, toGPU(1)))
	shared := file(amd, bridge(1, card(0, 80, toSwitch), port(0))+bridge(2, card(1, 80, toSwitch)))
	grace := file(arm, card(0, 90, toCPU)+port(0))
	old := file(intel, bridge(1, card(0, 70), card(1, 70), port(0)))
	for _, c := range []struct {
		name, file string
		params     Params
		// from and to are a node's type and index; want is the path's type,
		// bandwidth and number of links.
		from, to string
		want     string
	}{
		{"across sockets", far, Params{}, "GPU 0", "GPU 1", "SYS 22 5"},
		{"P2P through switches", file(intel, bridge(1, card(0, 90), card(1, 90))), Params{}, "GPU 0", "GPU 1", "PIX 24 4"},
		{"P2P off", file(intel, bridge(1, card(0, 90), card(1, 90))), Params{P2PLevel: new(PathLOC)}, "GPU 0", "GPU 1", "PHB 24 6"},
		{"NVLink off with it", shared, Params{P2PLevel: new(PathLOC)}, "GPU 0", "GPU 1", "PHB 24 6"},

		{"relay", chain, Params{}, "GPU 0", "GPU 2", "NVB 40 4"},
		{"no relay", chain, Params{NoNVB: true}, "GPU 0", "GPU 2", "PHB 24 4"},

		{"GDR", shared, Params{}, "NET 0", "GPU 0", "PIX 24 4"},
		{"no GDR that far", shared, Params{GDRLevel: new(PathLOC)}, "NET 0", "GPU 0", "PHB 24 6"},
		{"receive at the own port", shared, Params{}, "NET 0", "GPU 1", "PHB 24 6"},
		{"send through the other GPU", shared, Params{}, "GPU 1", "NET 0", "PXN 24 8"},
		{"but not where forbidden", shared, Params{NoPXN: true}, "GPU 1", "NET 0", "PHB 24 6"},
		{"nor where that GPU's memory cannot be read", shared, Params{GDRRead: GDRReadOff}, "GPU 1", "NET 0", "PHB 24 6"},

		{"through C2C", grace, Params{}, "GPU 0", "NET 0", "P2C 24 4"},
		{"through C2C to host memory", grace, Params{NoGDRC2C: true}, "GPU 0", "NET 0", "P2C 24 4"},
		{"old GPUs are written", old, Params{}, "NET 0", "GPU 0", "PIX 24 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parseSystem("f.xml", []byte(c.file))
			require.NoError(t, err)
			v, err := s.View(c.params)
			require.NoError(t, err)
			p := nodeNamed(t, v, c.from).Path(nodeNamed(t, v, c.to))
			require.Equal(t, c.want, fmt.Sprint(p.Type, " ", p.BW, " ", len(p.Links)))
			checkPaths(t, v)
		})
	}
}

// TestDirectP2P: how near GPUs must be to access each other's memory.
func TestDirectP2P(t *testing.T) {
	for _, c := range []struct {
		name, file string
		level      *PathType
		want       bool
	}{
		{"a CPU between them", file(intel, card(0, 90)+card(1, 90)), nil, false},
		{"allowed", file(intel, card(0, 90)+card(1, 90)), new(PathPHB), true},
		{"not allowed", file(intel, bridge(1, card(0, 90), card(1, 90))), new(PathNVL), false},
		{"switches", file(intel, bridge(1, bridge(2, card(0, 90)), bridge(3, card(1, 90)))), nil, true},
		{"two GPUs on AMD", file(amd, card(0, 90), card(1, 90)), nil, true},
		{"two GPUs on AMD, not allowed", file(amd, card(0, 90), card(1, 90)), new(PathPHB), false},
		{"three GPUs on AMD", file(amd, card(0, 90), card(1, 90), card(2, 90)), nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parseSystem("f.xml", []byte(c.file))
			require.NoError(t, err)
			s.Params.P2PLevel = c.level
			require.Equal(t, c.want, s.directP2P(s.RankGPU(0), s.RankGPU(1)))
		})
	}
}

// TestGDR: when a network card may access a GPU's memory.
func TestGDR(t *testing.T) {
	near := func(sm int, links ...string) string { return file(intel, bridge(1, card(0, sm, links...), port(0))) }
	grace := file(arm, card(0, 90, toCPU)+port(0))
	for _, c := range []struct {
		name, file  string
		params      Params
		write, read bool
	}{
		{"one switch", near(90), Params{}, true, true},
		{"a CPU between", file(intel, card(0, 90)+port(0)), Params{}, false, false},
		{"a CPU between, allowed", file(intel, card(0, 90)+port(0)), Params{GDRLevel: new(PathPHB)}, true, true},
		{"too far", near(90), Params{GDRLevel: new(PathNVL)}, false, false},
		{"reads off", near(90), Params{GDRRead: GDRReadOff}, true, false},
		{"C2C", grace, Params{}, true, true},
		{"C2C off", grace, Params{NoGDRC2C: true}, false, false},
		{"GPU without", strings.Replace(near(90), `rank="0" gdr="1"`, `rank="0" gdr="0"`, 1), Params{}, false, false},
		{"port without", strings.Replace(near(90), `speed="200000" gdr="1"`, `speed="200000"`, 1), Params{}, false, false},

		{"old and alone", near(70), Params{}, true, true},
		{"old and busy", file(intel, bridge(1, card(0, 70), card(1, 70), port(0))), Params{}, true, false},
		{"old and busy, on", file(intel, bridge(1, card(0, 70), card(1, 70), port(0))), Params{GDRRead: GDRReadOn}, true, true},
		{"old with NVLink", file(intel, bridge(1, card(0, 70, toGPU(1)), card(1, 70, toGPU(0)), port(0))), Params{}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parseSystem("f.xml", []byte(c.file))
			require.NoError(t, err)
			c.params.NRanks = 4
			v, err := s.View(c.params)
			require.NoError(t, err)
			require.Equal(t, c.write, v.gdr(v.RankGPU(0), v.Nodes[NodeNET][0], false), "write")
			require.Equal(t, c.read, v.gdr(v.RankGPU(0), v.Nodes[NodeNET][0], true), "read")
		})
	}
}

func nodeNamed(t *testing.T, s *System, name string) *Node {
	kind, index, _ := strings.Cut(name, " ")
	for n := range NodeType(NumNodeTypes) {
		if n.String() == kind {
			for _, node := range s.Nodes[n] {
				if fmt.Sprint(node.Index) == index {
					return node
				}
			}
		}
	}
	require.FailNow(t, "no node "+name)
	return nil
}

// checkPaths: the links of every path lead from its start to its end, and none
// is narrower than the path says, in one direction or the other: see wave.along.
func checkPaths(t *testing.T, s *System) {
	for from, nodes := range s.Nodes {
		for _, n := range nodes {
			for to := range n.paths {
				if !hasPaths[from][to] {
					continue
				}
				for i, p := range n.paths[to] {
					at := n
					for _, l := range p.Links {
						require.Contains(t, linksOf(at), l)
						require.GreaterOrEqual(t, max(l.BW, reverse(at, l).BW), p.BW)
						at = l.To
					}
					if p.Type < PathDIS {
						require.Same(t, s.Nodes[to][i], at)
					}
				}
			}
		}
	}
}

func linksOf(n *Node) []*Link {
	var all []*Link
	for i := range n.Links {
		all = append(all, &n.Links[i])
	}
	return all
}

// TestViewTrim: GPUs with a network card on their own switch reach the others
// best by network, so a host is several.
func TestViewTrim(t *testing.T) {
	s, err := parseSystem("f.xml", []byte(file(intel,
		bridge(1, card(0, 80), card(1, 80), port(0)), bridge(2, card(2, 80), card(3, 80), port(1)))))
	require.NoError(t, err)
	for _, c := range []struct {
		name   string
		params Params
		ranks  []int
		inter  bool
		maxBW  float32
	}{
		{"first half", Params{}, []int{0, 1}, true, 24},
		{"second half", Params{Rank: 3}, []int{2, 3}, true, 24},
		{"network not used inside", Params{NoIntraNet: true}, []int{0, 1, 2, 3}, false, 24},
		{"network not used inside, several hosts", Params{NoIntraNet: true, NRanks: 8}, []int{0, 1, 2, 3}, true, 24},
		{"no host memory", Params{NoIntraNet: true, NoSHM: true}, []int{0, 1}, true, 24},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := s.View(c.params)
			require.NoError(t, err)
			var ranks []int
			for i, gpu := range v.Nodes[NodeGPU] {
				require.Equal(t, i, gpu.Index)
				require.Same(t, gpu, v.RankGPU(gpu.GPU.Rank))
				ranks = append(ranks, gpu.GPU.Rank)
			}
			require.Equal(t, c.ranks, ranks)
			require.Equal(t, 4, v.NRanks())
			require.Equal(t, c.inter, v.Inter)
			require.Equal(t, c.maxBW, v.MaxBW)
			require.Len(t, v.Nodes[NodeDEV], 4)
			checkPaths(t, v)
			require.Len(t, s.Nodes[NodeGPU], 4, "the system is as it was")
		})
	}

	for _, p := range []Params{{NRanks: 3}, {Rank: 4}, {Rank: -1}} {
		_, err := s.View(p)
		require.Error(t, err)
	}
}

// TestCollNet: a port reduces if the file says so, or says nothing and CollNet was
// asked for.
func TestCollNet(t *testing.T) {
	for attr, want := range map[string][2]bool{"": {false, true}, ` coll="0"`: {false, false}, ` coll="1"`: {true, true}} {
		s, err := parseSystem("f.xml", []byte(strings.Replace(file(arm, card(0, 90)+port(0)), `speed="200000"`, `speed="200000"`+attr, 1)))
		require.NoError(t, err)
		for i, asked := range []bool{false, true} {
			v, err := s.View(Params{CollNet: asked})
			require.NoError(t, err)
			require.Equal(t, want[i], v.Nodes[NodeNET][0].Net.Coll, "%q, asked for: %v", attr, asked)
		}
	}
}

// TestOneGPU: nothing limits a rank that is alone.
func TestOneGPU(t *testing.T) {
	s, err := parseSystem("f.xml", []byte(file(arm, card(0, 90)+port(0))))
	require.NoError(t, err)
	for ranks, want := range map[int]float32{1: 5000, 2: 24} {
		v, err := s.View(Params{NRanks: ranks})
		require.NoError(t, err)
		require.Equal(t, want, v.MaxBW)
	}
}

// TestLocalNet: GPUs that share ports spread over them.
func TestLocalNet(t *testing.T) {
	var devices []string
	for i := range 4 {
		devices = append(devices, card(i, 90))
	}
	for i := range 8 {
		devices = append(devices, port(i))
	}
	for _, c := range []struct {
		name  string
		ports int
		nets  NetDevs
		// want[gpu] are the ports of the first channels.
		want [4][4]int
	}{
		{"two each", 8, NetDevs{}, [4][4]int{{0, 1, 0, 1}, {4, 5, 4, 5}, {2, 3, 2, 3}, {6, 7, 6, 7}}},
		{"one each", 4, NetDevs{}, [4][4]int{{0, 0, 0, 0}, {2, 2, 2, 2}, {1, 1, 1, 1}, {3, 3, 3, 3}}},
		{"not a power of two", 3, NetDevs{}, [4][4]int{{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {0, 0, 0, 0}}},
		{"all", 3, NetDevs{All: true}, [4][4]int{{0, 1, 2, 0}, {1, 2, 0, 1}, {2, 0, 1, 2}, {0, 1, 2, 0}}},
		{"three at most", 8, NetDevs{Max: 3}, [4][4]int{{0, 1, 2, 0}, {4, 5, 6, 4}, {2, 3, 4, 2}, {6, 7, 0, 6}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parseSystem("f.xml", []byte(file(intel, bridge(1, devices[:4+c.ports]...))))
			require.NoError(t, err)
			v, err := s.View(Params{NetDevs: c.nets, NRanks: 8})
			require.NoError(t, err)
			local := newLocality(v)
			for g, gpu := range v.Nodes[NodeGPU] {
				for channel, want := range c.want[g] {
					require.Equal(t, want, local.net(gpu, channel).Net.Dev, "GPU %d, channel %d", g, channel)
				}
			}
		})
	}
}

// TestRandomViews: whatever the machine and the settings, paths lead where they
// say, a rank sees itself, and nobody it sees is beyond the network.
func TestRandomViews(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	flag := func() bool { return r.IntN(3) == 0 }
	level := func() *PathType {
		if r.IntN(2) == 0 {
			return nil
		}
		return new(PathType(r.IntN(int(PathSYS) + 1)))
	}
	for range 300 {
		s := randomSystem(t, r, 1+r.IntN(8))
		p := Params{
			Rank: r.IntN(s.NRanks()), NRanks: s.NRanks() * (1 + r.IntN(3)),
			P2PLevel: level(), GDRLevel: level(), GDRRead: GDRRead(r.IntN(3)),
			NoGDRC2C: flag(), NoPXN: flag(), NoPXNC2C: flag(), NoNVB: flag(), NoSHM: flag(), NoIntraNet: flag(),
			NetDevs: NetDevs{All: flag(), Max: r.IntN(3)},
		}
		v, err := s.View(p)
		require.NoError(t, err)
		checkPaths(t, v)
		require.NotNil(t, v.RankGPU(p.Rank))
		require.Equal(t, len(v.Nodes[NodeGPU]) != p.NRanks, v.Inter)
		for i, gpu := range v.Nodes[NodeGPU] {
			require.Same(t, gpu, v.RankGPU(gpu.GPU.Rank))
			for j, other := range v.Nodes[NodeGPU][:i] {
				require.Less(t, gpu.Path(other).Type, PathDIS, "GPUs %d and %d", i, j)
			}
			if p.NoNVB {
				for _, other := range v.Nodes[NodeGPU] {
					require.NotEqual(t, PathNVB, gpu.Path(other).Type)
				}
			}
			for _, net := range v.Nodes[NodeNET] {
				if path := gpu.Path(net); path.Type == PathPXN {
					require.False(t, p.NoPXN)
					require.NotSame(t, gpu, v.proxy(gpu, net))
					require.NotEqual(t, PathPXN, v.proxy(gpu, net).Path(net).Type)
				}
			}
		}
		for _, net := range v.Nodes[NodeNET] {
			require.GreaterOrEqual(t, net.Net.LocalGPU, -1)
			require.Less(t, net.Net.LocalGPU, len(v.Nodes[NodeGPU]))
		}
	}
}
