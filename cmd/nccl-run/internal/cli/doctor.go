package cli

import (
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/doctor"
	"github.com/ncclgo/ncclgo/device/cuda"
)

const doctorIntro = `nccl-run doctor says what this machine has for ncclgo (driver, GPUs and how they
reach each other, NVML, kept kernels, limits), what is missing, and what to do.
It changes nothing.

Usage:
  nccl-run doctor [flags]
`

const doctorNotes = `
Exit status: 0, with GPUs or without; 2 the request was refused.
`

func newDoctor(p *Process) *cobra.Command {
	flags := &flagSet{}
	asJSON := false
	add := flags.section("Output")
	add("json", "", boolean(&asJSON), "write a JSON document instead of text")
	flags.sections[0].flags.Lookup("json").NoOptDefVal = "true"
	cmd := newCommand("doctor", flags.help(doctorIntro, doctorNotes), func(*cobra.Command) error {
		report := doctor.Examine(&doctor.Host{
			OpenCUDA: func() (*cuda.Driver, error) { return p.openCUDA(0) },
			OpenNVML: p.openNVML,
			Cache:    p.cache(),
			Getenv:   lookup(p.Environ),
			LookPath: exec.LookPath,
			Files:    root(),
		})
		if asJSON {
			return report.Write(p.Stdout)
		}
		return report.WriteText(p.Stdout)
	})
	flags.addTo(cmd.Flags())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(flags, err) })
	return cmd
}
