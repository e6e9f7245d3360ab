package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/testenv"
)

// TestChoosingPage: what docs/choosing.md shows of nccl-run explain is what it
// prints.
func TestChoosingPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testenv.Root(), "docs", "choosing.md"))
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```\n\\$ nccl-run ([^\n]+)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, shown)
	for _, example := range shown {
		var out, err bytes.Buffer
		status := Main(context.Background(), &Process{Args: strings.Fields(example[1]), Stdout: &out, Stderr: &err})
		require.Equal(t, StatusRight, status, err.String())
		require.Equal(t, example[2], out.String())
	}
}

// BenchmarkExplain is the whole command for one node and for 16,384 ranks.
func BenchmarkExplain(b *testing.B) {
	for _, nodes := range []string{"1", "2048"} {
		b.Run(nodes, func(b *testing.B) {
			for b.Loop() {
				status := Main(context.Background(), &Process{
					Args:   []string{"explain", "--nodes", nodes, "--why", "--algos", "nccl"},
					Stdout: io.Discard, Stderr: io.Discard,
				})
				require.Equal(b, StatusRight, status)
			}
		})
	}
}
