package nccl

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/planner"
	"github.com/ncclgo/ncclgo/topo"
)

// variables is an environment for tests.
func variables(pairs ...string) func(string) (string, bool) {
	vars := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

// algosOf and protosOf are rules that say the same of all functions.
func algosOf(algos ...coll.Algo) (r planner.AlgoRule) {
	for f := range r {
		r[f] = planner.Algos(algos...)
	}
	return r
}

func protosOf(protos ...coll.Proto) (r planner.ProtoRule) {
	for f := range r {
		r[f] = planner.Protos(protos...)
	}
	return r
}

func TestEnvironment(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        Config
	}{
		{"NCCL_MIN_CTAS", "4", Config{MinChannels: 4}},
		{"NCCL_MIN_NCHANNELS", "5", Config{MinChannels: 5}},
		{"NCCL_MAX_CTAS", "0x10", Config{MaxChannels: 16}},
		{"NCCL_MAX_NRINGS", "2", Config{MaxChannels: 2}},
		{"NCCL_MAX_CTAS", "", Config{}},
		{"NCCL_NTHREADS", "256", Config{settings: planner.Settings{Threads: 256}}},
		{"NCCL_LL128_NTHREADS", "160", Config{settings: planner.Settings{LL128Threads: 160}}},
		{"NCCL_THREAD_THRESHOLDS", "1 -2 3  4", Config{settings: planner.Settings{Thresholds: &[2][3]int64{{1, -2, 3}, {4, -1, -1}}}}},
		{"NCCL_PAT_ENABLE", "0", Config{settings: planner.Settings{PAT: planner.PATOff}}},
		{"NCCL_PAT_ENABLE", "1", Config{settings: planner.Settings{PAT: planner.PATOn}}},
		{"NCCL_PAT_ENABLE", "2", Config{}},
		{"NCCL_NVLS_ENABLE", "0", Config{settings: planner.Settings{NoNVLS: true}}},
		{"NCCL_NVLS_ENABLE", "1", Config{}},
		{"NCCL_NET_OVERHEAD", "1500", Config{settings: planner.Settings{NetOverhead: new(float32(1.5))}}},
		{"NCCL_LL128_C2C", "0", Config{settings: planner.Settings{NoLL128C2C: true}}},
		{"NCCL_BUFFSIZE", "1048576", Config{BufferBytes: [3]int{coll.Simple: 1 << 20}}},
		{"NCCL_LL_BUFFSIZE", " 65536 ", Config{BufferBytes: [3]int{coll.LL: 1 << 16}}},
		{"NCCL_LL128_BUFFSIZE", "8192", Config{BufferBytes: [3]int{coll.LL128: 8 << 10}}},
		{"NCCLGO_BETTER_CHANNELS", "0", Config{NCCLChannels: true}},
		{"NCCLGO_BETTER_CHANNELS", "1", Config{}},
		{"NCCL_GRAPH_MIXING_SUPPORT", "0", Config{NoGraphMixing: true}},
		{"NCCL_GRAPH_MIXING_SUPPORT", "1", Config{}},
		{"NCCL_ALGO", "Ring", Config{settings: planner.Settings{Algos: algosOf(coll.Ring)}}},
		{"NCCL_PROTO", " ^LL128 ", Config{settings: planner.Settings{Protos: protosOf(coll.LL, coll.Simple)}}},
	} {
		t.Run(test.name+"="+test.value, func(t *testing.T) {
			var got Config
			e := environment{getenv: variables(test.name, test.value)}
			e.apply(&got)
			require.NoError(t, e.err)
			got.Logger = nil
			require.Equal(t, test.want, got)
		})
	}
}

// TestLoadingLine logs that kernels are loaded, but not when it is quick.
func TestLoadingLine(t *testing.T) {
	var log bytes.Buffer
	cfg := Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	l := loading{cfg: &cfg, total: 60, before: 30, said: time.Now()}
	l.progress(1, 30)
	require.Empty(t, log.String())
	l.said = l.said.Add(-2 * loadingLine)
	l.progress(2, 30)
	require.Contains(t, log.String(), `level=INFO msg="loading kernels" subsys=INIT done=32 of=60`)
	log.Reset()
	l.progress(3, 30)
	require.Empty(t, log.String(), "a line a second")
}

