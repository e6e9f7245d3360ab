// Package golden compares what code produces with reviewed expectations: the
// files of the top-level golden/ folder, by producer.
//
// It knows nothing of what the files mean. Start reading at [Check]. Only tests
// import it.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
)

var update = flag.Bool("update", false, "rewrite golden files with what the tests produce")

// Root returns the directory of the module's golden files.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "golden")
}

// Path returns the path of the golden file called name, such as
// "planner/ring_8gpu.txt".
func Path(name string) string { return filepath.Join(Root(), filepath.FromSlash(name)) }

// Check compares got with the golden file called name. A difference fails the
// test with a unified diff and the command that would accept it; under -update
// the file is rewritten instead.
func Check(t testing.TB, name string, got []byte) {
	t.Helper()
	path := Path(name)
	if *update {
		if os.Getenv("CI") == "true" {
			t.Fatal("golden files are not updated in CI")
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\nto create it: make golden, then review the diff", err)
	}
	if d := diff.Diff("golden/"+name, want, "produced", got); d != nil {
		t.Errorf("%s\nto accept it: go test -run '^%s$' . -update (or make golden), then review the diff", d, t.Name())
	}
}
