package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGraphFabric: hosts that NVLink joins are one node, and others are not.
func TestGraphFabric(t *testing.T) {
	for enable, nodes := range map[string]int{"0": 2, "1": 1} {
		status, stdout, stderr := command("graph", "--topo", "dgx-h100", "--nodes", "2", "--set", "NCCL_MNNVL_ENABLE="+enable, "--format", "json")
		require.Equal(t, StatusRight, status, stderr)
		var got struct {
			Hosts int `json:"nNodes"`
			Nodes int `json:"nvlDomains"`
			Ranks int `json:"nRanks"`
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &got))
		require.Equal(t, 2, got.Hosts)
		require.Equal(t, nodes, got.Nodes)
		require.Equal(t, 16, got.Ranks)
	}
	status, _, stderr := command("graph", "--topo", "pcie8", "--nodes", "2", "--set", "NCCL_MNNVL_ENABLE=1")
	require.Equal(t, StatusRefused, status)
	require.Equal(t, "nccl-run: --set NCCL_MNNVL_ENABLE: topology: pcie8 has no NVSwitch; hosts are joined by theirs\n", stderr)
}
