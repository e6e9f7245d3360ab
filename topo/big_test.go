package topo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// manyDevices describes a machine with 8 GPUs and n network cards of one port,
// spread over switches.
func manyDevices(n int) string {
	var b strings.Builder
	b.WriteString(`<system version="1">`)
	for cpu := range 2 {
		fmt.Fprintf(&b, `<cpu numaid="%d" arch="x86_64" vendor="AuthenticAMD">`, cpu)
		for sw := range 4 {
			at := cpu*4 + sw
			fmt.Fprintf(&b, `<pci busid="0000:%02x:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">`, at)
			fmt.Fprintf(&b, `<pci busid="0001:%02x:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="%d" sm="90" rank="%d" gdr="1"><nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000"/></gpu></pci>`, at, at, at)
			for card := range n / 8 {
				fmt.Fprintf(&b, `<pci busid="%04x:%02x:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16"><nic><net name="n%d" dev="%d" speed="100000" gdr="1"/></nic></pci>`, card+2, at, at*n+card, at*(n/8)+card)
			}
			b.WriteString("</pci>")
		}
		b.WriteString("</cpu>")
	}
	b.WriteString("</system>\n")
	return b.String()
}

// TestManyDevices: a file has no limit but those on GPUs and depth.
func TestManyDevices(t *testing.T) {
	s, err := parseSystem("f.xml", []byte(manyDevices(10000)))
	require.NoError(t, err)
	require.Len(t, s.Nodes[NodeNET], 10000)
	v, err := s.View(Params{NRanks: 16})
	require.NoError(t, err)
	for i, gpu := range v.Nodes[NodeGPU] {
		require.Equal(t, PathPIX, gpu.Path(v.LocalNet(gpu, 0)).Type, "GPU %d", i)
	}
}