func TestEnvironmentRefuses(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"NCCL_MIN_CTAS", "many", "InitAll: NCCL_MIN_CTAS=many: not a whole number"},
		{"NCCL_MAX_CTAS", "65", "InitAll: NCCL_MAX_CTAS=65: allowed are 1 to 64"},
		{"NCCL_NTHREADS", "100", "InitAll: NCCL_NTHREADS=100: not a multiple of 32"},
		{"NCCL_NTHREADS", "1024", "InitAll: NCCL_NTHREADS=1024: allowed are 64 to 512"},
		{"NCCL_LL128_NTHREADS", "128", "InitAll: NCCL_LL128_NTHREADS=128: allowed are 160 to 640"},
		{"NCCL_THREAD_THRESHOLDS", "1 2 many", `InitAll: NCCL_THREAD_THRESHOLDS=1 2 many: "many" is not a whole number of at most 31 bits`},
		{"NCCL_THREAD_THRESHOLDS", "1 2 3 4 5 6 7", "InitAll: NCCL_THREAD_THRESHOLDS=1 2 3 4 5 6 7: 7 numbers; at most 6 are allowed"},
		{"NCCL_BUFFSIZE", "4M", "InitAll: NCCL_BUFFSIZE=4M: not a whole number"},
		{"NCCL_LL128_BUFFSIZE", "1024", "InitAll: NCCL_LL128_BUFFSIZE=1024: allowed are 8192 to 1073741824"},
		{"NCCL_LL128_BUFFSIZE", "9216", "InitAll: NCCL_LL128_BUFFSIZE=9216: not a multiple of 8192"},
		{"NCCL_GRAPH_MIXING_SUPPORT", "2", "InitAll: NCCL_GRAPH_MIXING_SUPPORT=2: allowed are 0 to 1"},
		{"NCCL_ALGO", "rign", `InitAll: NCCL_ALGO=rign: unknown algorithm "rign"; did you mean "Ring"? (allowed: Tree Ring CollNetDirect CollNetChain NVLS NVLSTree PAT OneShot TwoShot)`},
		{"NCCL_ALGO", "allgather:rign", `InitAll: NCCL_ALGO=allgather:rign: unknown algorithm "rign"; did you mean "Ring"? (allowed: Tree Ring CollNetDirect CollNetChain NVLS NVLSTree PAT OneShot TwoShot)`},
		{"NCCL_PROTO", "^LL,LL128,Simple", "InitAll: NCCL_PROTO=^LL,LL128,Simple: \"^LL,LL128,Simple\" leaves nothing to choose from"},
		{"NCCL_PROTO", "allredcue:LL", `InitAll: NCCL_PROTO=allredcue:LL: unknown function "allredcue"; did you mean "AllReduce"? (allowed: Broadcast Reduce AllGather AllGatherV ReduceScatter AllReduce SendRecv)`},
		{"NCCL_ALGO", "ring;tree", `InitAll: NCCL_ALGO=ring;tree: "tree" has no function in front of it, as every list but the first must: "allreduce:tree"`},
		{"NCCL_DEBUG", "LOUD", "InitAll: NCCL_DEBUG=LOUD: allowed are VERSION, WARN, INFO, ABORT and TRACE"},
	} {
		t.Run(test.name+"="+test.value, func(t *testing.T) {
			e := environment{getenv: variables(test.name, test.value)}
			e.apply(&Config{})
			require.ErrorIs(t, e.err, ErrInvalidArgument)
			require.EqualError(t, e.err, test.want)
		})
	}
}

// TestContradictoryChannels: who set each bound is said.
func TestContradictoryChannels(t *testing.T) {
	for _, test := range []struct {
		set  map[string]string
		cfg  Config
		want string
	}{
		{map[string]string{"NCCL_MIN_NCHANNELS": "8", "NCCL_MAX_CTAS": "4"}, Config{}, "InitAll: NCCL_MAX_CTAS=4: less than NCCL_MIN_NCHANNELS, which is 8"},
		{map[string]string{"NCCL_MAX_CTAS": "4"}, Config{MinChannels: 8}, "InitAll: NCCL_MAX_CTAS=4: less than Config.MinChannels, which is 8"},
		{map[string]string{"NCCL_MIN_CTAS": "8"}, Config{MaxChannels: 4}, "InitAll: NCCL_MIN_CTAS=8: more than Config.MaxChannels, which is 4"},
	} {
		e := environment{getenv: func(name string) (string, bool) {
			v, ok := test.set[name]
			return v, ok
		}}
		e.apply(&test.cfg)
		require.EqualError(t, e.err, test.want)
	}
}

// TestDebugLevels checks what NCCL_DEBUG lets through.
func TestDebugLevels(t *testing.T) {
	for value, least := range map[string]slog.Level{
		"version": slog.LevelWarn, "WARN": slog.LevelWarn, "INFO": slog.LevelInfo, "ABORT": slog.LevelInfo, "TRACE": slog.LevelDebug,
	} {
		var cfg Config
		e := environment{getenv: variables("NCCL_DEBUG", value)}
		e.apply(&cfg)
		require.NoError(t, e.err)
		for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn} {
			require.Equal(t, level >= least, cfg.Logger.Enabled(t.Context(), level), "%s %v", value, level)
		}
	}
	given := slog.New(slog.DiscardHandler)
	cfg := Config{Logger: given}
	e := environment{getenv: variables("NCCL_DEBUG", "TRACE")}
	e.apply(&cfg)
	require.Same(t, given, cfg.Logger, "the program's own logger decides")
}

// TestInitLogs checks that a logger hears of the communicator and its rings.
func TestInitLogs(t *testing.T) {
	_, cfg := fakes(t, 2)
	system := *cfg.System
	system.Notes = []topo.Note{{Line: 3, Column: 7, Text: "something odd"}}
	cfg.System = &system
	var log bytes.Buffer
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	comms := mustInit(t, cfg)
	require.Contains(t, log.String(), `msg="communicator made" subsys=INIT ranks=2`)
	require.Contains(t, log.String(), `msg=topology subsys=GRAPH system=dgx-h100 line=3 column=7 note="something odd"`)
	require.Contains(t, log.String(), `msg=ring subsys=GRAPH channel=0 ranks="[0 1]"`)
	require.NoError(t, comms[0].Abort())
	require.Contains(t, log.String(), "level=WARN msg=aborted subsys=COLL")
}
