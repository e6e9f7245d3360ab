package ptx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/golden"
)

// TestGolden compares what the files of testdata/ptx print as, and what they
// normalise to, with golden/ptx.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/ptx/*.ptx")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".ptx")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		m, err := Parse(file, text)
		require.NoError(t, err)
		requireFixpoint(t, m)
		golden.Check(t, "ptx/"+name+".print.ptx", []byte(printed(t, m)))
		golden.Check(t, "ptx/"+name+".normal.ptx", []byte(Normalize(string(text))))
	}
}

// TestNormalize checks that what differs between compiler releases goes away.
func TestNormalize(t *testing.T) {
	a := `// clang 19
.version 7.8
	// .globl k
.visible .entry k()
{
	.reg .b32 	%r<38>;
	.loc	1 2 3
// %bb.0:
	mov.u32 	%r8, %tid.x;
	mov.u64 	%rd3, %clock64;
$L__BB0_3:                  // =>This Inner Loop
	add.s32 %r9, %r8, %r9;
	@%p4 bra $L__BB0_3;

	bra.uni 	$L__BB0_7;
}
.file 1 "a.cu"
.section .debug { .b8 1 }
`
	b := strings.NewReplacer("%r8", "%r1", "%r9", "%r20", "%p4", "%p1", "<38>", "<21>", "BB0_3", "BB0_1",
		"clang 19", "clang 20", "a.cu", "b.cu", "1 2 3", "1 9 9", " \t%tid", " %tid").Replace(a)
	require.NotEqual(t, a, b)
	require.Equal(t, Normalize(a), Normalize(b))
	require.Equal(t, `.version 7.8
.visible .entry k()
{
	.reg .b32 %r<>;
	mov.u32 %r1, %tid.x;
	mov.u64 %rd1, %clock64;
$L1:
	add.s32 %r2, %r1, %r2;
	@%p1 bra $L1;
	bra.uni $L2;
}
`, Normalize(a))
	require.NotEqual(t, Normalize(a), Normalize(strings.Replace(a, "%r8, %r9", "%r9, %r8", 1)))
	require.Equal(t, "\n", "\n"+Normalize("// nothing"))
}
