package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/bench"
)

// errWrong ends a command whose run is complete and has wrong results.
var errWrong = errors.New("wrong results")

// run does what the options say. given are the flags of the command line.
func run(ctx context.Context, p *Process, o *options, given *pflag.FlagSet) error {
	m, defaults, err := chooseMachine(p, o)
	if err != nil {
		return err
	}
	defaults.apply(o, given, m.NumGPUs())
	for _, name := range []string{"datatype", "op", "proto"} {
		o.SkipUnbuilt = o.SkipUnbuilt || strings.EqualFold(given.Lookup(name).Value.String(), all)
	}
	env := newEnvironment(p.Environ, given)
	if o.Rival != "" {
		// One file cannot have two topologies: NCCL writes its own.
		env.overridden["NCCL_TOPO_DUMP_FILE"] = "--vs"
	}
	out, err := newOutput(p, o, m, env, given)
	if err != nil {
		return err
	}
	err = out.replayable(bench.Run(ctx, &o.Config, m, env.lookup, out))
	if closed := out.close(err); err == nil {
		err = closed
	}
	if err == nil && out.wrong > 0 {
		err = errWrong
	}
	return err
}

// lookup returns a function like os.LookupEnv over environ.
func lookup(environ []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, v := range environ {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}
