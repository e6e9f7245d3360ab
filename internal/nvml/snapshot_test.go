package nvml

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/testenv"
)

func TestReplay(t *testing.T) {
	for _, m := range testMachines() {
		t.Run(m.name, func(t *testing.T) {
			testAPI(t, m.snapshot, m.snapshot.Replay)
		})
	}
}

// A snapshot that went through a file is the same node.
func TestReplayOfFile(t *testing.T) {
	for _, m := range testMachines() {
		t.Run(m.name, func(t *testing.T) { testFile(t, m.snapshot) })
	}
}

func testFile(t *testing.T, s *Snapshot) {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, s.Write(&file))
	read, err := ReadSnapshot(bytes.NewReader(file.Bytes()))
	require.NoError(t, err, file.String())
	testAPI(t, s, read.Replay)
}

// The reference file was written by other means: upper-case bus ids, no
// version, few facts.
func TestReferenceSnapshot(t *testing.T) {
	f, err := os.Open(testenv.Shared(t, "reference/h200x2/nvml.json"))
	require.NoError(t, err)
	defer f.Close()
	s, err := ReadSnapshot(f)
	require.NoError(t, err)
	require.Len(t, s.Devices, 2)
	d := s.Devices[1]
	require.Equal(t, "00000000:00:07.0", d.Device.BusID)
	require.Equal(t, [4]uint16{0x10de, 0x2335, 0x10de, 0x18bf},
		[4]uint16{d.Device.Vendor, d.Device.Product, d.Device.SubsystemVendor, d.Device.SubsystemProduct})
	require.Equal(t, 90, d.Device.SM)
	require.Equal(t, NoData, d.Device.UUID.Why())
	links, known := d.NVLinks.Get()
	require.True(t, known)
	require.Len(t, links, 18)
	require.Equal(t, Known("ffffffff:ff:ff.0"), links[17].RemoteBusID)
	require.Equal(t, Known(true), links[17].Active)
	require.Equal(t, Known(6), links[17].Version)
	require.Equal(t, status(P2POK, P2POK, P2POK), d.P2P[0])
	require.Equal(t, Known(Fabric{}), d.Fabric)
}

const oneDevice = `{"version": 1, "devices": [{"index": 0, "busId": "0000:1B:00.0", "computeCapability": [8, 9], KEY}]}`

func TestReadSnapshotRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"empty", ``, "it is empty"},
		{"no object", `[]`, "cannot unmarshal"},
		{"cut short", `{"devices": [`, "cut short"},
		{"something after", `{"devices": []} {}`, "follows"},
		{"version", `{"version": 2, "devices": []}`, "version 2 is not supported; this build reads version 1"},
		{"no devices", `{"version": 1}`, `no list "devices"`},
		{"unknown field", `{"devices": [], "gpus": 8}`, `"gpus"`},
		{"index", `{"devices": [{"index": 1, "busId": "0000:00:00.0", "computeCapability": [9, 0]}]}`, "index 1"},
		{"no bus id", `{"devices": [{"index": 0, "computeCapability": [9, 0]}]}`, "busId"},
		{"bus id", `{"devices": [{"index": 0, "busId": "0000:0:00.0", "computeCapability": [9, 0]}]}`, "0000:0:00.0"},
		{"no capability", `{"devices": [{"index": 0, "busId": "0000:00:00.0"}]}`, "computeCapability"},
		{"capability", `{"devices": [{"index": 0, "busId": "0000:00:00.0", "computeCapability": [9, 10]}]}`, "computeCapability"},
		{"twice", `{"devices": [{"index": 0, "busId": "0000:0A:00.0", "computeCapability": [9, 0]}, {"index": 1, "busId": "0000:0a:00.0", "computeCapability": [9, 0]}]}`, "devices 0 and 1"},
		{"reachable", `{"devices": [{"index": 0, "unreachable": "SUCCESS"}]}`, "SUCCESS"},
		{"unreachable with a bus id", `{"devices": [{"index": 0, "unreachable": "UNKNOWN", "busId": "0000:00:00.0"}]}`, "bus id"},
		{"code", strings.Replace(oneDevice, "KEY", `"absent": {"uuid": "SHY"}`, 1), "SHY"},
		{"no reason", strings.Replace(oneDevice, "KEY", `"absent": {"uuid": "SUCCESS"}`, 1), "uuid"},
		{"both", strings.Replace(oneDevice, "KEY", `"uuid": "GPU-1", "absent": {"uuid": "NOT_SUPPORTED"}`, 1), "uuid"},
		{"not a fact", strings.Replace(oneDevice, "KEY", `"absent": {"busId": "NOT_SUPPORTED"}`, 1), "busId"},
		{"flag", strings.Replace(oneDevice, "KEY", `"mig": 2`, 1), "0 or 1"},
		{"word", strings.Replace(oneDevice, "KEY", `"pciSubsystem": "0x123456789"`, 1), "0x123456789"},
		{"link", strings.Replace(oneDevice, "KEY", `"nvlinks": [{"link": 36, "capabilities": {}}]`, 1), "NVLink 36"},
		{"link order", strings.Replace(oneDevice, "KEY", `"nvlinks": [{"link": 1, "capabilities": {}}, {"link": 1, "capabilities": {}}]`, 1), "NVLink 1 stands after NVLink 1"},
		{"remote", strings.Replace(oneDevice, "KEY", `"nvlinks": [{"link": 1, "remotePci": "switch", "capabilities": {}}]`, 1), "switch"},
		{"remote type", strings.Replace(oneDevice, "KEY", `"nvlinks": [{"link": 1, "remoteType": "RemoteType(3)", "capabilities": {}}]`, 1), "RemoteType(3)"},
		{"peer", strings.Replace(oneDevice, "KEY", `"p2p": {"1": {}}`, 1), "p2p"},
		{"itself", strings.Replace(oneDevice, "KEY", `"p2p": {"0": {}}`, 1), "p2p"},
		{"status", strings.Replace(oneDevice, "KEY", `"p2p": {"1": {"read": "MAYBE"}}`, 1), "MAYBE"},
		{"cluster", strings.Replace(oneDevice, "KEY", `"fabric": {"clusterUuid": "00"}`, 1), "clusterUuid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadSnapshot(strings.NewReader(c.text))
			require.ErrorContains(t, err, c.says)
		})
	}
	_, err := ReadSnapshot(strings.NewReader(strings.Replace(oneDevice, "KEY", `"uuid": "GPU-1"`, 1)))
	require.NoError(t, err, "what the cases are made from")
	_, err = ReadSnapshot(spaces{})
	require.ErrorContains(t, err, "larger than 8 MiB")
}

// spaces is an endless file.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func FuzzReadSnapshot(f *testing.F) {
	for _, s := range []*Snapshot{pcieBox(), superchip(), refused()} {
		var b bytes.Buffer
		require.NoError(f, s.Write(&b))
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ReadSnapshot(bytes.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		require.NoError(t, s.Write(&b))
		again, err := ReadSnapshot(&b)
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}
