package topo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInterCPU: bandwidths between sockets as NCCL v2.30 has them.
func TestInterCPU(t *testing.T) {
	for _, c := range []struct {
		attrs, text string
		bw          float32
	}{
		{`arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="79"`, "x86_64, Intel family 6 model 0x4f", 6},
		{`arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85"`, "x86_64, Intel family 6 model 0x55", 10},
		{`arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"`, "x86_64, Intel family 6 model 0x8f", 22},
		{`arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="0xcf"`, "x86_64, Intel family 6 model 0xcf", 40},
		{`arch="x86_64" vendor="GenuineIntel" familyid="15" modelid="0xcf"`, "x86_64, Intel family 15 model 0xcf", 6},
		{`arch="x86_64" vendor="AuthenticAMD"`, "x86_64, AMD", 16},
		{`arch="x86_64" vendor="CentaurHauls" familyid="7" modelid="59"`, "x86_64, Zhaoxin", 6},
		{`arch="x86_64" vendor="  Shanghai  " familyid="7" modelid="91"`, "x86_64, Zhaoxin", 9},
		{`arch="x86_64" vendor="HygonGenuine"`, "x86_64", 5000},
		{`arch="arm64"`, "arm64", 6},
		{`arch="ppc64"`, "ppc64", 32},
		{`arch="ppc64le"`, "ppc64", 32},
		{`arch="riscv64"`, "unknown", 5000},
	} {
		file := strings.Replace(oneGPU, "</system>", `<cpu numaid="1" `+c.attrs+`><nic><net dev="0"/></nic></cpu></system>`, 1)
		s, err := parseSystem("f.xml", []byte(strings.Replace(file, `arch="arm64"`, c.attrs, 1)))
		require.NoError(t, err)
		for from, cpu := range s.Nodes[NodeCPU] {
			require.Equal(t, c.text, cpu.CPU.String())
			require.Same(t, s.Nodes[NodeCPU][1-from], linkOf(cpu, LinkSYS).To)
			require.Equal(t, c.bw, linkOf(cpu, LinkSYS).BW, c.attrs)
		}
	}
}

// linkOf returns the first link of that type from n, nil if there is none.
func linkOf(n *Node, t LinkType) *Link {
	for i := range n.Links {
		if n.Links[i].Type == t {
			return &n.Links[i]
		}
	}
	return nil
}

func TestPCIBandwidth(t *testing.T) {
	for _, c := range []struct {
		speed string
		width int
		bw    float32
		known bool
	}{
		{"2.5 GT/s PCIe", 1, 0.1875, true},
		{"5.0 GT/s PCIe", 16, 6, true},
		{"8 GT/s", 16, 12, true},
		{"16.0 GT/s PCIe", 8, 12, true},
		{"32.0 GT/s PCIe", 0, 48, true},
		{"64.0 GT/s PCIe", 16, 96, true},
		{"64 GT/s", 16, 12, false},
		{"", 16, 12, false},
	} {
		bw, known := pciBW(c.speed, c.width)
		require.Equal(t, c.bw, bw, c.speed)
		require.Equal(t, c.known, known, c.speed)
	}
}

func TestNVLinkBandwidth(t *testing.T) {
	for sm, bw := range map[int]float32{52: 20, 60: 18, 70: 20, 75: 20, 80: 20, 86: 12, 89: 20, 90: 20.6, 100: 40.1, 120: 40.1} {
		require.Equal(t, bw, nvLinkBW(sm), "sm_%d", sm)
	}
}

