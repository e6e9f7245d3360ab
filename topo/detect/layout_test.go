package detect

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/golden"
	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/topo"
)

// A layout is a machine in a few lines, one thing a line:
//
//	cpu VENDOR FAMILY MODEL                 what /proc/cpuinfo says
//	node N MASK                             a NUMA node
//	pci PATH KEY=VALUE...                   a PCI device and what is above it, unless that is there
//	net NAME PATH KEY=VALUE...              a network interface; its device's path, or virtual
//	ib NAME PATH KEY=VALUE...               an RDMA device with one port
//	file PATH TEXT, link PATH TARGET        anything else
//	deny PATH                               what may not be read
//	gpu BUSID KEY=VALUE...                  a GPU of CUDA's and of NVML's; cuda, nvml: of one of them
//	p2p I J STATUS                          peer access over NVLink and otherwise; OK if nothing is said
//	nonvml TEXT                             NVML tells nothing
//	arch NAME, visible LIST, sockets LIST, hca LIST
//
// In paths the part that all share, pciDDDD:BB, may stand for the root.
type layout struct {
	files  fstest.MapFS
	denied []string
	src    Source
	cfg    Config
	nvml   *nvml.Snapshot
}

// denying are files of which some may not be read.
type denying struct {
	fstest.MapFS
	denied []string
}

func (d denying) check(op, name string) error {
	for _, prefix := range d.denied {
		if name == prefix || strings.HasPrefix(name, prefix+"/") {
			return &fs.PathError{Op: op, Path: name, Err: fs.ErrPermission}
		}
	}
	return nil
}

func (d denying) Open(name string) (fs.File, error) {
	if err := d.check("open", name); err != nil {
		return nil, err
	}
	return d.MapFS.Open(name)
}

func (d denying) Stat(name string) (fs.FileInfo, error) {
	if err := d.check("stat", name); err != nil {
		return nil, err
	}
	return d.MapFS.Stat(name)
}

func (d denying) ReadLink(name string) (string, error) { return d.MapFS.ReadLink(name) }

func parseLayout(t testing.TB, text string) *layout {
	t.Helper()
	l := &layout{files: fstest.MapFS{}, nvml: &nvml.Snapshot{}, src: Source{Arch: "amd64"}}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		require.GreaterOrEqual(t, len(words), 2, "line %q", line)
		l.line(t, words[0], words[1:])
	}
	if l.src.NoNVML == nil {
		l.src.NVML = l.nvml.Replay()
	}
	l.src.Files = denying{l.files, l.denied}
	return l
}

func (l *layout) line(t testing.TB, what string, words []string) {
	t.Helper()
	keys := map[string]string{}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		keys[key] = strings.ReplaceAll(value, "_", " ")
	}
	switch what {
	case "cpu":
		l.write("proc/cpuinfo", fmt.Sprintf("processor\t: 0\nvendor_id\t: %s\ncpu family\t: %s\nmodel\t\t: %s\nmodel name\t: Some CPU\n", words[0], words[1], words[2]))
	case "node":
		l.write("sys/devices/system/node/node"+words[0]+"/cpumap", words[1]+"\n")
	case "pci":
		l.pci(words[0], keys)
	case "net":
		l.net(words[0], words[1], keys)
	case "ib":
		at := "sys/devices/" + words[1] + "/infiniband/" + words[0]
		l.link(at+"/device", "../..")
		l.write(at+"/sys_image_guid", keys["guid"]+"\n")
		l.write(at+"/ports/1/state", keys["state"]+"\n")
		l.write(at+"/ports/1/rate", keys["rate"]+"\n")
		if keys["layer"] != "" {
			l.write(at+"/ports/1/link_layer", keys["layer"]+"\n")
		}
		l.link("sys/class/infiniband/"+words[0], "/"+at)
	case "file":
		l.write(words[0], strings.Join(words[1:], " ")+"\n")
	case "link":
		l.link(words[0], words[1])
	case "deny":
		l.denied = append(l.denied, words[0])
	case "gpu", "cuda", "nvml":
		sm, err := strconv.Atoi(keys["sm"])
		require.NoError(t, err)
		if what != "nvml" {
			_, gdr := keys["gdr"]
			_, dmaBuf := keys["dmabuf"]
			l.src.GPUs = append(l.src.GPUs, GPU{BusID: words[0], SM: sm, GDR: gdr, DMABuf: dmaBuf})
		}
		if what != "cuda" {
			l.manage(t, words[0], sm, keys)
		}
	case "p2p":
		l.peers(t, words)
	case "nonvml":
		l.src.NoNVML = fmt.Errorf("%s", strings.Join(words, " "))
	case "arch":
		l.src.Arch = strings.Trim(words[0], "-")
	case "visible":
		l.cfg.Visible = &words[0]
	case "sockets":
		l.cfg.Nets.Sockets = words[0]
	case "hca":
		l.cfg.Nets.Verbs = words[0]
	default:
		require.Fail(t, "unknown line", "%s %v", what, words)
	}
}

