package nvml

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// inChild names the variable that is set in the process that asks the node.
const inChild = "NVML_TEST_IN_CHILD"

// On a node with a driver the adapters agree, and what they say survives a
// file. A process of its own asks: with cgo a process keeps the first library
// that it bound, and here that is the one of another test.
func TestThisNode(t *testing.T) {
	if os.Getenv(inChild) != "" {
		testThisNode(t)
		return
	}
	api, err := open(libraryName, loadDL)
	if errors.Is(err, ErrNoNVML) {
		t.Skipf("skipped: needs an NVIDIA driver: %v", err)
	}
	require.NoError(t, err)
	require.NoError(t, api.Close())
	child := exec.Command(os.Args[0], "-test.run=^TestThisNode$", "-test.v")
	child.Env = append(os.Environ(), inChild+"=1")
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}

func testThisNode(t *testing.T) {
	var all []*Snapshot
	for _, load := range []func(string) (library, error){loadDL, loadLibrary} {
		api, err := open(libraryName, load)
		require.NoError(t, err)
		s, err := Capture(api)
		require.NoError(t, err)
		require.NoError(t, api.Close())
		for i := range s.Devices {
			s.Devices[i].Device.PCIe = Fact[PCIe]{} // changes with the load
		}
		all = append(all, s)
	}
	require.NoError(t, all[0].Write(os.Stdout))
	require.Equal(t, all[0], all[1])
	testFile(t, all[0])
}
