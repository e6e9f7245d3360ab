package detect

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

// twoGPUs is a machine with two GPUs below two root ports, and a network card.
const twoGPUs = `cpu GenuineIntel 6 143
node 0 ffffffff
pci pci0000:15/0000:15:01.0/0000:16:00.0 class=0x030200 vendor=0x10de speed=32.0 width=16 numa=0
pci pci0000:25/0000:25:01.0/0000:26:00.0 class=0x030200 vendor=0x10de speed=32.0 width=16 numa=0
net eth0 pci0000:35/0000:35:01.0/0000:36:00.0 operstate=up speed=25000 ifindex=2
gpu 0000:16:00.0 sm=90 gdr links=18>ffffffff:ff:ff.0
gpu 0000:26:00.0 sm=90 gdr links=18>ffffffff:ff:ff.0
`

// azure is a file like those of virtual machines: switches, and what is below
// them, by address alone. The bus id of GPU 0 is in capitals, a third GPU is not
// of the process.
const azure = `<system version="1">
  <cpu host_hash="0x1" numaid="3" affinity="0000ffff" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:16:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="00FF:16:00.0" class="0x030200" link_speed="16 GT/s" link_width="16">
        <gpu dev="0" sm="80" rank="5"/>
      </pci>
    </pci>
  </cpu>
</system>
`

func documents(t *testing.T, m *Machine) string {
	t.Helper()
	var b bytes.Buffer
	_, err := m.Document.WriteTo(&b)
	require.NoError(t, err)
	for _, n := range m.Document.Notes {
		b.WriteString(n.Text + "\n")
	}
	return b.String()
}

// A file wins over what is found, its gaps are filled, GPUs that it lacks are
// attached and those that the process has not are left out.
func TestFile(t *testing.T) {
	l := parseLayout(t, twoGPUs)
	file, err := topo.Parse("mine.xml", []byte(azure))
	require.NoError(t, err)
	m, err := Detect(l.src, Config{File: file})
	require.NoError(t, err)
	got := documents(t, m)
	for _, want := range []string{
		`<cpu numaid="3" affinity="0000ffff" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49">`,
		`<pci busid="0000:16:00.0" class="0x030200" link_speed="16 GT/s" link_width="16" vendor="0x10de" device="0x2330">`,
		`<gpu dev="0" sm="90" rank="0" gdr="1" mlopart="-1">`,
		`<gpu dev="1" sm="90" rank="1" gdr="1" mlopart="-1">`,
		`<pci busid="0000:26:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">`,
		`assumed: GPU 0000:26:00.0: place where sysfs has it; mine.xml does not have it`,
		`mine.xml: GPU 00ff:16:00.0: rank none; it is not a GPU of this process, so it is left out`,
	} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, `busid="00FF`)
	require.NotContains(t, got, "host_hash")
	system, err := m.System()
	require.NoError(t, err)
	require.Equal(t, 2, system.NRanks())
	require.Equal(t, topo.PathNVL, system.Path(0, 1).Type)

	// The file is as it was.
	var again bytes.Buffer
	_, err = file.WriteTo(&again)
	require.NoError(t, err)
	require.Equal(t, azure, again.String())
}

// What detection wrote is taken as it is, also by other GPUs of that machine.
func TestFileOfDetection(t *testing.T) {
	l := parseLayout(t, twoGPUs)
	m, err := Detect(l.src, Config{})
	require.NoError(t, err)
	var text bytes.Buffer
	_, err = m.Document.WriteTo(&text)
	require.NoError(t, err)
	file, err := topo.Parse("dump.xml", text.Bytes())
	require.NoError(t, err)
	require.Empty(t, file.Notes)
	m, err = Detect(l.src, Config{File: file})
	require.NoError(t, err)
	var again bytes.Buffer
	_, err = m.Document.WriteTo(&again)
	require.NoError(t, err)
	require.Equal(t, text.String(), again.String())

	l.src.GPUs = l.src.GPUs[1:]
	m, err = Detect(l.src, Config{File: file})
	require.NoError(t, err)
	require.Contains(t, documents(t, m), "dump.xml: GPU 0000:16:00.0: rank none;")
	system, err := m.System()
	require.NoError(t, err)
	require.Equal(t, 1, system.NRanks())
	require.Equal(t, "0000:26:00.0", system.RankGPU(0).GPU.BusID.String())

	// Without sysfs its ports stay.
	l.src.Files = nil
	m, err = Detect(l.src, Config{File: file})
	require.NoError(t, err)
	require.Contains(t, documents(t, m), `<net name="eth0" dev="0"`)
}

