package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
)

// TestExplainedIsRun compares what explain says of machines, settings and sizes with
// the kernels that all-reduce then launches on the PTX machine.
func TestExplainedIsRun(t *testing.T) {
	compared := 0
	protos := map[string]bool{}
	for _, machine := range []struct {
		topology string
		gpus     []int
		most     string
		ll128    string // a setting
	}{
		{"dgx-h100", []int{2, 8}, "64K", "NCCL_PROTO=LL128"},
		{"h200x2", []int{2}, "256K", "NCCL_PROTO=LL128"},
		{"pcie8", []int{4}, "64K", "NCCL_PROTO=LL128,Simple"},
	} {
		for _, setting := range []string{
			"", machine.ll128, "NCCL_PROTO=Simple", "NCCL_PROTO=^LL", "NCCL_PROTO=LL128;allreduce:LL,Simple", "NCCL_ALGO=allreduce:ring",
			"NCCL_MAX_CTAS=3", "NCCL_MIN_CTAS=4", "NCCL_NTHREADS=128", "NCCL_BUFFSIZE=65536", "NCCL_LL_BUFFSIZE=16384",
		} {
			for _, gpus := range machine.gpus {
				if testing.Short() && gpus != machine.gpus[0] {
					continue
				}
				at := fmt.Sprintf("%d GPUs of %s, %s", gpus, machine.topology, setting)
				p := &Process{Args: strings.Fields(fmt.Sprintf(
					"all-reduce --device sim --topo %s -g %d -b 4 -e %s -f 16 -c 0 --json", machine.topology, gpus, machine.most))}
				var run, explained, said bytes.Buffer
				p.Stdout, p.Stderr = &run, &said
				if setting != "" {
					p.Environ = []string{setting}
				}
				require.Equal(t, StatusRight, Main(t.Context(), p), "%s: %s", at, &said)
				var d report.Document
				require.NoError(t, json.Unmarshal(run.Bytes(), &d), at)

				var sizes []string
				for _, r := range d.Results {
					sizes = append(sizes, fmt.Sprint(r.Size))
				}
				args := []string{"explain", "--topo", machine.topology, "--gpus", fmt.Sprint(gpus), "--sizes", strings.Join(sizes, ","), "--plan", "--json"}
				if setting != "" {
					args = append(args, "--set", setting)
				}
				require.Equal(t, StatusRight, Main(t.Context(), &Process{Args: args, Stdout: &explained, Stderr: &said}), "%s: %s", at, &said)
				all, err := report.DecodeExplain(&explained)
				require.NoError(t, err, at)
				require.Len(t, all, len(d.Results), at)
				for i, r := range d.Results {
					e := all[i]
					require.Equal(t, &report.Decision{Algo: e.Algo, Proto: e.Proto, Channels: len(e.Plan), Kernel: e.Kernel}, r.Decision, "%s: %d bytes", at, r.Size)
					protos[e.Proto] = true
					compared++
				}
			}
		}
	}
	if !testing.Short() {
		require.Len(t, protos, 3, "every protocol was chosen somewhere")
	}
	t.Logf("%d sizes compared", compared)
}
