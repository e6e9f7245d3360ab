package planner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/testenv"
	"github.com/ncclgo/ncclgo/topo"
)

// TestChoosingPage: the figures of the worked example of docs/choosing.md are those
// of the model.
func TestChoosingPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testenv.Root(), "docs", "choosing.md"))
	require.NoError(t, err)
	s, err := topo.Builtin("dgx-h100")
	require.NoError(t, err)
	members, err := topo.Members(s, topo.HostParams{Hosts: 2, Search: topo.SearchParams{CrossNIC: topo.CrossNICPairs, NVLS: true}})
	require.NoError(t, err)
	l, err := topo.Connect(members, topo.LayoutParams{})
	require.NoError(t, err)
	m := model(t, &Config{Facts: FactsOf(l), Kernel: allKernels, Limits: DefaultLimits(), AsNCCL: true})

	figures := func(a coll.Algo, p coll.Proto) (latency, bandwidth, time string) {
		return fmt.Sprintf(" = %.1f µs\n", m.Latency(coll.AllReduce, a, p)),
			fmt.Sprintf(" = %.1f GB/s\n", m.Bandwidth(coll.AllReduce, a, p)),
			fmt.Sprintf(" = %.1f µs\n", timeOf(m, coll.AllReduce, a, p, 1<<20))
	}
	for _, w := range []way{{algo: coll.Ring, proto: coll.LL}, {algo: coll.Tree, proto: coll.LL128}} {
		latency, bandwidth, time := figures(w.algo, w.proto)
		for _, figure := range []string{latency, bandwidth, time} {
			require.Contains(t, string(page), figure, "%v %v", w.algo, w.proto)
		}
	}
	c, err := m.Choose(sum(1<<18), Options{})
	require.NoError(t, err)
	require.Contains(t, string(page), fmt.Sprintf("For the example, %d channels of %d threads need 81,920 bytes", c.Channels, c.Threads))
	require.EqualValues(t, 81920, int64(c.Channels*c.Threads)*m.Threshold(coll.Tree, coll.LL128))
	require.Equal(t, m.Channels(), c.Channels)

	alone, err := m.Choose(sum(64<<10/4), Options{})
	require.NoError(t, err)
	require.Equal(t, coll.LL, alone.Variant.Proto)
	group, err := m.ChooseGroup(slices.Repeat([]Call{sum(64 << 10 / 4)}, 8), Options{})
	require.NoError(t, err)
	same, err := m.Choose(sum(512<<10/4), Options{})
	require.NoError(t, err)
	require.Equal(t, coll.LL128, group[0].Choice.Variant.Proto)
	for _, c := range []Choice{alone, same, group[0].Choice} {
		require.Equal(t, coll.Tree, c.Variant.Algo)
	}
	require.Equal(t, same.Variant, group[0].Choice.Variant)
}
