package ptx

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParse checks that no text makes Parse panic, that its errors have lines,
// and that what it reads prints as something it reads the same.
func FuzzParse(f *testing.F) {
	f.Add(header)
	f.Add(wrap("\tadd.u32 %r1, %r2, 3;\nL:\t@!%p1 bra L;\n\t{ .reg .b32 %r<2>; mov.b32 %r1, {%h1, _}; }"))
	f.Add(wrap("\tld.global.v2.u64 {%rd1, _}, [%rd2+-8];\n\tsetp.lt.and.f32 %p1|%p2, %f1, 0f3F800000, !%p3;"))
	f.Add(header + ".const .b16 grid[2][3] = {{1, 2}, {3, 4, 5}};\n.global .u64 p = generic(grid)+2;\n.extern .shared .b8 s[];\n.entry k() { bra L; L: }")
	f.Add(".version 7.8\n.target sm_70\n.address_size 64\n.section .x { .b8 1 }\n.file 1 \"a\"\n.entry \"")
	for _, name := range []string{"testdata/ptx/memory.ptx", "testdata/ptx/scopes.ptx"} {
		text, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		Normalize(text)
		m, err := Parse("fuzz.ptx", []byte(text))
		if err != nil {
			var list ErrorList
			require.ErrorAs(t, err, &list)
			for _, e := range list {
				require.Positive(t, e.Line)
			}
			return
		}
		requireFixpoint(t, m)
	})
}
