//go:build linux && (amd64 || arm64) && !nodl

package nvml

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/dl"
)

func TestDL(t *testing.T) {
	f := buildFake(t, "full")
	for i, m := range testMachines() {
		t.Run(m.name, func(t *testing.T) {
			f.choose(t, i)
			testAPI(t, m.snapshot, f.opener(t, loadDL))
		})
	}
	t.Run("fails to start", func(t *testing.T) { testStartFails(t, f, loadDL) })
}

// A library with required functions only names GPUs and says of the rest that
// it cannot be asked.
func TestDLOldLibrary(t *testing.T) {
	f := buildFake(t, "old", "-DOLD")
	f.choose(t, 0)
	testOldLibrary(t, f.opener(t, loadDL)())
}

// The structures are as large as nvml.h's.
func TestLayouts(t *testing.T) {
	lib, err := dl.Open(buildFake(t, "full").library())
	require.NoError(t, err)
	var size dl.Proc
	require.NoError(t, lib.Bind([]dl.Symbol{{Name: "fakeSize", Proc: &size}}))
	for i, want := range []uintptr{
		unsafe.Sizeof(cPCIInfo{}), unsafe.Sizeof(cMemory{}), unsafe.Sizeof(cFieldValue{}), unsafe.Sizeof(cFabricInfo{}), unsafe.Sizeof(cFabricInfoV2{}),
	} {
		require.Equal(t, size.Call(uintptr(i)), want, "structure %d", i)
	}
}

func testOldLibrary(t *testing.T, api API) {
	t.Helper()
	defer func() { require.NoError(t, api.Close()) }()
	s, err := Capture(api)
	require.NoError(t, err)
	require.Len(t, s.Devices, 8)
	d := s.Devices[7]
	require.Equal(t, Device{
		Index: 7, BusID: "00000000:91:00.0", Vendor: 0x10de, Product: 0x20b0, SubsystemVendor: 0x10de, SubsystemProduct: 0x1707, SM: 80,
		Name: Absent[string](FunctionNotFound), UUID: Absent[string](FunctionNotFound), MemoryBytes: Absent[uint64](FunctionNotFound),
		MIG: Absent[bool](FunctionNotFound), PCIe: Absent[PCIe](FunctionNotFound), MaxPCIe: Absent[PCIe](FunctionNotFound), NUMANode: Absent[int](FunctionNotFound),
	}, d.Device)
	require.Equal(t, FunctionNotFound, d.NVLinks.Why())
	require.Equal(t, FunctionNotFound, d.C2C.Why())
	require.Equal(t, FunctionNotFound, d.Fabric.Why())
	require.Equal(t, FunctionNotFound, d.P2P[0].Read.Why())
}

func testStartFails(t *testing.T, f fake, load func(string) (library, error)) {
	t.Helper()
	f.choose(t, -int(DriverNotLoaded))
	_, err := open(f.library(), load)
	require.ErrorIs(t, err, ErrNoNVML)
	requireCode(t, DriverNotLoaded, err)
	f.choose(t, -int(LibRMVersionMismatch))
	_, err = open(f.library(), load)
	require.NotErrorIs(t, err, ErrNoNVML)
	requireCode(t, LibRMVersionMismatch, err)
}

// Both ways to load say the same of a library that cannot be used.
func TestNoNVML(t *testing.T) {
	notALibrary := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	require.NoError(t, os.WriteFile(notALibrary, []byte("no library"), 0o644))
	for name, load := range map[string]func(string) (library, error){"dl": loadDL, "build": loadLibrary} {
		t.Run(name, func(t *testing.T) {
			for library, says := range map[string]string{
				"libnvidia-ml-absent.so.1": "libnvidia-ml-absent.so.1",
				notALibrary:                notALibrary,
				"libc.so.6":                "nvmlInit_v2, nvmlShutdown, nvmlDeviceGetCount_v2",
			} {
				_, err := open(library, load)
				require.ErrorIs(t, err, ErrNoNVML)
				require.ErrorContains(t, err, says)
			}
		})
	}
}