// The file of a virtual machine counts unless another is named, and does no harm if
// it is none.
func TestVirtualTopology(t *testing.T) {
	l := parseLayout(t, twoGPUs)
	l.link("var/run", "/run")
	l.write("run/nvidia-topologyd/virtualTopology.xml", azure)
	m, err := Detect(l.src, Config{})
	require.NoError(t, err)
	require.Contains(t, documents(t, m), `busid="ffff:ff:01.0"`)
	require.Contains(t, m.Facts, Fact{"machine", "topology", "as the file says, completed", VirtualTopology, ""})
	replays(t, l, m)

	other, err := topo.Parse("mine.xml", []byte(strings.ReplaceAll(azure, "ffff:ff:01.0", "aaaa:aa:01.0")))
	require.NoError(t, err)
	m, err = Detect(l.src, Config{File: other})
	require.NoError(t, err)
	require.Contains(t, documents(t, m), `busid="aaaa:aa:01.0"`)

	l.write("run/nvidia-topologyd/virtualTopology.xml", "<system version=\"1\"><cpu")
	m, err = Detect(l.src, Config{})
	require.NoError(t, err)
	require.Contains(t, documents(t, m), "assumed: machine: topology as sysfs and NVML say; a file of the virtual machine is there but no use, "+VirtualTopology+":1:")
}

// A file that says what cannot be makes an error that names it.
func TestFileThatLies(t *testing.T) {
	for name, text := range map[string]string{
		"no CPU":          `<system version="1"/>`,
		"GPU of two GPUs": strings.ReplaceAll(azure, "00FF:16:00.0", "0000:26:00.0"),
		"GPU below a GPU": `<system version="1"><cpu numaid="0" arch="arm64"><pci busid="0000:16:00.0" class="0x03" link_speed="" link_width="0"><pci busid="0000:26:00.0" class="0x03" link_speed="" link_width="0"/></pci></cpu></system>`,
		"empty elements":  `<system version="1"><cpu numaid="0" arch="x86_64" vendor="Mine"><nic><net name="eth0"/></nic></cpu></system>`,
	} {
		t.Run(name, func(t *testing.T) {
			file, err := topo.Parse("mine.xml", []byte(text))
			require.NoError(t, err)
			m, err := Detect(parseLayout(t, twoGPUs).src, Config{File: file})
			require.NoError(t, err)
			system, err := m.System()
			if err != nil {
				require.ErrorContains(t, err, "mine.xml")
				return
			}
			require.Equal(t, 2, system.NRanks())
		})
	}
}

func TestNetFilter(t *testing.T) {
	names := func(f NetFilter, all ...string) string {
		var list []netInterface
		for _, n := range all {
			list = append(list, netInterface{name: n})
		}
		var left []string
		for _, n := range f.interfaces(list) {
			left = append(left, n.name)
		}
		return strings.Join(left, " ")
	}
	for _, tt := range []struct {
		list, all, want string
	}{
		{"", "lo eth0 docker0", "eth0"},
		{"", "lo docker0 virbr0", "docker0"},
		{"", "lo virbr0", "lo"},
		{"", "virbr0", "virbr0"},
		{"", "eth0 ib0 ib1", "ib0 ib1"},
		{"", "lo", "lo"},
		{"eth", "eth0 eth1 ib0", "eth0 eth1"},
		{"=eth", "eth0 eth", "eth"},
		{"^eth", "eth0 ib0 docker0", "ib0 docker0"},
		{"^=eth1, ib0", "eth1 eth10 ib0", "eth10"},
		{"none", "eth0", ""},
	} {
		require.Equal(t, tt.want, names(NetFilter{Sockets: tt.list}, strings.Fields(tt.all)...), tt.list)
	}
	hca := NetFilter{Verbs: "=mlx5_0:1,mlx5_1"}
	require.True(t, hca.verbs("mlx5_0", "1"))
	require.False(t, hca.verbs("mlx5_0", "2"))
	require.True(t, hca.verbs("mlx5_1", "2"))
	require.False(t, hca.verbs("mlx5_10", "1"))
	require.True(t, NetFilter{Verbs: "^mlx5_3"}.verbs("mlx5_0", "1"))
}

func TestNatural(t *testing.T) {
	require.Negative(t, natural("mlx5_2", "mlx5_10"))
	require.Positive(t, natural("mlx5_10", "mlx5_2"))
	require.Negative(t, natural("ib0", "mlx5_0"))
	require.Negative(t, natural("a", "a0"))
	require.Negative(t, natural("rdmap79s0", "rdmap113s0"))
	require.Negative(t, natural("rdmap79s0", "rdmap79s1"))
	require.Zero(t, natural("a1", "a1"))
}

