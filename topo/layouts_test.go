package topo

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/golden"
)

// TestLayouts runs the commands of golden/topo/layouts.txt: "layout MACHINE HOSTS"
// prints what the ranks of so many hosts agree on.
func TestLayouts(t *testing.T) {
	golden.Script(t, "topo/layouts.txt", func(input string) string {
		words := strings.Fields(input)
		require.Len(t, words, 3, "%q", input)
		hosts, err := strconv.Atoi(words[2])
		require.NoError(t, err)
		members, err := Members(ownMachine(t, words[1]), HostParams{Hosts: hosts, Search: SearchParams{CrossNIC: CrossNICPairs, NVLS: true}})
		require.NoError(t, err)
		l, err := Connect(members, LayoutParams{})
		require.NoError(t, err)
		checkLayout(t, l)
		return l.String()
	})
}
