//go:build linux && (amd64 || arm64) && !nodl

package nvml

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/testenv"
)

// fakes is a directory for compiled libraries. They live as long as the process:
// what it bound once stays bound to them.
var fakes string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "nvml")
	if err != nil {
		panic(err)
	}
	fakes = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// fake is the directory of a library compiled from testdata/fake.c, whose nodes
// are testMachines.
type fake struct{ dir string }

// buildFake compiles a library, once. It needs gcc and go-nvml's nvml.h, which
// Go has fetched wherever it built with cgo.
func buildFake(t *testing.T, name string, flags ...string) fake {
	t.Helper()
	f := fake{filepath.Join(fakes, name)}
	if _, err := os.Stat(f.library()); err == nil {
		return f
	}
	gcc := testenv.GCC(t)
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml").Output()
	module := strings.TrimSpace(string(out))
	if err != nil || module == "" {
		testenv.Missing(t, "needs nvml.h (go mod download github.com/NVIDIA/go-nvml)")
	}
	var nodes strings.Builder
	nodes.WriteString("static const node nodes[] = {\n")
	for _, m := range testMachines() {
		writeNode(&nodes, m.snapshot)
	}
	nodes.WriteString("};\n")
	require.NoError(t, os.MkdirAll(f.dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "nodes.inc"), []byte(nodes.String()), 0o644))
	args := append([]string{
		"-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-DNVML_NO_UNVERSIONED_FUNC_DEFS",
		"-I", filepath.Join(module, "pkg", "nvml"), "-I", f.dir, "-DCURRENT=" + strconv.Quote(f.current()), "-o", f.library(), filepath.Join("testdata", "fake.c"),
	}, flags...)
	out, err = exec.Command(gcc, args...).CombinedOutput()
	require.NoError(t, err, "gcc: %s", out)
	return f
}

func (f fake) current() string { return filepath.Join(f.dir, "current") }
func (f fake) library() string { return filepath.Join(f.dir, "libnvidia-ml.so.1") }

// choose makes the library be node i from its next initialization on, or fail
// with a code if i is that code negated.
func (f fake) choose(t *testing.T, i int) {
	t.Helper()
	require.NoError(t, os.WriteFile(f.current(), []byte(strconv.Itoa(i)), 0o644))
}

// opener returns a function that opens the library with an adapter.
func (f fake) opener(t *testing.T, load func(string) (library, error)) func() API {
	return func() API {
		api, err := open(f.library(), load)
		require.NoError(t, err)
		return api
	}
}

// The writers below write a snapshot as C initializers of testdata/fake.c.

func writeNode(b *strings.Builder, s *Snapshot) {
	fmt.Fprintf(b, "{ .driver = %s, .nvml = %s, .cuda = %s, .count = %d, .devices = {\n",
		cString(s.System.Driver), cString(s.System.NVML), cNumber(s.System.CUDA), len(s.Devices))
	for i, d := range s.Devices {
		fmt.Fprintf(b, "[%d] = {\n", i)
		writeDevice(b, d)
		b.WriteString("},\n")
	}
	b.WriteString("} },\n")
}

func writeDevice(b *strings.Builder, d DeviceSnapshot) {
	field := func(format string, args ...any) { fmt.Fprintf(b, "."+format+",\n", args...) }
	field("code = %d", d.Unreachable)
	if d.Unreachable != Success {
		return
	}
	field("busId = { 0, %q }, .identity = 0x%04x%04x, .subsystem = 0x%04x%04x", shouted(d.Device.BusID),
		d.Device.Product, d.Device.Vendor, d.Device.SubsystemProduct, d.Device.SubsystemVendor)
	field("major = { 0, %d }, .minor = { 0, %d }", d.Device.SM/10, d.Device.SM%10)
	field("name = %s, .uuid = %s", cString(d.Device.Name), cString(d.Device.UUID))
	memory, _ := d.Device.MemoryBytes.Get()
	field("memoryCode = %d, .memoryBytes = %dull", d.Device.MemoryBytes.Why(), memory)
	field("mig = %s, .numaNode = %s", cFlag(d.Device.MIG), cNumber(d.Device.NUMANode))
	pcie, _ := d.Device.PCIe.Get()
	field("pcieGeneration = { %d, %d }, .pcieWidth = { %d, %d }", d.Device.PCIe.Why(), pcie.Generation, d.Device.PCIe.Why(), pcie.Width)
	most, _ := d.Device.MaxPCIe.Get()
	field("maxPcieGeneration = { %d, %d }, .maxPcieWidth = { %d, %d }", d.Device.MaxPCIe.Why(), most.Generation, d.Device.MaxPCIe.Why(), most.Width)
	c2c, _ := d.C2C.Get()
	field("c2cLinks = { %d, %d }, .c2cMBps = { 0, %d }", d.C2C.Why(), c2c.Links, c2c.MBps)
	fabric, _ := d.Fabric.Get()
	health, hasHealth := fabric.HealthMask.Get()
	field("fabricCode = %d, .fabricStatus = %d, .fabricState = %d, .fabricClique = %d, .fabricHealth = %d, .fabricOnlyOld = %d",
		d.Fabric.Why(), fabric.Status, fabric.State, fabric.CliqueID, health, map[bool]int{false: 1}[hasHealth])
	field("fabricUuid = { %s }", strings.Trim(strings.ReplaceAll(fmt.Sprint(fabric.ClusterUUID), " ", ", "), "[]"))
	links, known := d.NVLinks.Get()
	if !known {
		field("linksCode = %d", d.NVLinks.Why())
	}
	for _, n := range links {
		field("links[%d] = { .present = 1, .state = %s, .version = %s, .capabilities = { %s, %s, %s, %s }, .remoteType = %s, .remoteBusId = %s }",
			n.Link, cFlag(n.Active), cNumber(n.Version), cFlag(n.P2P), cFlag(n.SysmemAccess), cFlag(n.P2PAtomics), cFlag(n.SysmemAtomics),
			cNumber(n.RemoteType), cBusID(n.RemoteBusID))
	}
	for j, p := range d.P2P {
		field("p2p[%d] = { %s, %s, %s }", j, cNumber(p.Read), cNumber(p.Write), cNumber(p.NVLink))
	}
}

func cNumber[T ~int | ~uint8 | ~uint32](f Fact[T]) string {
	v, _ := f.Get()
	return fmt.Sprintf("{ %d, %d }", f.Why(), uint32(v))
}

func cFlag(f Fact[bool]) string {
	v, _ := f.Get()
	n := 0
	if v {
		n = 1
	}
	return cNumber(Fact[int]{n, f.known, f.why})
}

func cString(f Fact[string]) string {
	v, _ := f.Get()
	return fmt.Sprintf("{ %d, %q }", f.Why(), v)
}

// cBusID is cString for a bus id. One that NVML has no data of is empty.
func cBusID(f Fact[string]) string {
	if f.Why() == NoData {
		return `{ 0, "" }`
	}
	v, _ := f.Get()
	return cString(Fact[string]{shouted(v), f.known, f.why})
}
