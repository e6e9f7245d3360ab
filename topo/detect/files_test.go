package detect

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

// On a disk a file may be anything. Whatever it is, there is a topology, and soon.
func TestHostileDisk(t *testing.T) {
	root := t.TempDir()
	gpu := filepath.Join(root, "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0")
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	write(filepath.Join(gpu, "class"), strings.Repeat("0", 1<<20))
	write(filepath.Join(gpu, "vendor"), "\x00\xff\x1b[2J")
	write(filepath.Join(gpu, "max_link_width"), "")
	require.NoError(t, os.MkdirAll(filepath.Join(gpu, "numa_node"), 0o755))
	require.NoError(t, makePipe(filepath.Join(gpu, "max_link_speed")))
	link := func(name, to string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.Symlink(to, filepath.Join(root, name)))
	}
	link("sys/bus/pci/devices/0000:01:00.0", "../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0")
	link("sys/bus/pci/devices/0000:02:00.0", "0000:02:00.0/0000:02:00.0")
	link("sys/bus/pci/devices/0000:03:00.0", "../../../../../../../../../../etc")
	link("sys/class/net/eth0", "/dev/zero")
	link("proc/cpuinfo", "/nowhere")
	for i := range 2 * maxEntries {
		require.NoError(t, os.WriteFile(filepath.Join(root, "sys/class/net", "x"+string(rune('0'+i%10))+strings.Repeat("y", i%50)), nil, 0o644))
	}
	write(filepath.Join(root, "var/run/nvidia-topologyd/virtualTopology.xml"), strings.Repeat("<system>", 1<<16))
	src := Source{Files: os.DirFS(root), GPUs: []GPU{{BusID: "0000:01:00.0", SM: 90}, {BusID: "0000:02:00.0", SM: 90}, {BusID: "0000:03:00.0", SM: 90}}}

	began := time.Now()
	m, err := Detect(src, Config{})
	require.NoError(t, err)
	require.Less(t, time.Since(began), time.Second)
	system, err := m.System()
	require.NoError(t, err)
	require.Equal(t, 3, system.NRanks())
	var text bytes.Buffer
	_, err = m.Document.WriteTo(&text)
	require.NoError(t, err)
	require.NotContains(t, text.String(), "\x1b")

	c, err := Record(src)
	require.NoError(t, err)
	again, err := Detect(c.Source(), Config{})
	require.NoError(t, err)
	require.Equal(t, anonymous(m), anonymous(again))
}

// Pipes that nobody writes to, where folders and files should be, keep nobody waiting.
func TestPipes(t *testing.T) {
	for _, name := range []string{
		"sys", "sys/bus/pci/devices", "sys/bus/pci/devices/0000:01:00.0", "sys/class/net", "sys/class/infiniband",
		"sys/class/infiniband/mlx5_0/ports", "sys/class/net/eth0", "proc/cpuinfo", "sys/devices/system/node",
		VirtualTopology[1:],
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
			require.NoError(t, makePipe(filepath.Join(root, name)))
			m := soon(t, Source{Files: os.DirFS(root), GPUs: []GPU{{BusID: "0000:01:00.0", SM: 90}}})
			require.NotEmpty(t, m.Document.Notes)
		})
	}
}

// soon detects a machine, within a second.
func soon(t *testing.T, src Source) *Machine {
	t.Helper()
	type found struct {
		*Machine
		err error
	}
	done := make(chan found, 1)
	go func() {
		m, err := Detect(src, Config{})
		done <- found{m, err}
	}()
	select {
	case f := <-done:
		require.NoError(t, f.err)
		return f.Machine
	case <-time.After(time.Second):
		require.FailNow(t, "not within a second")
		return nil
	}
}

// Devices that sysfs has below themselves are below the CPU.
func TestDevicesBelowThemselves(t *testing.T) {
	const a, b, x, y = "0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"
	for name, above := range map[string]map[string]string{
		"itself":     {a: a, b: b},
		"each other": {a: b, b: a},
		"bridges":    {a: x, b: y, x: y, y: x},
	} {
		t.Run(name, func(t *testing.T) {
			l := parseLayout(t, "gpu "+a+" sm=90\ngpu "+b+" sm=90\nnet eth0 virtual operstate=up speed=1000\n")
			for device, parent := range above {
				at := "devices/" + parent + "/0000:00:01.0/" + device
				l.write("sys/"+at+"/class", map[bool]string{true: "0x030200", false: classPCIBridge}[device == a || device == b])
				l.link(pciFolder+device, "../../../"+at)
			}
			m := soon(t, l.src)
			system, err := m.System()
			require.NoError(t, err)
			require.Equal(t, 2, system.NRanks())
			require.Contains(t, documents(t, m), "place below NUMA node -1; it has the device below ")
		})
	}
}

