package planner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/topo"
)

func TestChannelsOfCommunicator(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   int
	}{
		{"twice the graph's", func(*Config) {}, 24},
		{"at most", func(c *Config) { c.Limits.MaxChannels = 5 }, 5},
		{"at least", func(c *Config) { c.Limits.MinChannels = 40 }, 40},
		{"fixed", func(c *Config) { c.Limits.MinChannels, c.Limits.MaxChannels = 3, 3 }, 3},
		{"few SMs", func(c *Config) { c.NumSMs = 10 }, 10},
		{"two CTAs on an SM", func(c *Config) { c.NumSMs, c.CTAsPerSM = 10, 2 }, 20},
		{"ranks share a GPU", func(c *Config) { c.RanksPerGPU = 8 }, 16},
		{"ranks share a GPU in the topology", func(c *Config) { c.Facts.RanksPerGPU = 33 }, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(t, "dgx-h100", 8, firstKernels)
			c.change(cfg)
			require.Equal(t, c.want, model(t, cfg).Channels())
		})
	}
}

func TestRefusedConfigs(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no graph", func(c *Config) { c.Facts.Graphs[topo.GraphRing].Channels = 0 }, "no channel of rings"},
		{"no kernels", func(c *Config) { c.Kernel = nil }, "no kernel lookup"},
		{"no SM", func(c *Config) { c.NumSMs = 0 }, "0 SMs with 1 CTAs each; at least 1 of each is needed, or 0 of both where they are not known"},
		{"channels", func(c *Config) { c.Limits.MinChannels = 65 }, "65 to 64 channels; the first is 1 or more and not above the second"},
		{"threads", func(c *Config) { c.Limits.MaxThreads = 100 }, "100 threads at most; a multiple of 32 from 64 on is allowed"},
		{"slots", func(c *Config) { c.Limits.NumSteps = 0 }, "a FIFO of 0 slots; at least 1 is needed"},
		{"chunk", func(c *Config) { c.Limits.ChunkSteps[coll.Simple] = 9 }, "Simple chunks of 9 slots; 1 to 8 are allowed"},
		{"buffer", func(c *Config) { c.Limits.BufferBytes[coll.LL] = 128 }, "a LL buffer of 128 bytes; a chunk of it must hold 16 bytes of data"},
		{
			"residency", func(c *Config) { c.Limits.MinChannels, c.RanksPerGPU = 17, 8 },
			"17 channels at least, but 132 SMs hold 1 CTAs each of 8 ranks: 16 channels can be resident together; use fewer channels or ranks on a GPU",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(t, "dgx-h100", 8, firstKernels)
			c.change(cfg)
			_, err := New(cfg)
			require.ErrorIs(t, err, result.ErrInvalidArgument)
			require.EqualError(t, err, "plan communicator: "+c.want)
		})
	}
}
