package cli

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/generated"
)

const warmIntro = `nccl-run warm assembles kernels for the GPUs of this machine and keeps them on
disk, so that no later run has to.

Usage:
  nccl-run warm [flags]
`

const warmNotes = `
Kernels are kept in $XDG_CACHE_HOME/ncclgo, or in $HOME/.cache/ncclgo. What is
there already is not assembled again.

Exit status: 0 all are kept; 1 some could not be assembled or kept; 2 the request
was refused: no GPU, or no kernel of that name.
`

func newWarm(p *Process) *cobra.Command {
	flags := &flagSet{}
	pattern := "*"
	add := flags.section("What is assembled")
	add("kernels", "", text(&pattern, "pattern"),
		"kernels by name, with * and ? as in a shell: 'AllReduce_Sum_*_RING_LL' (default *)")
	cmd := newCommand("warm", flags.help(warmIntro, warmNotes), func(cmd *cobra.Command) error {
		return warm(cmd.Context(), p, pattern)
	})
	flags.addTo(cmd.Flags())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(flags, err) })
	return cmd
}

// warm assembles the kernels that match pattern.
func warm(ctx context.Context, p *Process, pattern string) error {
	kernels, err := matching(pattern)
	if err != nil {
		return err
	}
	driver, err := p.openCUDA(0)
	if err != nil {
		return refusef("kernels are assembled by the driver for its GPUs, and here: %w; nccl-run doctor says more", err)
	}
	// Nothing runs on the devices.
	defer func() { _ = driver.Close() }()
	sources, least, err := sourcesFor(kernels, driver.Infos())
	if err != nil {
		return err
	}
	progress := newProgress(p.Stderr)
	began := time.Now()
	err = driver.Warm(ctx, sources, progress.kernels)
	progress.clear()
	if err != nil {
		return fmt.Errorf("warm: %w", err)
	}
	s, cache := driver.Startup(), driver.Cache()
	fmt.Fprintf(p.Stdout, "%d kernels for GPUs of sm_%d and later: %d assembled, %d were there, in %.2f s; %d are kept in %s, %d bytes\n",
		len(sources), least, s.Assembled, s.FromDisk+s.Shared, time.Since(began).Seconds(), cache.Entries, cache.Dir, cache.Bytes)
	return nil
}

// matching returns the kernels whose names match a pattern.
func matching(pattern string) ([]*generated.Kernel, error) {
	var found []*generated.Kernel
	for i := range generated.Kernels() {
		k := &generated.Kernels()[i]
		match, err := path.Match(pattern, k.Symbol)
		if err != nil {
			return nil, refusef("--kernels %s: %w; a pattern has names, *, ? and [sets]", pattern, err)
		}
		if match {
			found = append(found, k)
		}
	}
	if found == nil {
		return nil, refusef("--kernels %s: none of the %d kernels of this build has such a name; names read like %s",
			pattern, len(generated.Kernels()), generated.Kernels()[0].Symbol)
	}
	return found, nil
}

// sourcesFor returns the modules of those kernels that all usable GPUs can run, the
// best of each variant, and the least compute capability times 10 of those GPUs.
func sourcesFor(kernels []*generated.Kernel, gpus []device.Info) (sources []device.Source, least int, err error) {
	for _, g := range gpus {
		if g.SM >= leastSM && (least == 0 || g.SM < least) {
			least = g.SM
		}
	}
	var names []string
	for _, k := range kernels {
		if k.SM > least {
			names = append(names, fmt.Sprintf("%s (sm_%d)", k.Symbol, k.SM))
			continue
		}
		if best, err := generated.Lookup(k.Variant, least); err == nil && best != k {
			continue
		}
		text, err := k.PTX()
		if err != nil {
			return nil, 0, err
		}
		sources = append(sources, device.Source{Name: k.Symbol + ".ptx", PTX: text})
	}
	if sources == nil {
		return nil, 0, refusef("no GPU here can run %s", strings.Join(names, ", "))
	}
	return sources, least, nil
}
