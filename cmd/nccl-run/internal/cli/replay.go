package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/bench"
)

// notReplayed are flags that a replay has its own values for, or that say where the
// output goes.
var notReplayed = []string{"device", "seed", "schedules", "proto", "json", "output_file"}

// replayCommand returns the command line that does a pass of this run again on the
// PTX machine.
func replayCommand(given *pflag.FlagSet, env *environment, r bench.Replay) string {
	var words []string
	for _, v := range env.effective() {
		name, value, _ := strings.Cut(v, "=")
		words = append(words, name+"="+quoted(value))
	}
	words = append(words, "nccl-run", "all-reduce", "--device", "sim")
	given.Visit(func(f *pflag.Flag) {
		switch {
		case slices.Contains(notReplayed, f.Name):
		case f.NoOptDefVal == f.Value.String():
			words = append(words, "--"+f.Name)
		case f.NoOptDefVal != "":
			words = append(words, "--"+f.Name+"="+quoted(f.Value.String()))
		default:
			words = append(words, "--"+f.Name, quoted(f.Value.String()))
		}
	})
	for _, p := range r.Protos {
		words = append(words, "--proto", p.String())
	}
	words = append(words, "--seed", fmt.Sprint(r.Seed))
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[\w./,:=+@%-]+$`)

// quoted returns a word as a shell reads it.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// replayError is a failed pass with the command that repeats it, on a line of its
// own as everyone concerned has.
type replayError struct {
	err     error
	command string
}

func (e *replayError) Error() string { return e.err.Error() + "\n  replay: " + e.command }
func (e *replayError) Unwrap() error { return e.err }

// replayable adds to a failure of a pass on the PTX machine how to repeat it.
func (out *output) replayable(err error) error {
	var failed *bench.PassError
	if out.m.Device != "sim" || !errors.As(err, &failed) {
		return err
	}
	return &replayError{err, replayCommand(out.given, out.env, failed.Replay)}
}
