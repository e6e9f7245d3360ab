package ptx

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkParse parses a kernel of 200 KB, the largest that gen makes.
func BenchmarkParse(b *testing.B) {
	text, err := os.ReadFile("testdata/ptx/memory.ptx")
	require.NoError(b, err)
	head, rest, _ := strings.Cut(string(text), "// %bb.0:")
	body, tail, _ := strings.Cut(rest, "\tret;\n")
	var big strings.Builder
	big.WriteString(head)
	for n := 0; big.Len() < 200<<10; n++ {
		big.WriteString(strings.ReplaceAll(body, "$L__BB0_", fmt.Sprintf("$L__BB%d_", n)))
	}
	big.WriteString("\tret;\n" + tail)
	module := []byte(big.String())
	b.SetBytes(int64(len(module)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("big.ptx", module); err != nil {
			b.Fatal(err)
		}
	}
}
