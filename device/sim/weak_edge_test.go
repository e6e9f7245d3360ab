package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

// A CTA that has another's place has not done what that did: whoever learns of the
// later one knows nothing of the earlier one.
func TestWeakPlaceOfAnEndedCTA(t *testing.T) {
	for seed := range uint64(20) {
		l := newLab(t, sim.Config{Devices: []device.Info{smallGPU(), smallGPU()}, Seed: seed, Weak: &sim.Weak{}})
		require.NoError(t, l.devs[1].EnablePeer(l.devs[0]))
		// The GPU has room for four CTAs. The first ends at once, and the fifth has
		// its place; the others take their time.
		l.launch(shape{grid: 5, threads: 32, label: "writer"}, `
			setp.ne.u32 p, t, 0;
			@p bra END;
			setp.eq.u32 p, cta, 0;
			@p st.global.u32 [a], 1;
			@p bra END;
			setp.eq.u32 p, cta, 4;
			@p bra TELL;
			mov.u32 x, 0;
			LOOP: add.u32 x, x, 1;
			setp.lt.u32 p, x, 3000;
			@p bra LOOP;
			ret;
			TELL: fence.acq_rel.sys;
			st.relaxed.sys.global.u32 [a+256], 1;
			END:`)
		l.launch(shape{gpu: 1, threads: 1, label: "reader"}, lines(pollY, fence, "ld.global.u32 x, [a];"))
		err := l.sync(1)
		var f *device.Fault
		require.ErrorAs(t, err, &f, "seed %d", seed)
		require.Equal(t, device.Race, f.Kind)
		require.Equal(t, "reader", f.Label)
		require.Equal(t, []int{0, 0, 0}, []int{f.Others[0].CTA, f.Others[0].Warp, f.Others[0].Lane})
	}
}
