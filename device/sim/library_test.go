package sim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A library gives the same translation for the same text of the same file, and
// keeps no more text than it may.
func TestLibrary(t *testing.T) {
	var l library
	text := []byte(strings.Repeat("/", maxLibrary/2))
	a := l.translation("a", text)
	require.Same(t, a, l.translation("a", text))
	b := l.translation("b", text)
	require.NotSame(t, a, b, "errors name the file")
	require.Same(t, a, l.translation("a", text))

	c := l.translation("c", []byte("c"))
	require.Same(t, c, l.translation("c", []byte("c")))
	require.Equal(t, 1, l.bytes)
	require.NotSame(t, a, l.translation("a", text), "there was no room for it any more")
}
