package gen

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/golden"
	"github.com/ncclgo/ncclgo/internal/kernel"
	"github.com/ncclgo/ncclgo/internal/testenv"
)

var (
	ptxComment  = regexp.MustCompile(`//.*`)
	ptxRegister = regexp.MustCompile(`%(p|rs|r|rd|f|fd|h|hh)(\d+)\b`)
	ptxLabel    = regexp.MustCompile(`\$L__BB\d+_\d+`)
	ptxSpace    = regexp.MustCompile(`[ \t]+`)
	ptxPool     = regexp.MustCompile(`(?m)^\.reg \.(\w+) %\w+<\d+>;$`)
)

// normalise makes PTX comparable across releases of a compiler: comments and
// blank lines go, registers and labels are numbered by first appearance, and
// the sizes of register pools, which follow, are left out.
func normalise(text string) string {
	number := func(prefix string) func(string) string {
		seen := map[string]string{}
		return func(name string) string {
			if seen[name] == "" {
				seen[name] = fmt.Sprintf("%s%d", prefix, len(seen))
			}
			return seen[name]
		}
	}
	pools := map[string]func(string) string{}
	label := number("$")
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(ptxSpace.ReplaceAllString(ptxComment.ReplaceAllString(line, ""), " "))
		if line == "" {
			continue
		}
		line = ptxPool.ReplaceAllString(line, ".reg .$1;")
		line = ptxRegister.ReplaceAllStringFunc(line, func(name string) string {
			prefix := strings.TrimRight(name, "0123456789")
			if pools[prefix] == nil {
				pools[prefix] = number(prefix)
			}
			return pools[prefix](name)
		})
		line = ptxLabel.ReplaceAllStringFunc(line, label)
		out.WriteString(line + "\n")
	}
	return out.String()
}

func TestNormalise(t *testing.T) {
	const one = "// head\n\n\t.reg .b32 \t%r<9>;\n\tadd.s32 \t%r7, %r3, %r7; // sum\n$L__BB0_3:\n@%p1 bra \t$L__BB0_3;\n"
	const two = ".reg .b32 %r<12>;\nadd.s32 %r1, %r9, %r1;\n$L__BB0_8:\n\n@%p4 bra $L__BB0_8;\n"
	require.Equal(t, ".reg .b32;\nadd.s32 %r0, %r1, %r0;\n$0:\n@%p0 bra $0;\n", normalise(one))
	require.Equal(t, normalise(one), normalise(two))
}

// The shipped PTX of a kernel of each protocol, for review of what a change of headers does.
func TestPTXGolden(t *testing.T) {
	stored, err := readStored(os.DirFS(testenv.Root()))
	require.NoError(t, err)
	for _, symbol := range []string{"AllReduce_Sum_f32_RING_LL", "AllReduce_Sum_f64_RING_LL128", "AllReduce_MinMax_u8_RING_SIMPLE"} {
		t.Run(symbol, func(t *testing.T) {
			m := stored[kernel.ModuleName(symbol, 70)]
			require.NotNil(t, m, "not built")
			golden.Check(t, "gen/"+symbol+".ptx", []byte(normalise(string(m.ptx))))
		})
	}
}
