package detect

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/golden"
	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/internal/testenv"
	"github.com/ncclgo/ncclgo/topo"
)

// inverse is a machine made of a topology file: the sysfs, NVML and CUDA that a
// machine of that description has.
type inverse struct {
	layout
	made    int // bridges that the file does not have
	nets    []*topo.Element
	gpus    []*topo.Element   // by rank
	classes map[string]string // of devices
	kind    string            // what is in the file that no machine of ours can have, "" if nothing
}

func invert(doc *topo.Document) *inverse {
	v := &inverse{layout: layout{files: fstest.MapFS{}, nvml: &nvml.Snapshot{}}, classes: map[string]string{}}
	for _, cpu := range doc.Root.Children {
		v.cpu(cpu)
	}
	v.cuda()
	byName := func(a, b *topo.Element) int { return natural(a.Text("name"), b.Text("name")) }
	slices.SortFunc(v.nets, func(a, b *topo.Element) int { return a.Int("dev", 0) - b.Int("dev", 0) })
	_, verbs := v.files["sys/class/infiniband/"+v.first("name")]
	for _, net := range v.nets {
		if _, rdma := v.files["sys/class/infiniband/"+net.Text("name")]; rdma != verbs {
			v.kind = "sockets beside RDMA devices"
		}
	}
	if verbs && !slices.IsSortedFunc(v.nets, byName) {
		v.kind = "ports in another order than their names'"
	}
	v.src.NVML = v.nvml.Replay()
	v.src.Files = v.files
	return v
}

// first returns an attribute of the first port.
func (v *inverse) first(name string) string {
	if len(v.nets) == 0 {
		return ""
	}
	return v.nets[0].Text(name)
}

// bridge returns an address that the file does not have, below which buses are.
func (v *inverse) bridge() string {
	v.made++
	return fmt.Sprintf("7%03x:%02x:01.0", v.made/256, v.made%256)
}

func (v *inverse) cpu(e *topo.Element) {
	v.src.Arch = map[string]string{"x86_64": "amd64", "arm64": "arm64", "ppc64": "ppc64le"}[e.Text("arch")]
	if v.src.Arch == "amd64" {
		family := e.Int("familyid", 0)
		if family > 15 {
			family = 15 + (family-15)>>4
		}
		v.write("proc/cpuinfo", fmt.Sprintf("vendor_id\t: %s\ncpu family\t: %d\nmodel\t\t: %d\n", e.Text("vendor"), family, e.Int("modelid", 0)))
	}
	if mask, ok := e.Get("affinity"); ok && e.Text("numaid") != numaUnknown {
		v.write("sys/devices/system/node/node"+e.Text("numaid")+"/cpumap", mask+"\n")
	}
	for _, c := range e.Children {
		switch c.Name {
		case topo.ElemPCI:
			root := v.bridge()
			v.pciElement(c, "pci"+root[:7]+"/"+root, e.Text("numaid"))
		case topo.ElemNIC:
			v.nic(c, "virtual")
		}
	}
}

// pciElement lays out a device below a bridge at a path.
func (v *inverse) pciElement(e *topo.Element, above, numa string) {
	bus := e.BusID("busid").String()
	at := above + "/" + bus
	v.classes[bus] = e.Text("class")
	v.link(pciFolder+bus, "../../../devices/"+at)
	attrs := map[string]string{"max_link_speed": e.Text("link_speed"), "max_link_width": e.Text("link_width"), "numa_node": numa}
	for _, name := range append([]string{"class"}, identity...) {
		if text, ok := e.Get(name); ok {
			attrs[name] = text
		}
	}
	for name, text := range attrs {
		v.write("sys/devices/"+at+"/"+name, text+"\n")
	}
	// The port above can as much.
	v.write("sys/devices/"+above+"/max_link_speed", e.Text("link_speed")+"\n")
	v.write("sys/devices/"+above+"/max_link_width", e.Text("link_width")+"\n")
	for _, c := range e.Children {
		switch c.Name {
		case topo.ElemPCI:
			v.pciElement(c, at+"/"+v.bridge(), numa)
		case topo.ElemNIC:
			v.nic(c, at)
		case topo.ElemGPU:
			v.gpu(e, c)
		case topo.ElemPCILink:
			v.write("sys/kernel/pci_switch_link/virtual_switch_links/"+bus+"/"+c.Text("target"), "")
		}
	}
}