// TestLinks: every kind of link, and what is above and below a GPU.
func TestLinks(t *testing.T) {
	const file = `<system version="1">
  <cpu numaid="8" arch="ppc64">
    <pci busid="0001:00:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pcilink target="0002:00:00.0"/>
      <pcilink target="0003:00:00.0"/>
      <pci busid="0001:01:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="70" rank="0" gdr="1">
          <nvlink target="0000:00:00.0" count="3" tclass="0x068001"/>
          <nvlink target="0001:02:00.0" count="2" tclass="0x030200"/>
          <c2c bw="44712" count="5"/>
        </gpu>
      </pci>
      <pci busid="0001:02:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="70" rank="1" gdr="1">
          <nvlink target="0001:01:00.0" count="2" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0001:03:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16">
        <gpu dev="2" sm="70"/>
      </pci>
    </pci>
    <pci busid="0002:00:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0002:01:00.0" class="0x020700" link_speed="8.0 GT/s PCIe" link_width="8">
        <nic>
          <net name="a" dev="0" speed="-1" latency="1.5" guid="0xAb" coll="1" rail="3"/>
          <net name="off" speed="100000"/>
          <net name="device-initiated" dev="1" net="0" gin="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>`
	s, err := parseSystem("f.xml", []byte(file))
	require.NoError(t, err)
	require.Equal(t, []Note{
		{25, 11, "speed of <net> not known: 10000 Mbit/s assumed"},
		{5, 7, "pcilink from 0001:00:00.0 to 0003:00:00.0: not both are switches here, ignored"},
	}, s.Notes)
	require.Equal(t, 2, s.NRanks())

	gpu := s.RankGPU(0).GPU.DEV
	require.Equal(t, float32(60), linkOf(gpu, LinkNVL).BW)
	require.Equal(t, NodeCPU, linkOf(gpu, LinkNVL).To.Type)
	require.Equal(t, float32(223.56), linkOf(gpu, LinkC2C).BW)
	require.Equal(t, float32(12), linkOf(gpu, LinkPCI).BW)
	require.Equal(t, Path{Type: PathNVL, BW: 40}, Path{Type: s.Path(0, 1).Type, BW: s.Path(0, 1).BW})
	require.Equal(t, s.Nodes[NodePCI][1], linkOf(s.Nodes[NodePCI][0], LinkLOC).To)

	require.Len(t, s.Nodes[NodeNET], 1)
	net := s.Nodes[NodeNET][0].Net
	require.Equal(t, &Net{
		Name: "a", GUID: 0xab, Card: 0x201000, BW: 1.25, Latency: 1.5, Coll: true, MaxConn: 64, Rail: 3, Plane: -1,
	}, net)

	require.Equal(t, `f.xml: 2 GPUs, 1 CPU, 1 network port
  CPU 8 (ppc64)  C2C 223.6 -> GPU 0  NVL 60 -> GPU 0
    PCI 0001:00:00.0  [PCI 24]
      GPU 0 sm_70 0001:01:00.0, rank 0  [PCI 12]  C2C 223.6 -> CPU 8  NVL 60 -> CPU 8  NVL 40 -> GPU 1
      GPU 1 sm_70 0001:02:00.0, rank 1  [PCI 12]  NVL 40 -> GPU 0
    PCI 0002:00:00.0  [PCI 24]
      NIC 0002:01:00.0  [PCI 6]
        NET 0 a  [NET 1.25]
`, s.String())
}

// TestFlattenSwitch: both levels of a Broadcom switch are one node.
func TestFlattenSwitch(t *testing.T) {
	file := func(device string) string {
		sw := func(bus, sub, inner string) string {
			return fmt.Sprintf(`<pci busid="%s" class="0x060400" vendor="0x1000" device="%s" subsystem_vendor="0x1000" subsystem_device="%s" link_speed="16.0 GT/s PCIe" link_width="16">%s</pci>`, bus, device, sub, inner)
		}
		gpu := func(i int) string {
			return fmt.Sprintf(`<pci busid="0:%d:0.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="%d" sm="80" rank="%d" gdr="1"/></pci>`, i, i, i)
		}
		return `<system version="1"><cpu numaid="0" arch="arm64">` +
			sw("0:a:0.0", "0xa096", sw("0:b:0.0", "0xa096", gpu(0))+sw("0:c:0.0", "0xa096", gpu(1))) + `</cpu></system>`
	}
	for device, want := range map[string]struct {
		switches int
		path     PathType
	}{"0xc010": {1, PathPIX}, "0x8724": {3, PathPXB}} {
		s, err := parseSystem("f.xml", []byte(file(device)))
		require.NoError(t, err)
		require.Len(t, s.Nodes[NodePCI], want.switches, device)
		require.Equal(t, want.path, s.Path(0, 1).Type, device)
	}
}

func TestPathTypes(t *testing.T) {
	for p := range PathType(NumPathTypes) {
		got, err := ParsePathType(p.String())
		require.NoError(t, err)
		require.Equal(t, p, got)
	}
	_, err := ParsePathType("nvl")
	require.EqualError(t, err, `unknown path type "nvl" (allowed: LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS NET DIS)`)
}

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
	ports := 10000
	if testing.Short() {
		ports = 1000
	}
	s, err := parseSystem("f.xml", []byte(manyDevices(ports)))
	require.NoError(t, err)
	require.Len(t, s.Nodes[NodeNET], ports)
	v, err := s.View(Params{NRanks: 16})
	require.NoError(t, err)
	local := newLocality(v)
	for i, gpu := range v.Nodes[NodeGPU] {
		require.Equal(t, PathPIX, gpu.Path(local.net(gpu, 0)).Type, "GPU %d", i)
	}
}