// A device below switches without end has a topology file all the same.
func TestManySwitches(t *testing.T) {
	l := parseLayout(t, "gpu 0000:00:00.0 sm=90\ngpu 0001:00:00.0 sm=90\n")
	for i := range 200 {
		// One of the switches of the first GPU is above the second GPU.
		above := i + 2
		if i == 1 {
			above = 20
		}
		device := fmt.Sprintf("%04x:00:00.0", i)
		at := fmt.Sprintf("devices/%04x:00:00.0/ffff:00:00.0/%s", above, device)
		l.write("sys/"+at+"/class", map[bool]string{true: "0x030200", false: classPCIBridge}[i < 2])
		l.link(pciFolder+device, "../../../"+at)
	}
	m := soon(t, l.src)
	system, err := m.System()
	require.NoError(t, err)
	require.Equal(t, 2, system.NRanks())
	require.Contains(t, documents(t, m), "and more than 32 switches above one another")
	var text bytes.Buffer
	_, err = m.Document.WriteTo(&text)
	require.NoError(t, err)
	_, err = topo.Parse("again", text.Bytes())
	require.NoError(t, err)
}

// What is in files reaches neither terminals nor topology files unless it is what it
// should be, and a note says so.
func TestNonsense(t *testing.T) {
	tests := map[string]struct{ file, text, note string }{
		"class":           {"class", "garbage", `class 0x03; class: "garbage" is no class`},
		"class of NULs":   {"class", "\x00\x00", "class 0x03; class: it holds no line of text"},
		"class of 4 KiB":  {"class", strings.Repeat("0", attrBytes), "class 0x03; class: it holds 4096 bytes or more"},
		"speed":           {"max_link_speed", "banana", `link_speed; sysfs says "banana", so 6 Gbit/s`},
		"speed and more":  {"max_link_speed", "32.0 GT/s <&\"", `link_speed; sysfs says "32.0 GT/s <&\"", so 6 Gbit/s`},
		"speed, negative": {"max_link_speed", "-5 GT/s", `link_speed; sysfs says "-5 GT/s", so 6 Gbit/s`},
		"speed, escape":   {"max_link_speed", "32.0 GT/s\x1b[2J", "link_speed; sysfs tells none, it holds no line of text, so 6 Gbit/s"},
		"width 0":         {"max_link_width", "0", `link_width; sysfs says "0", so 16 lanes`},
		"width, large":    {"max_link_width", "4294967297", `link_width; sysfs says "4294967297", so 16 lanes`},
		"node":            {"numa_node", "9999", "NUMA node 9999; sysfs says so, but has no such node"},
		"node, negative":  {"numa_node", "-7", "NUMA node -1; the kernel does not know it"},
		"node, several":   {"numa_node", "0 1", `NUMA node -1; numa_node: "0 1" is no number`},
		"cores":           {"../../../system/node/node0/cpumap", "0-7", `affinity; its cores are not known, cpumap: "0-7" is no mask`},
		"cores, escape":   {"../../../system/node/node0/cpumap", "ff\x1b[1m", "affinity; its cores are not known, cpumap: it holds no line of text"},
		"vendor, escape":  {"../../../../../proc/cpuinfo", "vendor_id : \x1b[2J\ncpu family : 6\nmodel : 1\n", "GenuineIntel 6 143; /proc/cpuinfo: it names no"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := parseLayout(t, "pci pci0000:00/0000:00:01.0/0000:01:00.0 class=0x030200 numa=0\nnode 0 ff\ngpu 0000:01:00.0 sm=90\n")
			l.write(path.Join("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0", tt.file), tt.text)
			got := documents(t, soon(t, l.src))
			require.Contains(t, got, tt.note)
			require.NotContains(t, got, "\x1b")
			require.NotContains(t, got, "\x00")
		})
	}
}

// dying is NVML of GPUs that go away once they have been named.
type dying struct{ nvml.API }

var errGone = errors.New("gone")

func (dying) NVLinks(int) (nvml.Fact[[]nvml.NVLink], error) {
	return nvml.Fact[[]nvml.NVLink]{}, errGone
}
func (dying) C2C(int) (nvml.Fact[nvml.C2C], error) { return nvml.Fact[nvml.C2C]{}, errGone }
func (dying) Fabric(int) (nvml.Fact[nvml.Fabric], error) {
	return nvml.Fact[nvml.Fabric]{}, errGone
}
func (dying) P2P(int, int) (nvml.P2P, error) { return nvml.P2P{}, errGone }

// mute is NVML that counts no GPUs.
type mute struct{ nvml.API }

func (mute) NumDevices() (int, error) { return 0, errGone }

func TestNVMLThatFails(t *testing.T) {
	l := parseLayout(t, twoGPUs)
	l.src.NVML = dying{l.nvml.Replay()}
	m, err := Detect(l.src, Config{})
	require.NoError(t, err)
	require.Contains(t, documents(t, m), "assumed: GPU 0000:16:00.0, 0000:26:00.0: NVLinks none; NVML tells none, NO_DATA")

	l.src.NVML = mute{}
	m, err = Detect(l.src, Config{})
	require.NoError(t, err)
	require.Contains(t, documents(t, m), "assumed: GPU 0000:16:00.0, 0000:26:00.0: NVLinks none; NVML tells nothing, gone")
	l.src.GPUs = nil
	_, err = Detect(l.src, Config{})
	require.ErrorIs(t, err, result.ErrSystem)
}

