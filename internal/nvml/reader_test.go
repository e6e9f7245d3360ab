package nvml

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// liar is a library with one GPU whose answers make no sense.
type liar struct {
	library
	devices  int
	busID    string
	pci, cap Code
}

func (l liar) start() Code                   { return Success }
func (l liar) driverVersion() (string, Code) { return "", Success }
func (l liar) nvmlVersion() (string, Code)   { return "", Success }
func (l liar) cudaVersion() (int, Code)      { return -1, Success }
func (l liar) count() (int, Code)            { return l.devices, Success }
func (l liar) handle(int) (handle, Code)     { return liarDevice{liar: l}, Success }

type liarDevice struct {
	handle
	liar
}

func (l liarDevice) pciInfo() (pciInfo, Code)               { return pciInfo{busID: l.busID}, l.pci }
func (l liarDevice) capability() (major, minor int, c Code) { return 9, 0, l.cap }

func TestLyingLibrary(t *testing.T) {
	api, err := start(liar{devices: 1 << 30})
	require.NoError(t, err)
	_, err = Capture(api)
	require.ErrorContains(t, err, "1073741824 devices")

	for _, c := range []struct {
		liar
		want Code
	}{
		{liar{busID: ""}, NoData},
		{liar{busID: "0000:00:00"}, NoData},
		{liar{busID: "\x01000:00:00.0"}, NoData},
		{liar{busID: "0000:00:00.0", pci: GPUIsLost}, GPUIsLost},
		{liar{busID: "0000:00:00.0", cap: Unknown}, Unknown},
	} {
		c.devices = 1
		api, err := start(c.liar)
		require.NoError(t, err)
		_, err = api.Device(0)
		requireCode(t, c.want, err)
		s, err := Capture(api)
		require.NoError(t, err)
		require.Equal(t, []DeviceSnapshot{{Unreachable: c.want}}, s.Devices)
	}
	require.Equal(t, P2PUnknown, p2pStatus(99))
	require.Equal(t, RemoteUnknown, remoteType(0x102))
}

func TestCleanBusID(t *testing.T) {
	for in, want := range map[string]string{
		"0000:1B:00.0": "0000:1b:00.0", "00010000:e1:1f.7": "00010000:e1:1f.7", "FFFFFFFF:FF:FF.0": "ffffffff:ff:ff.0",
		"": "", "000:1b:00.0": "", "000000000:1b:00.0": "", "0000:1b:00:0": "", "0000:1b.00.0": "", "00g0:1b:00.0": "", "0000:1b:00.": "",
		"0000:::00.0": "",
	} {
		got, ok := cleanBusID(in)
		require.Equal(t, want != "", ok, in)
		if ok {
			require.Equal(t, want, got)
		}
	}
}

func TestErrorText(t *testing.T) {
	require.EqualError(t, &Error{"nvmlShutdown", -1, Uninitialized}, "nvml: nvmlShutdown: UNINITIALIZED (1)")
	err := fmt.Errorf("outer: %w", &Error{"nvmlDeviceGetHandleByIndex_v2", 3, NoPermission})
	require.EqualError(t, err, "outer: nvml: nvmlDeviceGetHandleByIndex_v2(device 3): NO_PERMISSION (4): "+
		"this process may not use the GPU; see the permissions of /dev/nvidia* and the container's device list")
	require.False(t, errors.Is(err, ErrNoNVML))
}

func TestFact(t *testing.T) {
	var zero Fact[int]
	require.Equal(t, NoData, zero.Why())
	require.Equal(t, zero, Absent[int](NoData))
	_, known := Absent[int](NotSupported).Get()
	require.False(t, known)
	v, known := Known(0).Get()
	require.True(t, known)
	require.Zero(t, v)
	require.Equal(t, Success, Known(0).Why())
}
