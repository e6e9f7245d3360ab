package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/bench"
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device/cuda"
	"github.com/ncclgo/ncclgo/internal/nvml"
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

	// How GPUs are reached. Nil: there are none.
	OpenCUDA func(cuda.Config) (*cuda.Driver, error)
	OpenNVML func() (nvml.API, error)
}

// openCUDA opens the CUDA driver with at least as many hardware queues a GPU as
// connections says, 0 for the driver's default.
func (p *Process) openCUDA(connections int) (*cuda.Driver, error) {
	if p.OpenCUDA == nil {
		return nil, cuda.ErrNoDriver
	}
	return p.OpenCUDA(cuda.Config{
		MaxConnections: connections, Cache: p.cache(),
		Logger: slog.New(slog.NewTextHandler(p.Stderr, nil)),
	})
}

// cache is where assembled kernels are kept.
func (p *Process) cache() cuda.CacheConfig {
	return cuda.CacheConfig{Getenv: lookup(p.Environ)}
}

// openNVML opens NVIDIA's management library.
func (p *Process) openNVML() (nvml.API, error) {
	if p.OpenNVML == nil {
		return nil, nvml.ErrNoNVML
	}
	return p.OpenNVML()
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
	root.AddCommand(newAllReduce(p), newDoctor(p), newExplain(p), newGraph(p), newLitmus(p), newP2PSchedule(p), newTopo(p), newWarm(p))
	return root
}

func newAllReduce(p *Process) *cobra.Command {
	flags := newFlags()
	cmd := newCommand("all-reduce", collectiveHelp(flags), func(cmd *cobra.Command) error {
		return run(cmd.Context(), p, flags.o, cmd.Flags())
	})
	cmd.Aliases = []string{"all_reduce", "all_reduce_perf"}
	flags.addTo(cmd.Flags())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(flags, err) })
	return cmd
}

// newCommand returns a command that takes flags only.
func newCommand(name, help string, run func(*cobra.Command) error) *cobra.Command {
	return &cobra.Command{
		Use:           name,
		Long:          help,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return refusef("%q: %s takes flags only", args[0], name)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd) },
	}
}

// unknownCollective refuses a first word that is none of the commands.
func unknownCollective(word string) error {
	if strings.HasPrefix(word, "-") {
		return refusef("%s: name the collective first: nccl-run all-reduce [flags]", word)
	}
	// AllReduce comes here in another spelling, which Nearest finds.
	if f, err := coll.ParseFunc(strings.TrimSuffix(word, "_perf")); err == nil && f != coll.AllReduce {
		return refusef("%v: not in this build; this build runs all-reduce", f)
	}
	return refused{unknown("command", word, []string{"all-reduce", "doctor", "explain", "graph", "litmus", "p2p-schedule", "topo", "warm"})}
}