// nic lays out the ports of a card: RDMA devices if it is on a bus, unless they have
// as many connections as sockets.
func (v *inverse) nic(e *topo.Element, at string) {
	for _, net := range e.Children {
		v.nets = append(v.nets, net)
		name, mbps := net.Text("name"), net.Int("speed", 0)
		if strings.HasPrefix(name, "virbr") {
			v.kind = "an interface that is left out now"
		}
		if at == "virtual" || net.Text("maxconn") == socketMaxConn {
			v.net(name, at, map[string]string{"operstate": "up", "speed": strconv.Itoa(mbps), "ifindex": strconv.Itoa(net.Int("dev", 0) + 1)})
			continue
		}
		guid := fmt.Sprintf("%016x", net.Hex("guid"))
		var swapped string
		for i := len(guid) - 2; i >= 0; i -= 2 {
			swapped += guid[i : i+2]
		}
		folder := "sys/devices/" + at + "/infiniband/" + name
		v.link(folder+"/device", "../..")
		v.link("sys/class/infiniband/"+name, "/"+folder)
		v.write(folder+"/sys_image_guid", swapped[:4]+":"+swapped[4:8]+":"+swapped[8:12]+":"+swapped[12:])
		v.write(folder+"/ports/1/state", "4: ACTIVE\n")
		v.write(folder+"/ports/1/rate", strconv.FormatFloat(float64(mbps)/1000, 'f', -1, 64)+" Gb/sec (X)\n")
		if net.Int("gdr", 0) == 1 {
			v.write("sys/module/nvidia_peermem/version", "1")
		}
	}
}

// gpu notes a GPU, and lays out where its NVLinks lead.
func (v *inverse) gpu(pci, e *topo.Element) {
	c := e.Clone()
	c.Set("busid", pci.BusID("busid").String())
	v.gpus = append(v.gpus, c)
	for _, l := range e.Children {
		if target := l.BusID("target").String(); l.Name == topo.ElemNVLink && l.Text("target") != hiddenSwitch {
			if _, there := v.files[pciFolder+target]; !there {
				v.write(pciFolder+target+"/class", l.Text("tclass")+"\n")
			}
		}
	}
}

// cuda makes what CUDA and NVML say of the GPUs.
func (v *inverse) cuda() {
	slices.SortFunc(v.gpus, func(a, b *topo.Element) int { return a.Int("rank", 0) - b.Int("rank", 0) })
	v.nvml.Devices = make([]nvml.DeviceSnapshot, len(v.gpus))
	for rank, e := range v.gpus {
		v.src.GPUs = append(v.src.GPUs, GPU{BusID: e.Text("busid"), SM: e.Int("sm", 0), GDR: e.Int("gdr", 0) == 1})
		if e.Int("dev", -1) != rank {
			v.kind = "GPUs in another order than their numbers'"
			continue
		}
		d := nvml.DeviceSnapshot{Device: nvml.Device{Index: rank, BusID: "0000" + e.Text("busid"), SM: e.Int("sm", 0)}, P2P: map[int]nvml.P2P{}}
		var links []nvml.NVLink
		for _, l := range e.Children {
			for range l.Int("count", 0) {
				if l.Name == topo.ElemC2C {
					c2c, _ := d.C2C.Get()
					d.C2C = nvml.Known(nvml.C2C{Links: c2c.Links + 1, MBps: l.Int("bw", 0)})
					continue
				}
				target := l.BusID("target").String()
				if class := v.classes[target]; class != "" && class != l.Text("tclass") {
					v.kind = "NVLinks to " + target + " of another class"
				}
				target = strings.Repeat("0", len("00000000:00:00.0")-len(target)) + target
				if l.Text("target") == hiddenSwitch {
					target = "ffffffff:ff:ff.0"
				}
				links = append(links, nvml.NVLink{Link: len(links), Active: nvml.Known(true), P2P: nvml.Known(true), RemoteBusID: nvml.Known(target)})
			}
		}
		d.NVLinks = nvml.Known(links)
		v.nvml.Devices[rank] = d
	}
}