func (l *layout) write(name, text string) {
	l.files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
}

func (l *layout) link(name, to string) {
	l.files[name] = &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
}

// net adds a network interface of the device at a path, or a virtual one.
func (l *layout) net(name, device string, keys map[string]string) {
	at := "sys/devices/virtual/net/" + name
	if device != "virtual" {
		at = "sys/devices/" + device + "/net/" + name
		l.link(at+"/device", "../..")
	}
	for _, key := range []string{"operstate", "speed", "ifindex", "flags"} {
		if keys[key] != "" {
			l.write(at+"/"+key, keys[key]+"\n")
		}
	}
	if keys["master"] != "" {
		l.link(at+"/master", "/sys/class/net/"+keys["master"])
	}
	l.link("sys/class/net/"+name, "/"+at)
}

// pci adds a device and bridges above it that are like it.
func (l *layout) pci(at string, keys map[string]string) {
	folder := "sys/devices/" + at
	l.link(pciFolder+path.Base(at), "../../../devices/"+at)
	names := map[string]string{"speed": "max_link_speed", "width": "max_link_width", "numa": "numa_node"}
	for key, value := range keys {
		name := key
		if names[key] != "" {
			name = names[key]
		}
		if key == "speed" && strings.Trim(value, "0123456789.") == "" {
			value += " GT/s PCIe"
		}
		l.write(folder+"/"+name, value+"\n")
	}
	up := path.Dir(at)
	if _, there := l.files[pciFolder+path.Base(up)]; !there && isAddress(path.Base(up)) {
		bridge := map[string]string{"class": "0x060400"}
		for _, key := range []string{"speed", "width", "numa"} {
			if keys[key] != "" {
				bridge[key] = keys[key]
			}
		}
		l.pci(up, bridge)
	}
}

// manage adds a GPU to NVML's: links=18>0000:05:00.0,2>? of which down=N are down;
// remote=GPU; pcie=5x16; c2c=10x44712; uuid=...; unreachable=NO_PERMISSION.
func (l *layout) manage(t testing.TB, bus string, sm int, keys map[string]string) {
	t.Helper()
	d := nvml.DeviceSnapshot{
		Device:  nvml.Device{Index: len(l.nvml.Devices), BusID: strings.ToLower(bus), SM: sm, Vendor: 0x10de, Product: 0x2330},
		NVLinks: nvml.Known([]nvml.NVLink{}), C2C: nvml.Known(nvml.C2C{}), P2P: map[int]nvml.P2P{},
	}
	ok := nvml.P2P{Read: nvml.Known(nvml.P2POK), Write: nvml.Known(nvml.P2POK), NVLink: nvml.Known(nvml.P2POK)}
	for i := range l.nvml.Devices {
		d.P2P[i] = ok
		l.nvml.Devices[i].P2P[d.Device.Index] = ok
	}
	if code, refused := keys["unreachable"]; refused {
		require.NoError(t, d.Unreachable.UnmarshalText([]byte(strings.ReplaceAll(code, " ", "_"))))
		l.nvml.Devices = append(l.nvml.Devices, d)
		return
	}
	if uuid, known := keys["uuid"]; known {
		d.Device.UUID = nvml.Known(uuid)
	}
	pair := func(key string) (a, b int, ok bool) {
		first, second, ok := strings.Cut(keys[key], "x")
		if ok {
			a, _ = strconv.Atoi(first)
			b, _ = strconv.Atoi(second)
		}
		return a, b, ok
	}
	if generation, width, ok := pair("pcie"); ok {
		d.Device.MaxPCIe = nvml.Known(nvml.PCIe{Generation: generation, Width: width})
	}
	if n, mbps, ok := pair("c2c"); ok {
		d.C2C = nvml.Known(nvml.C2C{Links: n, MBps: mbps})
	}
	down, _ := strconv.Atoi(keys["down"])
	switch text := keys["links"]; text {
	case "":
	case "denied":
		d.NVLinks = nvml.Absent[[]nvml.NVLink](nvml.NoPermission)
	default:
		d.NVLinks = nvml.Known(nvlinks(text, keys["remote"], down))
	}
	l.nvml.Devices = append(l.nvml.Devices, d)
}

