package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	ptxtext "github.com/ncclgo/ncclgo/device/ptx"
	"github.com/ncclgo/ncclgo/gen"
	"github.com/ncclgo/ncclgo/internal/golden"
	"github.com/ncclgo/ncclgo/internal/testenv"
	"github.com/ncclgo/ncclgo/runtime/internal/cluster"
)

// mutantRuns is within how many runs a planted fault must show.
const mutantRuns = 200

// variant returns the kernel that carries a protocol's faults: sums of integers,
// in which nothing rounds.
func (f *fault) variant() coll.Variant {
	return coll.Variant{Func: coll.AllReduce, Op: coll.Sum, Type: coll.Uint32, Algo: coll.Ring, Proto: f.proto}
}

func (f *fault) String() string { return f.proto.Symbol() + "_" + f.what }

// file returns the name of the mutant's golden file.
func (f *fault) file() string { return "mutants/" + f.String() + ".ptx" }

// kernel returns the mutant, as the golden file has it.
func (f *fault) kernel(t testing.TB) *Kernel {
	text, err := os.ReadFile(golden.Path(f.file()))
	require.NoError(t, err, "make golden compiles it")
	return &Kernel{f.name(), f.variant(), gen.Targets[0].SM, text}
}

// name is what replays call the mutant.
func (f *fault) name() string { return "mutant:" + f.String() }

// runs returns what a mutant runs until it is caught: cases in which ranks meet
// and that take little, every fourth of them a long ring, and all again with
// other seeds.
func (f *fault) runs() (runs []Run) {
	var short, long []Run
	for i, c := range Cases(f.variant()) {
		switch {
		case c.Late:
			long = append(long, Run{Index: i, Case: c, Mode: Weak})
		case c.Ranks > 1 && c.work() > 0 && c.work() <= shareWork:
			short = append(short, Run{Index: i, Case: c, Mode: Weak})
		}
	}
	for i := range mutantRuns {
		list, at := short, i-i/4
		if i%4 == 3 {
			list, at = long, i/4
		}
		r := list[at%len(list)]
		r.Seed = uint64(at / len(list))
		runs = append(runs, r)
	}
	return runs
}

// caught runs a mutant until something shows, and returns how many runs it took,
// and what shows.
func (f *fault) caught(t testing.TB) (int, error) {
	k := f.kernel(t)
	for i, r := range f.runs() {
		r.Kernel = k
		if _, err := r.Do(); err != nil {
			return i + 1, err
		}
	}
	return mutantRuns, nil
}

// how says in a word or two how an error shows a fault.
func how(err error) string {
	var fault *device.Fault
	var mismatch *cluster.Mismatch
	switch {
	case errors.As(err, &mismatch):
		return "wrong " + string(mismatch.What)
	case errors.As(err, &fault):
		return string(fault.Kind)
	}
	return err.Error()
}

// Every planted fault shows, those of Simple mostly as races in the first run, and
// the kernels as they are pass the same runs.
func TestMutants(t *testing.T) {
	type catch struct {
		err  error
		runs int
	}
	catches := make([]catch, len(plantedFaults))
	kernels, err := Kernels()
	require.NoError(t, err)
	var faults sync.WaitGroup
	slots := make(chan bool, runtime.GOMAXPROCS(0))
	for i := range plantedFaults {
		if testing.Short() && i%shortPart != 0 {
			continue
		}
		faults.Go(func() {
			slots <- true
			defer func() { <-slots }()
			catches[i].runs, catches[i].err = plantedFaults[i].caught(t)
		})
	}
	faults.Wait()

	var table strings.Builder
	fmt.Fprintf(&table, "%-32s %4s  %-14s %s\n", "mutant", "runs", "shows as", "fault")
	most := map[coll.Proto]int{}
	races := 0
	for i, c := range catches {
		f := &plantedFaults[i]
		if c.runs == 0 {
			continue
		}
		if c.err == nil {
			t.Errorf("%v: nothing shows in %d runs, and %s", f, c.runs, f.why)
			continue
		}
		fmt.Fprintf(&table, "%-32v %4d  %-14s %s\n", f, c.runs, how(c.err), f.why)
		most[f.proto] = max(most[f.proto], c.runs)
		if f.proto == coll.Simple && c.runs == 1 && how(c.err) == string(device.Race) {
			races++
		}
	}
	t.Log("\n" + table.String())
	if !testing.Short() {
		require.GreaterOrEqual(t, 2*races, numFaults(coll.Simple), "at least half of Simple's faults are races in the first run")
	}

	var runs []Run
	for proto, n := range most {
		if *proveAll {
			n = mutantRuns
		}
		f := fault{proto: proto}
		k := kernelOf(t, kernels, f.variant())
		for _, r := range f.runs()[:n] {
			r.Kernel = k
			runs = append(runs, r)
		}
	}
	all := doAll(runs)
	for _, err := range all.failures {
		t.Error(err)
	}
	t.Logf("without a fault: %d runs, %d failed", len(runs), len(all.failures))
}

