package litmus

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device/ptx"
	"github.com/ncclgo/ncclgo/device/sim"
)

// Every allowed outcome is seen, and no other.
func TestLitmus(t *testing.T) {
	effort := DefaultEffort()
	effort.Least = 60
	if testing.Short() {
		effort.Least = 20
	}
	for _, test := range Tests() {
		for _, c := range test.Cases() {
			t.Run(c.Name+"/"+c.Facts.String(), func(t *testing.T) {
				t.Parallel()
				r, err := c.Explore(t.Context(), effort)
				require.NoError(t, err)
				for _, wrong := range r.Wrong() {
					if wrong.Allowed {
						t.Errorf("%s is allowed and was not seen in %d runs: %s", c.Text(wrong.Outcome), r.Runs, wrong.Why)
						continue
					}
					t.Errorf("%s is forbidden and was seen %d times in %d runs, first with seed %d: %s\n%v",
						c.Text(wrong.Outcome), wrong.Seen, r.Runs, wrong.Seed, wrong.Why, wrong.Fault)
				}
			})
		}
	}
}

// The tables name what exists, and leave no kernel out.
func TestTables(t *testing.T) {
	used := map[string]bool{} // file and kernel
	names := map[string]bool{}
	for _, test := range Tests() {
		require.False(t, names[test.Name], "two tests are called %s", test.Name)
		names[test.Name] = true
		module, err := ptx.Parse(test.File+".ptx", test.Source())
		require.NoError(t, err)
		words := len(test.Final)
		for _, l := range test.Launches {
			require.True(t, slices.ContainsFunc(module.Entries, func(e *ptx.Entry) bool { return e.Name == l.Kernel }), "%s: no kernel %s", test.Name, l.Kernel)
			used[test.File+" "+l.Kernel] = true
			words += l.Words
		}
		require.Len(t, test.Sees, words, test.Name)
		settings := map[sim.Facts]bool{}
		for _, c := range test.Cases() {
			require.False(t, settings[c.Facts], "%s has two rules for %s", c.Name, c.Facts.String())
			settings[c.Facts] = true
			require.NotEmpty(t, c.expected(), c.Name)
			for i := range c.Lines {
				l := &c.Lines[i]
				if isValue(l.Outcome) {
					require.Len(t, strings.Fields(l.Outcome), words, "%s: %s", c.Name, l.Outcome)
				}
				if l.Allowed {
					require.NotContains(t, l.Outcome, "*", "%s: outcomes that are looked for are listed", c.Name)
					require.True(t, slices.ContainsFunc(l.outcomes(), func(o string) bool { return c.judge(o) == l }),
						"%s: lines above leave nothing of %s", c.Name, l.Outcome)
				}
				require.NotEmpty(t, l.Why, c.Name)
			}
		}
	}
	files, err := sources.ReadDir("tests")
	require.NoError(t, err)
	for _, f := range files {
		text, err := sources.ReadFile("tests/" + f.Name())
		require.NoError(t, err)
		module, err := ptx.Parse(f.Name(), text)
		require.NoError(t, err)
		for _, e := range module.Entries {
			require.True(t, used[strings.TrimSuffix(f.Name(), ".ptx")+" "+e.Name], "%s: no test runs %s", f.Name(), e.Name)
		}
	}
}

// A seed gives one run.
func TestRunRepeats(t *testing.T) {
	tests, err := Find("sb")
	require.NoError(t, err)
	c := tests[0].Cases()[0]
	for seed := range uint64(20) {
		first, _, err := c.Run(context.Background(), seed)
		require.NoError(t, err)
		second, _, err := c.Run(context.Background(), seed)
		require.NoError(t, err)
		require.Equal(t, first, second, "seed %d", seed)
	}
}

