package nvml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/golden"
	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/topo/detect"
)

// describe is what NVML alone makes of a node.
func describe(t *testing.T, api nvml.API) string {
	t.Helper()
	m, err := detect.Detect(detect.Source{NVML: api, Arch: "amd64"}, detect.Config{})
	if err != nil {
		return err.Error() + "\n"
	}
	system, err := m.System()
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString(system.String())
	for _, n := range system.Notes {
		b.WriteString("  " + n.Text + "\n")
	}
	return b.String()
}

// sees holds what an adapter's node is taken for to what a snapshot's is.
func sees(t *testing.T) nvml.Visitor {
	return func(adapter, machine string, api nvml.API, want *nvml.Snapshot) {
		require.Equal(t, describe(t, want.Replay()), describe(t, api), "%s of %s", machine, adapter)
	}
}

// TestTopologies shows what NVML alone makes of the nodes that adapters are tested
// with.
func TestTopologies(t *testing.T) {
	var b strings.Builder
	for _, m := range nvml.Machines() {
		fmt.Fprintf(&b, "%s\n%s\n", m.Name, describe(t, m.Snapshot.Replay()))
	}
	golden.Check(t, "nvml/topologies.txt", []byte(b.String()))
}