// Captures that are none, or hold what none has, are refused.
func TestReadCaptureRefuses(t *testing.T) {
	c, err := Record(parseLayout(t, twoGPUs).src)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, c.Write(&b))
	good := b.String()
	edit := func(old, new string) string {
		require.Contains(t, good, old)
		return strings.Replace(good, old, new, 1)
	}
	var many []string
	for i := range maxNames {
		many = append(many, fmt.Sprintf(`"%d": ""`, i))
	}
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":       {"", "it is empty"},
		"cut short":     {good[:len(good)/2], "it is cut short"},
		"many files":    {edit(`"files": {`, `"files": {`+strings.Join(many, ",")+`,`), "at most 32768 are supported"},
		"large":         {strings.Repeat(" ", maxCapture) + good, "larger than 8 MiB"},
		"XML":           {"<system/>", "invalid character"},
		"other format":  {edit(captureFormat, "a machine"), `it is "a machine"`},
		"other version": {edit(`"version": 1`, `"version": 2`), "version 2;"},
		"other field":   {edit(`"arch"`, `"bogus"`), "bogus"},
		"two":           {good + good, "something follows"},
		"path":          {edit(`"sys/devices/system`, `"/sys/devices/system`), "no path from the root"},
		"deep path":     {edit(`"sys/devices/system`, `"`+strings.Repeat("a/", 100)+`system`), "no path from the root"},
		"NVML":          {edit(`"index": 0`, `"index": 7`), "device 0 has index 7"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadCapture(strings.NewReader(tt.text))
			require.ErrorContains(t, err, tt.want)
			require.ErrorIs(t, err, result.ErrInvalidArgument)
		})
	}
}

// A capture has nothing that tells one machine from another of its kind.
func TestCaptureIsAnonymous(t *testing.T) {
	const secret = "a088:c203:00e3:1234"
	text := `cpu GenuineIntel 6 143
pci pci0000:15/0000:15:01.0/0000:16:00.0 class=0x030200 speed=32.0 width=16 numa=0
net wlxAABBCCDDEEFF virtual operstate=up speed=1000 ifindex=3
net enx0011aabbccdd pci0000:25/0000:25:00.0/0000:26:00.0 operstate=up speed=1000 ifindex=2
ib mlx5_0 pci0000:35/0000:35:00.0/0000:36:00.0 rate=400_Gb/sec state=4:_ACTIVE guid=` + secret + `
ib mlx5_1 pci0000:45/0000:45:00.0/0000:46:00.0 rate=400_Gb/sec state=4:_ACTIVE guid=` + secret + `
ib mlx5_2 pci0000:55/0000:55:00.0/0000:56:00.0 rate=400_Gb/sec state=4:_ACTIVE guid=a088:c203:00e3:5678
gpu 0000:16:00.0 sm=90 uuid=GPU-12345678
`
	l := parseLayout(t, text)
	l.write("proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Secret CPU\nSerial\t: 4711\n")
	l.write(VirtualTopology[1:], `<!-- of Alice --><system version="1"><cpu numaid='0' host_hash='0x12345' arch="arm64"/></system>`)
	l.src.NoCUDA, l.src.GPUs = errors.New("/home/alice/lib/libcuda.so.1: invalid ELF header"), nil
	l.nvml.Devices[0].Fabric = nvml.Known(nvml.Fabric{ClusterUUID: [16]byte{0xab, 0xcd}})
	c, err := Record(l.src)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, c.Write(&b))
	for _, secret := range []string{"aabbccdd", "a088", "12345", "4711", "Secret", "abcd", "GPU-", "lice", "AABBCC"} {
		require.NotContains(t, b.String(), secret)
	}
	m, err := Detect(c.Source(), Config{})
	require.NoError(t, err)
	got := documents(t, m)
	// Equal GUIDs stay equal, others different.
	require.Equal(t, 2, strings.Count(got, `guid="0x200000000000000"`), got)
	m, err = Detect(c.Source(), Config{Nets: NetFilter{NoVerbs: true}})
	require.NoError(t, err)
	require.Contains(t, documents(t, m), `<net name="enx00000000000`)
}

func TestResolve(t *testing.T) {
	l := parseLayout(t, "file a/b/c text\nlink x/up ..\nlink x/a ../a\nlink x/abs /a/b\nlink x/deep a/b\nlink x/out ../../../a\n")
	tree := newTree(l.src.files())
	for name, want := range map[string]string{
		"a/b/c": "a/b/c", "x/a/b/c": "a/b/c", "x/abs/c": "a/b/c", "x/deep/c": "a/b/c", "x/a/../x/a/b": "a/b",
		"x/out/b": "a/b", "x/up/x/up/a": "a", ".": ".",
	} {
		got, err := tree.resolve(name)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	_, err := tree.resolve("a/d")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = tree.resolve(strings.Repeat("a/", 100))
	require.ErrorContains(t, err, "deep")
}