// A race names both sides.
func TestRunNamesTheRace(t *testing.T) {
	tests, err := Find("mp-plain+relaxed+fence")
	require.NoError(t, err)
	outcome, fault, err := tests[0].Cases()[0].Run(context.Background(), 1)
	require.NoError(t, err)
	require.Equal(t, raced, outcome)
	require.Len(t, fault.Others, 1)
	text := fault.Error()
	for _, side := range []string{"put_plain_relaxed", "st.global.u32 [x], 1", "poll_plain_fence", "ld.global.u32 data, [x]"} {
		require.Contains(t, text, side)
	}
}

// wrongTable is message passing with lines that are not so.
func wrongTable() Case {
	test := &Test{
		Name: "wrong", File: "mp", Sees: seesFlagData, Launches: apart("put_relaxed", "get_relaxed"),
		Rules: always(
			forbid("1 1", "wrong"),
			forbid("9 *", "right: there is no such value"),
			allow("0 0", "right"),
			allow("7 7", "wrong")),
	}
	return test.Cases()[0]
}

// A wrong line is found, and so is an outcome without a line.
func TestExploreFindsWhatIsWrong(t *testing.T) {
	c := wrongTable()
	r, err := c.Explore(t.Context(), Effort{Seed: 5, Least: 20, Most: 300})
	require.NoError(t, err)
	require.Equal(t, 300, r.Runs, "the allowed outcome never comes")
	found := map[string]string{}
	for _, w := range r.Wrong() {
		found[c.Text(w.Outcome)] = w.Why
		if w.Seen > 0 {
			outcome, _, err := c.Run(t.Context(), w.Seed)
			require.NoError(t, err)
			require.Equal(t, w.Outcome, outcome, "the seed repeats it")
		}
	}
	require.Equal(t, map[string]string{
		"flag=1 data=1": "wrong", "flag=7 data=7": "wrong",
		"flag=0 data=1": notInTable, "flag=1 data=0": notInTable,
	}, found)
}

// Exploring stops when all was seen, and no earlier than asked.
func TestExploreEffort(t *testing.T) {
	tests, err := Find("mp-plain+fence+fence")
	require.NoError(t, err)
	c := tests[0].Cases()[0]
	r, err := c.Explore(t.Context(), Effort{Least: 3, Most: 100})
	require.NoError(t, err)
	require.Equal(t, 3, r.Runs)
	require.Empty(t, r.Wrong())

	for _, e := range []Effort{{}, {Least: 5, Most: 4}} {
		_, err := c.Explore(t.Context(), e)
		require.ErrorContains(t, err, "give 1 or more", "%+v", e)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Explore(ended, DefaultEffort())
	require.ErrorIs(t, err, context.Canceled)
}

// Results come in the order of the cases, with the first error behind them.
func TestExploreAll(t *testing.T) {
	var cases []Case
	for _, test := range Tests()[:8] {
		cases = append(cases, test.Cases()...)
	}
	var got []string
	err := ExploreAll(t.Context(), cases, Effort{Least: 5, Most: 5}, func(r *Result) error {
		got = append(got, r.Name)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, got, len(cases))
	for i, c := range cases {
		require.Equal(t, c.Name, got[i])
	}

	enough := fmt.Errorf("enough")
	got = nil
	err = ExploreAll(t.Context(), cases, Effort{Least: 5, Most: 5}, func(r *Result) error {
		got = append(got, r.Name)
		return enough
	})
	require.ErrorIs(t, err, enough)
	require.Len(t, got, 1)
}

func TestFind(t *testing.T) {
	all, err := Find("*")
	require.NoError(t, err)
	require.Equal(t, Tests(), all)
	one, err := Find("iriw+sc+s?")
	require.NoError(t, err)
	require.Len(t, one, 1)
	_, err = Find("iriv*")
	require.ErrorContains(t, err, "iriv*: no litmus test has such a name; there are mp ")
	_, err = Find("[")
	require.ErrorContains(t, err, "a pattern has names, *, ? and [sets]")
}

func BenchmarkRun(b *testing.B) {
	tests, err := Find("mp+fence+fence")
	require.NoError(b, err)
	c := tests[0].Cases()[0]
	for i := 0; b.Loop(); i++ {
		_, _, err := c.Run(b.Context(), uint64(i))
		require.NoError(b, err)
	}
}
