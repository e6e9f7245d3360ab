// Command nccl-gen is the kernel compiler's command line: it writes generated/
// from templates/cuda and the variant space, checks that it is up to date, and
// shows the space and single kernels.
//
// It knows nothing of its own: flags, output and exit status are here,
// everything else is package gen. Start reading at run.
//
// It exits with 0 if all is right, 1 if kernels do not compile, fail
// verification or are stale, and 2 if the request was refused.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/ncclgo/ncclgo/gen"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Exit status.
const (
	exitRight   = 0
	exitWrong   = 1
	exitRefused = 2
)

// run does what args ask for and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := bufio.NewWriter(stdout)
	err := do(ctx, args, out, stderr)
	err = cmp.Or(err, out.Flush())
	if err == nil {
		return exitRight
	}
	io.WriteString(stderr, "nccl-gen: "+err.Error()+"\n")
	var usage *gen.UsageError
	if errors.As(err, &usage) {
		return exitRefused
	}
	return exitWrong
}

// do parses args and calls the action they name.
func do(ctx context.Context, args []string, out *bufio.Writer, stderr io.Writer) error {
	r, err := parse(args, stderr)
	switch {
	case err != nil:
		return &gen.UsageError{Err: err}
	case r.help:
		_, err := out.WriteString(usage)
		return err
	case r.list:
		return list(out, r)
	}
	if r.options.Root, err = findRoot(); err != nil {
		return &gen.UsageError{Err: err}
	}
	switch {
	case r.show != "":
		return show(ctx, out, r)
	case r.check:
		return check(ctx, out, r)
	default:
		return generate(ctx, out, r)
	}
}
