package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// speaking lists the flags that speak of the same thing as variables. What the
// command line says wins.
var speaking = []struct {
	flag      string
	variables []string
}{
	{"algo", []string{"NCCL_ALGO"}},
	{"proto", []string{"NCCL_PROTO"}},
	{"topo", []string{"NCCL_TOPO_FILE"}},
	{"channels", []string{
		"NCCL_MIN_CTAS", "NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS",
		"NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS",
	}},
}

// noSettings are variables that look like NCCL's and ask for nothing: NVIDIA's
// container images say in NCCL_VERSION which package they hold.
var noSettings = []string{"NCCL_VERSION"}

// environment answers the library's questions for NCCL_* variables, but for
// those that a flag overrides. It remembers the questions: only the library knows
// what it honours.
type environment struct {
	environ    []string
	overridden map[string]string // by variable: the flag that wins
	asked      map[string]bool
}

// newEnvironment returns the environment of a command line with the given flags.
func newEnvironment(environ []string, given *pflag.FlagSet) *environment {
	e := &environment{environ: environ, overridden: map[string]string{}, asked: map[string]bool{}}
	for _, s := range speaking {
		if !given.Changed(s.flag) {
			continue
		}
		for _, name := range s.variables {
			e.overridden[name] = "--" + s.flag
		}
	}
	return e
}

// lookup is like os.LookupEnv.
func (e *environment) lookup(name string) (string, bool) {
	e.asked[name] = true
	if e.overridden[name] != "" {
		return "", false
	}
	return lookup(e.environ)(name)
}

// effective returns, as "NAME=value", what is set and honoured.
func (e *environment) effective() []string {
	var all []string
	for _, v := range ncclVariables(e.environ) {
		name, value, _ := strings.Cut(v, "=")
		if e.asked[name] && e.overridden[name] == "" && strings.TrimSpace(value) != "" {
			all = append(all, v)
		}
	}
	return all
}

// wins says which variables flags override.
func (e *environment) wins() []string {
	var wins []string
	for _, v := range ncclVariables(e.environ) {
		name, value, _ := strings.Cut(v, "=")
		if strings.TrimSpace(value) != "" && e.overridden[name] != "" {
			wins = append(wins, fmt.Sprintf("%s over %s", e.overridden[name], v))
		}
	}
	if wins == nil {
		return nil
	}
	return []string{"flags win: " + strings.Join(wins, ", ")}
}

// notes says, once the library has asked for all that it honours, which variables
// are set to no effect.
func (e *environment) notes() []string {
	var ignored []string
	for _, v := range ncclVariables(e.environ) {
		name, value, _ := strings.Cut(v, "=")
		if strings.TrimSpace(value) != "" && !slices.Contains(noSettings, name) && e.overridden[name] == "" && !e.asked[name] {
			ignored = append(ignored, name)
		}
	}
	notes := e.wins()
	if ignored != nil {
		notes = append(notes, fmt.Sprintf("set, but not honoured here: %s; docs/ENVIRONMENT.md lists what is", strings.Join(ignored, " ")))
	}
	return notes
}
