package planner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
)

// TestParseAlgos reads every form that NCCL's grammar has.
func TestParseAlgos(t *testing.T) {
	all := func(set AlgoSet) (r AlgoRule) {
		for f := range r {
			r[f] = set
		}
		return r
	}
	with := func(r AlgoRule, f coll.Func, set AlgoSet) AlgoRule {
		r[f] = set
		return r
	}
	const every AlgoSet = 1<<coll.NumAlgos - 1
	for text, want := range map[string]AlgoRule{
		"Ring":                   all(Algos(coll.Ring)),
		"ring,TREE":              all(Algos(coll.Ring, coll.Tree)),
		"^nvls":                  all(every &^ Algos(coll.NVLS)),
		" ^ NVLSTree , pat ":     all(every &^ Algos(coll.NVLSTree, coll.PAT)),
		"allreduce:tree":         with(AlgoRule{}, coll.AllReduce, Algos(coll.Tree)),
		"ring;allreduce:^tree":   with(all(Algos(coll.Ring)), coll.AllReduce, every&^Algos(coll.Tree)),
		"allreduce:tree;ring,":   {},
		"ring;AllGather:PAT;":    with(all(Algos(coll.Ring)), coll.AllGather, Algos(coll.PAT)),
		"reduce:pat;reduce:":     {},
		"reduce:pat;Reduce:ring": with(AlgoRule{}, coll.Reduce, Algos(coll.Ring)),
	} {
		got, err := ParseAlgos(text)
		if want == (AlgoRule{}) {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestParseRuleRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"LL,LL129":             `unknown protocol "LL129"; did you mean "LL128"? (allowed: LL LL128 Simple)`,
		"^^LL":                 `unknown protocol "^LL"`,
		"LL;Simple":            `"Simple" has no function in front of it, as every list but the first must: "allreduce:Simple"`,
		"allredcue:LL":         `unknown function "allredcue"; did you mean "AllReduce"?`,
		"sendrecv:LL":          "SendRecv has neither algorithms nor protocols",
		"allreduce:LL:LL":      `unknown protocol "LL:LL"`,
		"^LL,LL128,Simple":     `"^LL,LL128,Simple" leaves nothing to choose from`,
		"LL;allreduce:^":       `"allreduce:^" names nothing`,
		"allreduce:":           `"allreduce:" names nothing`,
		";":                    `";" names nothing`,
		"LL;reduce:,Simple,;^": `"^" names nothing`,
	} {
		_, err := ParseProtos(text)
		require.ErrorContains(t, err, want, text)
	}
}

// FuzzParseRule: whatever the text, no panic, and what is accepted leaves something
// to every function that it speaks of.
func FuzzParseRule(f *testing.F) {
	for _, seed := range []string{"ring", "^LL;allreduce:LL,Simple", ";:,^", "a:b:c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if algos, err := ParseAlgos(text); err == nil {
			require.NotEqual(t, AlgoRule{}, algos)
		}
		if protos, err := ParseProtos(text); err == nil {
			require.NotEqual(t, ProtoRule{}, protos)
		}
	})
}

func TestRefusedSettings(t *testing.T) {
	only := func(algo coll.Algo, proto coll.Proto) (s Settings) {
		for f := range s.Algos {
			s.Algos[f], s.Protos[f] = Algos(algo), Protos(proto)
		}
		return s
	}
	for _, test := range []struct {
		s    Settings
		want string
	}{
		{Settings{Threads: 100}, "plan communicator: NCCL_NTHREADS is 100; a multiple of 32 from 64 to 512 is allowed"},
		{Settings{LL128Threads: 96}, "plan communicator: NCCL_LL128_NTHREADS is 96; a multiple of 32 from 160 to 640 is allowed"},
		{only(coll.NVLS, coll.LL), "plan communicator: NCCL_ALGO leaves NVLS and NCCL_PROTO leaves LL to AllReduce, and no function runs so; allow one more of either"},
	} {
		cfg := config(t, "dgx-h100", 8, allKernels)
		cfg.Settings = test.s
		_, err := New(cfg)
		require.ErrorIs(t, err, result.ErrInvalidArgument)
		require.EqualError(t, err, test.want)
	}
}

// TestRestrictions: whatever is chosen, and whatever changes the algorithm, is of
// what settings and options allow.
func TestRestrictions(t *testing.T) {
	for _, test := range []struct {
		algos, protos string
		want          string // of 1 MiB
	}{
		{"", "", "AllReduce_Sum_f32_TWO_SHOT_SIMPLE"},
		{"^oneshot,twoshot", "", "AllReduce_Sum_f32_RING_LL"},
		{"^oneshot,twoshot", "simple", "AllReduce_Sum_f32_NVLS_SIMPLE"},
		{"ring", "", "AllReduce_Sum_f32_RING_LL"},
		{"ring", "simple", "AllReduce_Sum_f32_RING_SIMPLE"},
		{"ring;allgather:pat", "allreduce:LL128", "AllReduce_Sum_f32_RING_LL128"},
		{"twoshot", "^LL", "AllReduce_Sum_f32_TWO_SHOT_SIMPLE"},
	} {
		cfg := config(t, "dgx-h100", 8, allKernels)
		var err error
		if test.algos != "" {
			cfg.Settings.Algos, err = ParseAlgos(test.algos)
			require.NoError(t, err)
		}
		if test.protos != "" {
			cfg.Settings.Protos, err = ParseProtos(test.protos)
			require.NoError(t, err)
		}
		m := model(t, cfg)
		c, err := m.Choose(sum(1<<18), Options{})
		require.NoError(t, err)
		require.Equal(t, test.want, c.Variant.String(), "%s %s", test.algos, test.protos)
		for bytes := int64(4); bytes < 1<<34; bytes *= 4 {
			c, err := m.Choose(sum(bytes/4), Options{})
			require.NoError(t, err)
			require.True(t, cfg.Settings.Algos[coll.AllReduce].Has(c.Variant.Algo))
			require.True(t, cfg.Settings.Protos[coll.AllReduce].Has(c.Variant.Proto))
		}
	}
}

// TestThreadSettings: NCCL's thread variables are each for their protocols.
func TestThreadSettings(t *testing.T) {
	cfg := config(t, "dgx-h100", 8, allKernels)
	cfg.Settings = Settings{Threads: 128, LL128Threads: 320, Thresholds: &[2][3]int64{{-1, -1, 1}, {2, -1, -1}}}
	m := model(t, cfg)
	for a := range coll.Algo(2) {
		require.Equal(t, []int{128, 320, 128}, []int{m.MaxThreads(a, coll.LL), m.MaxThreads(a, coll.LL128), m.MaxThreads(a, coll.Simple)})
	}
	require.Equal(t, maxThreadsAny, m.MaxThreads(coll.NVLS, coll.Simple))
	require.Equal(t, []int64{8, 8, 1, 2, 8, 64}, []int64{
		m.Threshold(coll.Tree, coll.LL), m.Threshold(coll.Tree, coll.LL128), m.Threshold(coll.Tree, coll.Simple),
		m.Threshold(coll.Ring, coll.LL), m.Threshold(coll.Ring, coll.LL128), m.Threshold(coll.Ring, coll.Simple),
	})
}
