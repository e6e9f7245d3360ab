// Command nccl-run runs a collective on GPUs or on the PTX machine, checks every
// element of the result and prints what nccl-tests prints. Run it with -h.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/cli"
	"github.com/ncclgo/ncclgo/device/cuda"
	"github.com/ncclgo/ncclgo/internal/nvml"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	// The first interrupt ends the run in order, a second one at once.
	context.AfterFunc(ctx, stop)
	status := cli.Main(ctx, &cli.Process{
		Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr,
		OpenCUDA: cuda.Open, OpenNVML: nvml.Open,
	})
	stop()
	os.Exit(status)
}