// nvlinks returns the links that "18>0000:05:00.0,2>?" says, the last ones down.
func nvlinks(text, remote string, down int) []nvml.NVLink {
	var all []nvml.NVLink
	for group := range strings.SplitSeq(text, ",") {
		number, target, _ := strings.Cut(group, ">")
		n, _ := strconv.Atoi(number)
		for range n {
			link := nvml.NVLink{Link: len(all), Active: nvml.Known(true), P2P: nvml.Known(true), RemoteBusID: nvml.Known(strings.ToLower(target))}
			if target == "?" {
				link.RemoteBusID = nvml.Absent[string](nvml.NoData)
			}
			switch remote {
			case "GPU":
				link.RemoteType = nvml.Known(nvml.RemoteGPU)
			case "SWITCH":
				link.RemoteType = nvml.Known(nvml.RemoteSwitch)
			}
			all = append(all, link)
		}
	}
	for i := len(all) - down; i < len(all); i++ {
		all[i].Active = nvml.Known(false)
	}
	return all
}

func (l *layout) peers(t testing.TB, words []string) {
	t.Helper()
	i, err := strconv.Atoi(words[0])
	require.NoError(t, err)
	j, err := strconv.Atoi(words[1])
	require.NoError(t, err)
	var status nvml.P2PStatus
	require.NoError(t, status.UnmarshalText([]byte(words[2])))
	p := nvml.P2P{Read: nvml.Known(status), Write: nvml.Known(status), NVLink: nvml.Known(status)}
	l.nvml.Devices[i].P2P[j], l.nvml.Devices[j].P2P[i] = p, p
}

// report is what a golden file holds of a machine.
func report(t *testing.T, m *Machine) string {
	t.Helper()
	var b bytes.Buffer
	_, err := m.Document.WriteTo(&b)
	require.NoError(t, err)
	for _, n := range m.Document.Notes {
		b.WriteString(n.Text + "\n")
	}
	system, err := m.System()
	require.NoError(t, err, "%s", b.String())
	layout, err := topo.ConnectHost(system, false)
	require.NoError(t, err)
	fmt.Fprintf(&b, "%s", layout.Graphs(0)[topo.GraphRing])
	return b.String()
}

// Each script of golden/topo/detect is a machine and what is made of it.
func TestLayouts(t *testing.T) {
	scripts, err := filepath.Glob(golden.Path("topo/detect/*.txt"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(scripts), 10)
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".txt")
		t.Run(name, func(t *testing.T) {
			golden.Script(t, "topo/detect/"+name+".txt", func(input string) string {
				l := parseLayout(t, input)
				m, err := Detect(l.src, l.cfg)
				if err != nil {
					return err.Error()
				}
				text := report(t, m)
				replays(t, l, m)
				return text
			})
		})
	}
}

// replays holds a capture of a layout to the same machine, also when it comes from
// a file.
func replays(t *testing.T, l *layout, want *Machine) {
	t.Helper()
	if l.cfg.Visible != nil {
		return // of UUIDs, which a capture does not have
	}
	c, err := Record(l.src)
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, c.Write(&file))
	again, err := ReadCapture(bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	for _, c := range []*Capture{c, again} {
		m, err := Detect(c.Source(), l.cfg)
		require.NoError(t, err)
		require.Equal(t, anonymous(want), anonymous(m))
	}
	var second bytes.Buffer
	require.NoError(t, again.Write(&second))
	require.Equal(t, file.String(), second.String())
}

// anonymous is a document without what a capture has other numbers for.
func anonymous(m *Machine) string {
	var b bytes.Buffer
	root := m.Document.Root.Clone()
	var strip func(*topo.Element)
	strip = func(e *topo.Element) {
		e.Unset("guid")
		slices.Values(e.Children)(func(c *topo.Element) bool { strip(c); return true })
	}
	strip(root)
	// A bytes.Buffer takes everything.
	_, _ = (&topo.Document{Root: root}).WriteTo(&b)
	for _, n := range m.Document.Notes {
		b.WriteString(n.Text + "\n")
	}
	return b.String()
}
