// Command nccl-run runs a collective on GPUs or on the PTX machine, checks every
// element of the result and prints what nccl-tests prints. Run it with -h.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	// The first interrupt ends the run in order, a second one at once.
	context.AfterFunc(ctx, stop)
	status := cli.Main(ctx, &cli.Process{
		Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr,
	})
	stop()
	os.Exit(status)
}
