// Command nccl-run runs a collective on GPUs or on the PTX machine, checks every
// element of the result and prints what nccl-tests prints. Run it with -h.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/cli"
	"github.com/ncclgo/ncclgo/device/cuda"
	"github.com/ncclgo/ncclgo/internal/nvml"
)

func main() {
	os.Exit(cli.Main(untilSignal(), &cli.Process{
		Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr,
		OpenCUDA: cuda.Open, OpenNVML: nvml.Open,
	}))
}

// grace is how long a run may take to end in order after a signal.
const grace = time.Second

// untilSignal returns a context that ends with the first SIGINT or SIGTERM, so
// that the run ends in order. A second signal ends the process at once, and so
// does a call that does not return within grace: a driver's may take minutes.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		select {
		case <-signals:
		case <-time.After(grace):
			fmt.Fprintln(os.Stderr, "nccl-run: interrupted: what was under way did not end in time")
		}
		os.Exit(cli.StatusFailed)
	}()
	return ctx
}
