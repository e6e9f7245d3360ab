package deps

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/internal/golden"
	"github.com/ncclgo/ncclgo/internal/testenv"
)

func read(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// The README's sections on the commands are their -h text.
func TestReadmeHasTheHelpTexts(t *testing.T) {
	readme := read(t, filepath.Join(testenv.Root(), "README.md"))
	for _, command := range []string{"all_reduce", "explain", "graph", "litmus", "p2p_schedule", "doctor", "topo", "capture", "warm"} {
		require.Contains(t, readme, read(t, golden.Path("nccl-run/help_"+command+".txt")))
	}

	help := exec.Command("go", "run", "./cmd/nccl-gen", "-h")
	help.Dir = testenv.Root()
	text, err := help.Output()
	require.NoError(t, err)
	require.Contains(t, readme, string(text))
}

// Links between documents, and from them into the tree, lead somewhere.
func TestDocumentsLinkToWhatExists(t *testing.T) {
	root := testenv.Root()
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	documents = append(documents, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"))
	link := regexp.MustCompile(`\]\(([^):#]+)(#[^)]*)?\)`)
	for _, document := range documents {
		for _, match := range link.FindAllStringSubmatch(read(t, document), -1) {
			require.FileExists(t, filepath.Join(filepath.Dir(document), match[1]), "linked from %s", document)
		}
	}
}