// spelled brings a document into the form that all machines of it have: numbers that
// files write in several ways, attributes in one order, what sysfs does not have.
func spelled(root *topo.Element) string {
	var form func(*topo.Element)
	form = func(e *topo.Element) {
		for _, name := range []string{"host_hash", "maxconn", "port", "rail", "plane", "latency", "coll"} {
			e.Unset(name)
		}
		for _, name := range []string{"busid", "target"} {
			if e.Has(name) {
				e.Set(name, e.BusID(name).String())
			}
		}
		if e.Text("affinity") == "" {
			e.Unset("affinity")
		}
		if e.Text("vendor") == "AuthenticAMD" {
			e.Unset("familyid") // files that people wrote have Linux's
		}
		for _, name := range []string{"familyid", "modelid", "speed", "link_width"} {
			if e.Has(name) {
				e.Set(name, strconv.Itoa(e.Int(name, 0)))
			}
		}
		if e.Has("guid") {
			e.Set("guid", strconv.FormatUint(e.Hex("guid"), 16))
		}
		slices.SortFunc(e.Attrs, func(a, b topo.Attr) int { return strings.Compare(a.Name, b.Name) })
		for _, c := range e.Children {
			form(c)
		}
	}
	c := root.Clone()
	form(c)
	var b bytes.Buffer
	// A bytes.Buffer takes everything.
	_, _ = (&topo.Document{Root: c}).WriteTo(&b)
	return b.String()
}

// inOrder brings a document into the order of a machine that is looked at: devices by
// address, CPUs as they are come upon, with the first GPU, ports and the other GPUs.
func inOrder(root *topo.Element) {
	var met func(e *topo.Element) int
	met = func(e *topo.Element) int {
		first := 1 << 20
		switch e.Name {
		case topo.ElemGPU:
			if first = e.Int("rank", first); first > 0 {
				first += 1 << 10
			}
		case topo.ElemNet:
			first = 1 + e.Int("dev", first)
		}
		for _, c := range e.Children {
			first = min(first, met(c))
		}
		return first
	}
	slices.SortStableFunc(root.Children, func(a, b *topo.Element) int { return met(a) - met(b) })
	var sort func(e *topo.Element)
	sort = func(e *topo.Element) {
		slices.SortStableFunc(e.Children, func(a, b *topo.Element) int {
			if !a.Has("busid") || !b.Has("busid") {
				return 0
			}
			return strings.Compare(a.BusID("busid").String(), b.BusID("busid").String())
		})
		for _, c := range e.Children {
			sort(c)
		}
	}
	sort(root)
}

// testInverse lays a machine out as a file describes it, and detects it: out comes
// the file.
func testInverse(t *testing.T, name string, data []byte) bool {
	t.Helper()
	doc, err := topo.Parse(name, data)
	require.NoError(t, err)
	doc.Renumber()
	v := invert(doc)
	if v.kind != "" {
		t.Logf("%s: %s", name, v.kind)
		return false
	}
	m, err := Detect(v.src, Config{})
	require.NoError(t, err, name)
	inOrder(doc.Root)
	require.Equal(t, spelled(doc.Fused().Root), spelled(m.Document.Root), name)
	return true
}

func TestMachinesOfFiles(t *testing.T) {
	files, err := filepath.Glob(golden.Path("topo/machines/*.xml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.True(t, testInverse(t, filepath.Base(file), data))
	}
}

// The same with the reference machines, as NCCL wrote them after it had fused the
// views of its ranks.
func TestMachinesOfReference(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testenv.Shared(t, "reference/nccl-2.30.7"), "*.1nodes.topo.xml"))
	require.NoError(t, err)
	n := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		if testInverse(t, filepath.Base(file), data) {
			n++
		}
	}
	t.Logf("%d of %d", n, len(files))
}
