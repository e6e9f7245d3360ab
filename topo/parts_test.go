package topo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestParts: a GPU in two parts is two GPUs that share its links.
func TestParts(t *testing.T) {
	gpu := func(dev, rank, part, links string) string {
		return `<gpu dev="` + dev + `" sm="100" rank="` + rank + `" gdr="1" mlopart="` + part + `">` + links + `<c2c bw="1000" count="100"/></gpu>`
	}
	nvlink := func(to string) string { return `<nvlink target="` + to + `" count="2" tclass="0x030200"/>` }
	file := `<system version="1"><cpu numaid="0" arch="arm64">
<pci busid="0000:01:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">` +
		gpu("0", "0", "0", nvlink("0000:02:00.0")) + gpu("0", "1", "1", nvlink("0000:02:00.0")) + `</pci>
<pci busid="0000:02:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">` +
		gpu("1", "2", "-1", nvlink("0000:01:00.0")) + `</pci>
</cpu></system>`
	s, err := parseSystem("f.xml", []byte(file))
	require.NoError(t, err)
	require.Empty(t, s.Notes)
	require.Len(t, s.Nodes[NodeDEV], 3)
	first, second, whole := s.Nodes[NodeDEV][0], s.Nodes[NodeDEV][1], s.Nodes[NodeDEV][2]
	require.Equal(t, []uint64{0x1001, 0x1003, 0x2000}, []uint64{first.ID, second.ID, whole.ID})
	require.Equal(t, "GPU 0 part 1", s.short(second))

	// Each part has half of the two links of 40.1 GB/s.
	require.Equal(t, float32(40.1), s.Path(0, 2).BW)
	require.Equal(t, float32(40.1), s.Path(2, 1).BW)
	p := s.Path(0, 1)
	require.Equal(t, Path{Type: PathLOC, BW: 2618}, Path{Type: p.Type, BW: p.BW})
	require.Len(t, p.Links, 3)

	// Both parts reach the CPU through the one bridge, the whole GPU directly.
	require.Len(t, s.Nodes[NodeCXB], 1)
	bridge := s.Nodes[NodeCXB][0]
	for _, dev := range s.Nodes[NodeDEV][:2] {
		require.Same(t, bridge, linkOf(dev, LinkC2C).To)
	}
	require.Equal(t, NodeCPU, linkOf(whole, LinkC2C).To.Type)
	require.Equal(t, float32(100), linkOf(bridge, LinkC2C).BW)

	// A rank's network card has no access to the memory of a part by default.
	withCard := strings.Replace(file, "</cpu>", `<pci busid="0000:03:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16"><nic><net dev="0" speed="400000" gdr="1"/></nic></pci></cpu>`, 1)
	s, err = parseSystem("f.xml", []byte(withCard))
	require.NoError(t, err)
	for allowed, want := range map[bool]bool{false: false, true: true} {
		v, err := s.View(Params{GDRPartitions: allowed})
		require.NoError(t, err)
		net := v.Nodes[NodeNET][0]
		require.Equal(t, want, v.gdr(v.RankGPU(0), net, true))
		require.True(t, v.gdr(v.RankGPU(2), net, true))
	}

	_, err = parseSystem("f.xml", []byte(strings.Replace(file, `mlopart="1"`, `mlopart="2"`, 1)))
	require.ErrorContains(t, err, `<gpu> mlopart="2" is out of range; -1 to 1 is allowed`)
}
