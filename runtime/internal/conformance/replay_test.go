package conformance

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	replayKernel = flag.String("kernel", "", "the kernel that TestReplay runs, by the name of its module")
	replayCase   = flag.Int("case", 0, "its case")
	replayMemory = flag.String("memory", "weak", "its memory model: sequential or weak")
	replaySeed   = flag.Uint64("seed", 0, "its seed")
)

// What a failure says repeats it; with -kernel, and what else it says, this is how.
func TestReplay(t *testing.T) {
	if *replayKernel != "" {
		mode, err := ParseMode(*replayMemory)
		require.NoError(t, err)
		k := kernelByName(t, *replayKernel)
		cases := Cases(k.Variant)
		require.GreaterOrEqual(t, *replayCase, 0)
		require.Less(t, *replayCase, len(cases), "%s has so many cases", k.Name)
		r := Run{k, *replayCase, cases[*replayCase], mode, *replaySeed}
		t.Logf("%s: %v", k.Name, &r.Case)
		_, err = r.Do()
		require.NoError(t, err)
		return
	}
	f := &plantedFaults[0]
	_, first := f.caught(t)
	require.Error(t, first)
	var failure *Failure
	require.ErrorAs(t, first, &failure)
	r := failure.Run
	require.Contains(t, first.Error(), fmt.Sprintf("-kernel %s -case %d -memory %v -seed %d", r.Kernel.Name, r.Index, r.Mode, r.Seed))
	k := kernelByName(t, r.Kernel.Name)
	again := Run{k, r.Index, Cases(k.Variant)[r.Index], r.Mode, r.Seed}
	_, err := again.Do()
	require.EqualError(t, err, first.Error())
}

// kernelByName returns a kernel that is built, or a mutant.
func kernelByName(t *testing.T, name string) *Kernel {
	kernels, err := Kernels()
	require.NoError(t, err)
	for i := range kernels {
		if kernels[i].Name == name {
			return &kernels[i]
		}
	}
	for i := range plantedFaults {
		if f := &plantedFaults[i]; f.name() == name {
			return f.kernel(t)
		}
	}
	require.FailNow(t, "no such kernel", "%q is neither a built kernel (nccl-gen -list -built; with its target: %s) nor a mutant (%s)",
		name, kernels[0].Name, plantedFaults[0].name())
	return nil
}
