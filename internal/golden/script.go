package golden

import (
	"os"
	"strings"
	"testing"
)

// divider stands between the input and the expected output of a case.
const divider = "----"

// Script checks a golden file that holds its own inputs: cases apart by blank
// lines, each of them input lines, a line "----" and the output that run is to
// produce for the input. Outputs are not empty and hold no blank lines. Text without a divider
// is a remark. Under -update the outputs are rewritten; to add a case, write its
// input and the divider and update.
func Script(t testing.TB, name string, run func(input string) string) {
	t.Helper()
	data, err := os.ReadFile(Path(name))
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(strings.TrimSpace(string(data)), "\n\n")
	ran := 0
	for i, text := range cases {
		input, _, isCase := strings.Cut(text+"\n", "\n"+divider+"\n")
		if !isCase {
			continue
		}
		ran++
		output := strings.TrimRight(run(input), "\n")
		if output == "" || strings.Contains(output, "\n\n") {
			t.Errorf("golden/%s: %s: the output is empty or holds a blank line: %q", name, input, output)
			return
		}
		cases[i] = input + "\n" + divider + "\n" + output
	}
	if ran == 0 {
		t.Fatalf("golden/%s has no case", name)
	}
	Check(t, name, []byte(strings.Join(cases, "\n\n")+"\n"))
}