// numFaults returns how many faults a protocol has.
func numFaults(proto coll.Proto) (n int) {
	for i := range plantedFaults {
		if plantedFaults[i].proto == proto {
			n++
		}
	}
	return n
}

// At least six faults for each protocol.
func TestEnoughFaults(t *testing.T) {
	names := map[string]bool{}
	for proto := range coll.Proto(coll.NumProtos) {
		require.GreaterOrEqual(t, numFaults(proto), 6, "%v", proto)
	}
	for i := range plantedFaults {
		names[plantedFaults[i].String()] = true
	}
	require.Len(t, names, len(plantedFaults))
}

func kernelOf(t *testing.T, kernels []Kernel, v coll.Variant) *Kernel {
	for i := range kernels {
		if kernels[i].Variant == v {
			return &kernels[i]
		}
	}
	require.FailNow(t, "not built", "%v", v)
	return nil
}

// What mutants are stored without: comments, and lines with nothing else.
var (
	comments   = regexp.MustCompile(`(?m)[ \t]*//.*$`)
	blankLines = regexp.MustCompile(`\n\s*\n+`)
)

// compile makes a mutant from the headers as they are.
func (f *fault) compile(t testing.TB) []byte {
	root := t.TempDir()
	copied := map[string]bool{}
	for _, pattern := range []string{"templates/cuda/*.cuh", "templates/cuda/*.tmpl", "internal/abi/*.go"} {
		files, err := filepath.Glob(filepath.Join(testenv.Root(), pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			copied[filepath.Base(file)] = true
			to := filepath.Join(root, filepath.Dir(pattern), filepath.Base(file))
			require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
			require.NoError(t, os.WriteFile(to, f.edit(t, filepath.Base(file), text), 0o644))
		}
	}
	for _, e := range f.edits {
		require.True(t, copied[e.file], "%v: there is no header %s", f, e.file)
	}
	shown, err := gen.Show(context.Background(), gen.Options{Root: root, Compiler: "clang", Workers: 1}, f.variant())
	require.NoError(t, err)
	text := comments.ReplaceAllString(string(shown.PTX), "")
	return []byte(strings.TrimLeft(blankLines.ReplaceAllString(text, "\n"), "\n"))
}

// edit returns a file with what the fault changes in it.
func (f *fault) edit(t testing.TB, name string, text []byte) []byte {
	for _, e := range f.edits {
		if e.file == name {
			require.Equal(t, 1, strings.Count(string(text), e.old), "%v: %s has the text that is to be replaced once:\n%s", f, name, e.old)
			text = []byte(strings.Replace(string(text), e.old, e.new, 1))
		}
	}
	return text
}

// The mutants are what the headers give, with their faults planted; another
// release of the compiler may number registers in another way.
func TestMutantsGolden(t *testing.T) {
	testenv.Clang(t)
	for i := range plantedFaults {
		if testing.Short() && i%shortPart != 0 {
			continue
		}
		f := &plantedFaults[i]
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			text := f.compile(t)
			old, err := os.ReadFile(golden.Path(f.file()))
			if err == nil && ptxtext.Normalize(string(old)) == ptxtext.Normalize(string(text)) {
				return
			}
			golden.Check(t, f.file(), text)
		})
	}
}
