package gen

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/golden"
)

// abiOf renders a package of one file.
func abiOf(src string) (string, error) {
	out, err := RenderABI(fstest.MapFS{
		"internal/abi/abi.go":      {Data: []byte("package abi\n" + src)},
		"internal/abi/abi_test.go": {Data: []byte("package abi\nnot Go")},
	})
	return string(out), err
}

// Everything the renderer knows, in one small package.
func TestRenderABI(t *testing.T) {
	out, err := abiOf(`
// Ptr is a device address.
type Ptr uint64

// Outer is declared before what it contains.
//
// A second paragraph.
type Outer struct {
	First, Second Ptr // to Inner
	// Table has a comment above.
	Table  [Rows][2]Inner
	Inline uint8
	_      [3]uint8
	Flags  uint32
}

// Inner is small.
type Inner struct {
	A int16
	B uint16
}

// Rows is how many rows there are.
const Rows = 4

// Values of Outer.Flags.
const (
	FlagNone = iota // nothing
	FlagAll  = 0xffffffff
	Large    = 1 << 40
	Least    = -1
	hidden   = 5
)
`)
	require.NoError(t, err)
	golden.Check(t, "gen/abi.h", []byte(out))
}

func TestRenderABIRefused(t *testing.T) {
	for _, test := range []struct{ name, src, message string }{
		{"pointer", "type S struct {\n\tA *int\n}", "internal/abi/abi.go:3:2: type *int cannot cross to the GPU"},
		{"int", "type S struct{ A int }", "type int cannot cross to the GPU"},
		{"slice", "type S struct{ A []uint8 }", "type []uint8 cannot cross"},
		{"string", "type S string", "type string cannot cross"},
		{"syntax", "type S struct{", "internal/abi/abi.go:2"},
		{"type error", "type S struct{ A Missing }", "undefined: Missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := abiOf(test.src)
			require.ErrorContains(t, err, test.message)
		})
	}
	_, err := RenderABI(fstest.MapFS{})
	require.ErrorContains(t, err, "internal/abi: no Go files there")
	_, err = abiOf("")
	require.NoError(t, err)
}

// A name that is a keyword of C++ gets an underscore.
func TestFieldName(t *testing.T) {
	for name, want := range map[string]string{"NumWorks": "numWorks", "Inline": "inline_", "Register": "register_", "X": "x", "_": "pad7"} {
		require.Equal(t, want, fieldName(name, 7))
	}
}
