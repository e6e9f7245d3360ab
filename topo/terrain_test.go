package topo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHasNVLS: GPUs reduce in NVSwitches from Hopper on, if there are two and no
// ranks share one, also not as parts of it.
func TestHasNVLS(t *testing.T) {
	one, two := card(0, 90, toSwitch), card(1, 90, toSwitch)
	second := func(attr string) string {
		return strings.Replace(one, "</gpu>", `</gpu><gpu dev="0" sm="90" rank="2" gdr="1" `+attr+`/>`, 1)
	}
	for _, c := range []struct {
		name, below string
		want        bool
	}{
		{"two", one + two, true},
		{"one", one, false},
		{"no switch", card(0, 90, toGPU(1)) + card(1, 90, toGPU(0)), false},
		{"one is too old", one + card(1, 80, toSwitch), false},
		{"two ranks on one", second("") + two, false},
		{"two parts of one", strings.Replace(second(`mlopart="1"`), `rank="0"`, `rank="0" mlopart="0"`, 1) + two, false},
		{"one part of one", strings.Replace(one, `rank="0"`, `rank="0" mlopart="0"`, 1) + two, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parseSystem("f.xml", []byte(file(intel, c.below)))
			require.NoError(t, err)
			v, err := s.View(Params{})
			require.NoError(t, err)
			require.Equal(t, c.want, newTerrain(v, &SearchParams{}).hasNVLS())
		})
	}
}

// TestOnePort: what counts as one port of a card, where hosts are in one fabric.
func TestOnePort(t *testing.T) {
	const virtual = `<nic><net name="v" dev="1" speed="10000" port="1"/></nic>`
	one, err := parseSystem("f.xml", []byte(file(arm, card(0, 90, toSwitch)+port(0)+virtual)))
	require.NoError(t, err)
	s, err := one.Fabric(2)
	require.NoError(t, err)
	v, err := s.View(Params{})
	require.NoError(t, err)
	for railPerHost, cards := range map[bool]bool{false: false, true: true} {
		w := newTerrain(v, &SearchParams{RailPerHost: railPerHost})
		require.True(t, w.onePort(0, 0))
		require.False(t, w.onePort(0, 1))
		require.Equal(t, cards, w.onePort(0, 2), "cards at one address of two hosts")
		require.False(t, w.onePort(1, 3), "cards at none")
	}
}
