package topo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomSystem returns a machine of n GPUs: sockets, switches in up to two
// levels, NVLinks between some pairs or to a switch.
func randomSystem(t *testing.T, r *rand.Rand, n int) *System {
	arches := []string{`arch="x86_64" vendor="AuthenticAMD"`, `arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"`, `arch="arm64"`}
	speeds := []string{"8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe"}
	sms := []int{70, 80, 86, 90, 100}
	arch := arches[r.IntN(len(arches))]
	sm := sms[r.IntN(len(sms))]
	fabric := r.IntN(4) == 0

	links := make([]strings.Builder, n)
	bus := func(gpu int) string { return fmt.Sprintf("0000:%02x:00.0", 0x80+gpu) }
	for a := range n {
		if fabric {
			fmt.Fprintf(&links[a], `<nvlink target="0:f0:0.0" count="%d" tclass="0x068000"/>`, 1+r.IntN(18))
		}
		for b := range a {
			if !fabric && r.IntN(3) == 0 {
				count := 1 + r.IntN(4)
				fmt.Fprintf(&links[a], `<nvlink target="%s" count="%d" tclass="0x030200"/>`, bus(b), count)
				fmt.Fprintf(&links[b], `<nvlink target="%s" count="%d" tclass="0x030200"/>`, bus(a), count)
			}
		}
	}
	pci := func(bus, class, inner string) string {
		return fmt.Sprintf(`<pci busid="%s" class="%s" link_speed="%s" link_width="16">%s</pci>`, bus, class, speeds[r.IntN(len(speeds))], inner)
	}
	sockets := 1 + r.IntN(2)
	cpus := make([][2]string, sockets) // below the socket, below its switch
	for a := range n {
		gpu := pci(bus(a), "0x030200", fmt.Sprintf(`<gpu dev="%d" sm="%d" rank="%d" gdr="1">%s</gpu>`, a, sm, a, links[a].String()))
		cpus[r.IntN(sockets)][r.IntN(2)] += gpu
	}
	var file strings.Builder
	file.WriteString(`<system version="1">`)
	for s, below := range cpus {
		inner := below[0]
		if below[1] != "" {
			inner += pci(fmt.Sprintf("0000:%02x:00.0", s), "0x060400", below[1])
		}
		fmt.Fprintf(&file, `<cpu numaid="%d" %s>%s</cpu>`, s, arch, inner)
	}
	file.WriteString(`</system>`)
	s, err := parseSystem("random", []byte(file.String()))
	require.NoError(t, err)
	return s
}

// worth returns the worst hop of a ring and what it carries, computed afresh.
func worth(s *System, ranks []int) (PathType, float32) {
	hop, load := PathLOC, map[*Link]int{}
	for i, from := range ranks {
		if len(ranks) == 1 {
			break
		}
		p := s.Path(from, ranks[(i+1)%len(ranks)])
		hop = max(hop, p.Type)
		for _, l := range p.Links {
			load[l]++
		}
	}
	bw := bwLOC
	for l, n := range load {
		bw = min(bw, l.BW/float32(n))
	}
	return hop, bw
}

// permutations calls f with each order of 0 to n-1 that begins with 0.
func permutations(n int, f func([]int)) {
	order := []int{0}
	var extend func()
	extend = func() {
		if len(order) == n {
			f(order)
			return
		}
		for next := range n {
			if !slices.Contains(order, next) {
				order = append(order, next)
				extend()
				order = order[:len(order)-1]
			}
		}
	}
	extend()
}

// checkRings checks what every ring graph must satisfy.
func checkRings(t *testing.T, s *System, g *Graph) {
	require.Equal(t, PatternRing, g.Pattern)
	require.Equal(t, s.NRanks(), g.NRanks)
	require.NotEmpty(t, g.Channels)
	require.LessOrEqual(t, len(g.Channels), maxSearchChannels)
	require.Positive(t, g.BWIntra)
	load, worst := map[*Link]int{}, PathLOC
	for c, ch := range g.Channels {
		ranks := slices.Sorted(slices.Values(ch.Ranks))
		require.Len(t, ranks, s.NRanks())
		for rank := range s.NRanks() {
			require.Equal(t, rank, ranks[rank])
		}
		hop, _ := worth(s, ch.Ranks)
		worst = max(worst, hop)
		for i, from := range ch.Ranks {
			if to := ch.Ranks[(i+1)%len(ch.Ranks)]; to != from {
				for _, l := range s.Path(from, to).Links {
					load[l]++
				}
			}
		}
		require.Equal(t, ch.Ranks, g.Ring(c+len(g.Channels)))
	}
	require.Equal(t, g.TypeIntra, worst)
	for l, n := range load {
		require.LessOrEqual(t, float64(n)*float64(g.BWIntra), float64(l.BW)+0.001*float64(n), "a link carries more than it can")
	}
}

func TestRingAgreesWithBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	seen := map[PathType]int{}
	for range rounds {
		s := randomSystem(t, r, 1+r.IntN(6))
		bestHop, bestBW := PathDIS, float32(0)
		permutations(s.NRanks(), func(ranks []int) {
			if hop, bw := worth(s, ranks); hop < bestHop || hop == bestHop && bw > bestBW {
				bestHop, bestBW = hop, bw
			}
		})
		g, err := SearchRing(s)
		require.NoError(t, err)
		checkRings(t, s, g)
		hop, bw := worth(s, g.Channels[0].Ranks)
		require.Equal(t, bestHop, hop, "%s", s)
		require.InEpsilon(t, bestBW, bw, 1e-5, "%s", s)
		seen[hop]++

		again, err := SearchRing(s)
		require.NoError(t, err)
		require.Equal(t, g, again)
	}
	for _, hop := range []PathType{PathLOC, PathNVL, PathPIX, PathPHB, PathSYS} {
		require.Positive(t, seen[hop], "no case with worst hop %s", hop)
	}
}

func TestRingsOfLargerSystems(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{7, 8, 12, 16, 24} {
		s := randomSystem(t, r, n)
		g, err := SearchRing(s)
		require.NoError(t, err)
		checkRings(t, s, g)
	}
}

// twoGPUs returns a machine of two GPUs, each below its own CPU, with that many
// links to an NVSwitch.
func twoGPUs(t *testing.T, sm, nvlinks int, cpu string) *System {
	var file strings.Builder
	file.WriteString(`<system version="1">`)
	for i := range 2 {
		fmt.Fprintf(&file, `<cpu numaid="%d" arch="x86_64" %s><pci busid="0:%d:0.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="%d" sm="%d" rank="%d" gdr="1">`, i, cpu, i, i, sm, i)
		if nvlinks > 0 {
			fmt.Fprintf(&file, `<nvlink target="0:f0:0.0" count="%d" tclass="0x068000"/>`, nvlinks)
		}
		file.WriteString(`</gpu></pci></cpu>`)
	}
	file.WriteString(`</system>`)
	s, err := parseSystem("two", []byte(file.String()))
	require.NoError(t, err)
	return s
}

// TestChannels: the expected channels and speeds are those of NCCL for links
// that carry that much (NCCL v2.30, graph dumps of such machines).
func TestChannels(t *testing.T) {
	const (
		skylake = `vendor="GenuineIntel" familyid="6" modelid="85"`
		epyc    = `vendor="AuthenticAMD"`
	)
	for _, c := range []struct {
		name        string
		sm, nvlinks int
		cpu         string
		channels    int
		bw          float32
		hop         PathType
	}{
		{"H100", 90, 18, skylake, 12, 30, PathNVL},
		{"H800", 90, 8, skylake, 8, 20, PathNVL},
		{"A100", 80, 12, epyc, 12, 20, PathNVL},
		{"B200", 100, 18, skylake, 16, 45, PathNVL},
		{"A6000 with a bridge", 86, 4, skylake, 2, 20, PathNVL},
		{"between Skylake sockets", 80, 0, skylake, 1, 10, PathSYS},
		{"between EPYC sockets", 89, 0, epyc, 1, 15, PathSYS},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGPUs(t, c.sm, c.nvlinks, c.cpu)
			g, err := SearchRing(s)
			require.NoError(t, err)
			checkRings(t, s, g)
			require.Len(t, g.Channels, c.channels)
			require.Equal(t, c.bw, g.BWIntra)
			require.Equal(t, c.hop, g.TypeIntra)
		})
	}
}

// TestSlowLink: a ring that carries less than any channel speed is one channel
// of what it carries.
func TestSlowLink(t *testing.T) {
	file := strings.Replace(oneGPU, "</cpu>", `<pci busid="0:2:0.0" class="0x030200" link_speed="2.5 GT/s PCIe" link_width="1"><gpu dev="1" sm="90" rank="1" gdr="1"/></pci></cpu>`, 1)
	s, err := parseSystem("slow", []byte(file))
	require.NoError(t, err)
	g, err := SearchRing(s)
	require.NoError(t, err)
	require.Equal(t, "ring: 1 channel of 0.1875 GB/s, PHB\n  channel 0: 0 1\n", g.String())
}

func TestNoRingAcrossHosts(t *testing.T) {
	two := strings.Replace(oneGPU, "</system>", strings.NewReplacer("numaid", `host_hash="0x2" numaid`, `rank="0"`, `rank="1"`).Replace(
		oneGPU[strings.Index(oneGPU, "  <cpu"):]), 1)
	s, err := parseSystem("two", []byte(two))
	require.NoError(t, err)
	require.Len(t, s.Hosts, 2)
	// Both are on one NVLink fabric.
	g, err := SearchRing(s)
	require.NoError(t, err)
	require.Equal(t, PathNVL, g.TypeIntra)

	s, err = parseSystem("two", []byte(strings.ReplaceAll(two, `tclass="0x068000"`, `tclass="0x030200"`)))
	require.NoError(t, err)
	_, err = SearchRing(s)
	require.EqualError(t, err, "two: no path between the GPUs of ranks 0 and 1: a ring needs one host, or one NVLink fabric")
}

func BenchmarkSearchRing(b *testing.B) {
	for _, name := range Builtins() {
		s, err := Builtin(name)
		require.NoError(b, err)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = SearchRing(s)
			}
		})
	}
}
