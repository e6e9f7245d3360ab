package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/bench"
	"github.com/ncclgo/ncclgo/coll"
)

// Exit statuses.
const (
	StatusRight   = 0 // everything ran and every result is right
	StatusFailed  = 1 // wrong results, or a run that failed
	StatusRefused = 2 // the request cannot be served; nothing was run
)

// Process is what the command has of the process it runs in.
type Process struct {
	Args    []string // without the program's name
	Environ []string // "NAME=value"
	Stdout  io.Writer
	Stderr  io.Writer
}

// Main runs the command line and returns the exit status. It ends early, with
// StatusFailed, when ctx does.
func Main(ctx context.Context, p *Process) int {
	root := newRoot(p)
	root.SetArgs(joinJSON(p.Args))
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(ctx)
	var (
		unserved refused
		refusal  *bench.Refusal
	)
	switch {
	case err == nil:
		return StatusRight
	case errors.Is(err, errWrong):
		// The table has said so.
		return StatusFailed
	}
	fmt.Fprintf(p.Stderr, "nccl-run: %v\n", err)
	if errors.As(err, &unserved) || errors.As(err, &refusal) {
		return StatusRefused
	}
	return StatusFailed
}

// joinJSON lets --json be followed by its file as a word of its own, although
// the file may be left out.
func joinJSON(args []string) []string {
	joined := []string{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--json" && i+1 < len(args) && (args[i+1] == "-" || !strings.HasPrefix(args[i+1], "-")) {
			i++
			arg += "=" + args[i]
		}
		joined = append(joined, arg)
	}
	return joined
}

func newRoot(p *Process) *cobra.Command {
	root := &cobra.Command{
		Use:                "nccl-run",
		Long:               rootHelp,
		DisableFlagParsing: true,
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true,
		Args:               cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
				return cmd.Help()
			}
			return unknownCollective(args[0])
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(p.Stdout, cmd.Long) })
	root.AddCommand(newAllReduce(p))
	return root
}

func newAllReduce(p *Process) *cobra.Command {
	flags := newFlags()
	cmd := &cobra.Command{
		Use:           "all-reduce",
		Aliases:       []string{"all_reduce", "all_reduce_perf"},
		Long:          collectiveHelp(flags),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return refusef("%q: all-reduce takes flags only", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), p, flags.o, cmd.Flags())
		},
	}
	flags.addTo(cmd.Flags())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(flags, err) })
	return cmd
}

// unknownCollective refuses a first word that is none of the commands.
func unknownCollective(word string) error {
	if strings.HasPrefix(word, "-") {
		return refusef("%s: name the collective first: nccl-run all-reduce [flags]", word)
	}
	if f, err := coll.ParseFunc(strings.TrimSuffix(word, "_perf")); err == nil {
		return refusef("%v: not in this build; this build runs all-reduce", f)
	}
	return refused{unknown("collective", word, []string{"all-reduce"})}
}