// The files of a machine may be nil: nothing can be read.
func TestNoFiles(t *testing.T) {
	m, err := Detect(Source{GPUs: []GPU{{BusID: "0000:01:00.0", SM: 70}}}, Config{})
	require.NoError(t, err)
	system, err := m.System()
	require.NoError(t, err)
	require.Equal(t, 1, system.NRanks())
	for _, name := range []string{"NVLinks", "place", "link_speed", "link_width", "ports"} {
		require.True(t, slices.ContainsFunc(m.Facts, func(f Fact) bool { return f.Name == name && f.Assumed() && f.Why != "" }), name)
	}
	_, err = Detect(Source{Files: fstest.MapFS{}}, Config{})
	require.ErrorContains(t, err, "no GPU: nobody asked CUDA")
}

// Once a file says what was assumed, nothing is assumed any more.
func TestFileSettles(t *testing.T) {
	for name, text := range map[string]string{
		"nothing but CUDA": "cuda 0000:16:00.0 sm=90\ncuda 0000:26:00.0 sm=90\nnonvml no NVML\n",
		"nothing but NVML": "nvml 0000:16:00.0 sm=90\nnvml 0000:26:00.0 sm=90\n",
		"network ports":    twoGPUs + "net eth0 virtual operstate=up\n",
		"RDMA devices":     twoGPUs + "ib mlx5_0 pci0000:35/0000:35:00.0/0000:36:00.0 rate=? state=4:_ACTIVE\n",
	} {
		t.Run(name, func(t *testing.T) {
			l := parseLayout(t, text)
			m, err := Detect(l.src, Config{})
			require.NoError(t, err)
			require.Contains(t, documents(t, m), "assumed: ")
			file := m.Document
			file.Name, file.Notes = "settled.xml", nil
			var settle func(e *topo.Element)
			settle = func(e *topo.Element) {
				for _, lacks := range []struct{ elem, attr, value string }{
					{topo.ElemPCI, "link_speed", "32.0 GT/s PCIe"}, {topo.ElemCPU, "affinity", "ff"}, {topo.ElemNet, "guid", "0x7"},
				} {
					if e.Name == lacks.elem && e.Text(lacks.attr) == "" {
						e.Set(lacks.attr, lacks.value)
					}
				}
				if e.Name == topo.ElemGPU && firstChild(e, topo.ElemNVLink) == nil {
					link := &topo.Element{Name: topo.ElemNVLink}
					link.Set("target", "0000:06:00.0")
					link.Set("count", "4")
					link.Set("tclass", classSwitch)
					e.Children = append(e.Children, link)
				}
				for _, c := range e.Children {
					settle(c)
				}
			}
			settle(file.Root)
			m, err = Detect(l.src, Config{File: file})
			require.NoError(t, err)
			for _, f := range m.Facts {
				// Which GPU is which rank is no matter of a file.
				if f.Name != "order of ranks" && f.Subject != "network interfaces" {
					require.False(t, f.Assumed(), "%+v", f)
				}
			}
		})
	}
}

// Ports of a file that are not there take no part, and a note says so.
func TestFileWithOtherPorts(t *testing.T) {
	l := parseLayout(t, twoGPUs+"net eth0 virtual operstate=up speed=1000\n")
	file, err := topo.Parse("other.xml", []byte(`<system version="1"><cpu numaid="0" arch="arm64"><nic>
<net name="eth1" dev="0" speed="1000"/><net name="eth0" dev="1" speed="7000"/></nic></cpu></system>`))
	require.NoError(t, err)
	m, err := Detect(l.src, Config{File: file})
	require.NoError(t, err)
	got := documents(t, m)
	require.Contains(t, got, `<net name="eth0" dev="0" speed="7000"`)
	require.Contains(t, got, "other.xml: port eth1: dev none; it is not a port here, so it is left out")
	for _, f := range m.Facts {
		require.False(t, f.Subject == "port eth0" && f.Name == "speed", "the file says it: %+v", f)
	}
}

// A file that has GPUs below GPUs makes an error of its own.
func TestFileWithGPUsBelowGPUs(t *testing.T) {
	const text = `<system version="1"><cpu numaid="0" arch="arm64"><pci busid="0000:%d6:00.0" class="0x030200" link_speed="" link_width="0">
<pci busid="0000:%d6:00.0" class="0x030200" link_speed="" link_width="0"/></pci></cpu></system>`
	l := parseLayout(t, "gpu 0000:16:00.0 sm=90\ngpu 0000:26:00.0 sm=90\n")
	for _, order := range [][2]int{{1, 2}, {2, 1}} {
		file, err := topo.Parse("nested.xml", fmt.Appendf(nil, text, order[0], order[1]))
		require.NoError(t, err)
		m, err := Detect(l.src, Config{File: file})
		require.NoError(t, err)
		_, err = m.System()
		require.ErrorIs(t, err, result.ErrInvalidArgument)
		require.ErrorContains(t, err, "nested.xml")
	}
}
