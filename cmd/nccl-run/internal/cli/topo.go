package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/hardware"
	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/topo"
	"github.com/ncclgo/ncclgo/topo/detect"
	"github.com/ncclgo/ncclgo/topo/picture"
)

const topoIntro = `nccl-run topo shows a machine as it is seen: this one, by CUDA, NVML and sysfs, or
one that a file describes. It says what was measured, and by whom, and what was
assumed, and why.

Usage:
  nccl-run topo [flags]
  nccl-run topo capture FILE   keep what was read of this machine
`

const topoNotes = `
NCCL_TOPO_FILE, NCCL_SOCKET_IFNAME, NCCL_IB_HCA and NCCL_IB_DISABLE count as they
do for communicators, CUDA_VISIBLE_DEVICES where CUDA cannot be asked. To correct
what is wrong: --dump a file, change it, and set NCCL_TOPO_FILE to its name.
Formats: text, for people; xml, the topology file; json (docs/FORMATS.md); dot, for
Graphviz; svg, a picture.

Exit status: 0; 1 the output could not be written; 2 the request was refused.
`

const captureHelp = `nccl-run topo capture keeps what was read of this machine in a file, which --topo
takes anywhere in place of the machine. UUIDs, GUIDs and addresses of network cards
are left out. Format: docs/FORMATS.md.

Usage:
  nccl-run topo capture FILE

Exit status: 0; 1 the file could not be written; 2 the request was refused.
`

// topoOptions is what the command line of nccl-run topo says.
type topoOptions struct {
	topology string
	sysfs    string
	nvml     string
	dump     string
	diff     string
	format   string
}

func newTopo(p *Process) *cobra.Command {
	o := &topoOptions{format: "text"}
	flags := &flagSet{}
	add := flags.section("Machine")
	add("topo", "", text(&o.topology, "name|file"),
		"another one: "+machineNames()+", a topology file of NCCL, or what nccl-run topo capture wrote")
	add("sysfs", "", text(&o.sysfs, "dir"), "a copy of /sys, or of what holds sys and proc, in place of this machine's")
	add("nvml", "", text(&o.nvml, "file"), "what NVML says, as JSON (docs/FORMATS.md), in place of this machine's NVML and CUDA")
	add = flags.section("Output")
	add("format", "", choice(&o.format, "name", "format", "text", "xml", "json", "dot", "svg"), "text, xml, json, dot or svg (default text)")
	add("diff", "", text(&o.diff, "file"), "list instead in what the topology file differs from another, such as the one that NCCL wrote here")
	add("dump", "", text(&o.dump, "file"), "also write the topology file that NCCL would write")
	cmd := newCommand("topo", flags.help(topoIntro, topoNotes), func(cmd *cobra.Command) error {
		return showTopo(p, o, newEnvironment(p.Environ, cmd.Flags()))
	})
	flags.addTo(cmd.Flags())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(flags, err) })
	capture := newCommand("capture", captureHelp, nil)
	capture.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return refusef("topo capture: %d files are named; name the one to write", len(args))
		}
		return nil
	}
	capture.RunE = func(_ *cobra.Command, args []string) error { return captureTopo(p, args[0]) }
	capture.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(&flagSet{}, err) })
	cmd.AddCommand(capture)
	return cmd
}

// showTopo finds the machine and writes it.
func showTopo(p *Process, o *topoOptions, env *environment) error {
	system, facts, err := o.find(p, env)
	if err != nil {
		return err
	}
	notes := env.wins()
	if o.diff != "" || o.format == "xml" || o.format == "dot" {
		notes = append(notes, unsaid(facts)...)
	}
	for _, note := range notes {
		fmt.Fprintln(p.Stderr, "nccl-run:", note)
	}
	if o.dump != "" {
		var text bytes.Buffer
		// A bytes.Buffer takes everything.
		_, _ = system.Document().WriteTo(&text)
		if err := os.WriteFile(o.dump, text.Bytes(), 0o666); err != nil {
			return refusef("--dump: %w", err)
		}
	}
	w := p.Stdout
	switch {
	case o.diff != "":
		return o.compare(w, system)
	case o.format == "xml":
		_, err = system.Document().WriteTo(w)
	case o.format == "json":
		err = report.NewTopology(system, facts).Write(w)
	case o.format == "svg":
		err = picture.Machine(w, system)
	case o.format == "dot":
		err = report.WriteDOT(w, system)
	default:
		err = report.WriteTopology(w, system, facts)
	}
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// unsaid says that there are facts that need a look, where they are not shown.
func unsaid(facts []detect.Fact) []string {
	n := 0
	for _, f := range facts {
		if f.Why != "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d facts are assumed, or odd; --format text says which", n)}
}

// compare lists in what the machine differs from a topology file.
func (o *topoOptions) compare(w io.Writer, system *topo.System) error {
	data, err := readInput(o.diff)
	var other *topo.Document
	if err == nil {
		other, err = topo.Parse(o.diff, data)
	}
	if err != nil {
		return refusef("--diff: %w", err)
	}
	var b strings.Builder
	differences := topo.Compare(system.Document(), other)
	fmt.Fprintf(&b, "# %s (first) and %s (second): %d differences\n", system.Name, o.diff, len(differences))
	for _, d := range differences {
		b.WriteString(d.String() + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// find returns the machine, and what is said of it.
func (o *topoOptions) find(p *Process, env *environment) (*topo.System, []detect.Fact, error) {
	cfg, err := detection(env.lookup)
	if err != nil {
		return nil, nil, err
	}
	if o.topology == "" {
		src, err := o.source(p)
		if err != nil {
			return nil, nil, err
		}
		machine, err := detect.Detect(src, cfg)
		if err != nil {
			return nil, nil, refusef("%w, or see nccl-run doctor", err)
		}
		return systemOf(machine)
	}
	if o.sysfs != "" || o.nvml != "" {
		return nil, nil, refusef("--topo %s is a whole machine: leave it out, or --sysfs and --nvml", o.topology)
	}
	machine, err := replay(o.topology, cfg)
	switch {
	case err != nil:
		return nil, nil, refusef("--topo: %w", err)
	case machine != nil:
		return systemOf(machine)
	}
	system, err := loadTopology(o.topology)
	return system, nil, err
}

// systemOf returns a machine as a graph, and what is said of it.
func systemOf(m *detect.Machine) (*topo.System, []detect.Fact, error) {
	system, err := m.System()
	if err != nil {
		return nil, nil, refused{err}
	}
	return system, m.Facts, nil
}

// source returns the machine to look at.
func (o *topoOptions) source(p *Process) (detect.Source, error) {
	files, err := o.files()
	if err != nil {
		return detect.Source{}, err
	}
	if o.nvml != "" {
		data, err := readInput(o.nvml)
		if err != nil {
			return detect.Source{}, refusef("--nvml: %w", err)
		}
		snapshot, err := nvml.ReadSnapshot(bytes.NewReader(data))
		if err != nil {
			return detect.Source{}, refusef("--nvml %s: %w", o.nvml, err)
		}
		return o.elsewhere(hardware.Source(snapshot, nil, nil, files)), nil
	}
	src, err := machineSource(p, files)
	return o.elsewhere(src), err
}

// elsewhere lets files of another machine say what architecture it has.
func (o *topoOptions) elsewhere(src detect.Source) detect.Source {
	if o.sysfs != "" {
		src.Arch = ""
	}
	return src
}

// files returns the files of the machine.
func (o *topoOptions) files() (fs.FS, error) {
	if o.sysfs == "" {
		return root(), nil
	}
	info, err := os.Stat(o.sysfs)
	switch {
	case err != nil:
		return nil, refusef("--sysfs: %w", err)
	case !info.IsDir():
		return nil, refusef("--sysfs %s: it is no folder; give a copy of /sys", o.sysfs)
	}
	if _, err := os.Stat(filepath.Join(o.sysfs, "sys")); errors.Is(err, fs.ErrNotExist) {
		return below{"sys", os.DirFS(o.sysfs)}, nil
	}
	return os.DirFS(o.sysfs), nil
}

// machineSource returns this machine with the files given: CUDA's GPUs, or without
// CUDA those of NVML. Why there is no driver or no NVML is said in a few words, since
// nccl-run doctor says more.
func machineSource(p *Process, files fs.FS) (detect.Source, error) {
	driver, err := p.openCUDA(0)
	if err != nil {
		snapshot, noNVML := hardware.Snapshot(p.openNVML)
		if noNVML != nil {
			noNVML = errors.New(reason(noNVML))
		}
		return hardware.Source(snapshot, noNVML, errors.New(reason(err)), files), nil
	}
	// Nothing is opened on it.
	defer func() { _ = driver.Close() }()
	inv, err := hardware.Take(driver, p.openNVML, files)
	if err != nil {
		return detect.Source{}, refused{err}
	}
	return inv.Source(), nil
}

// captureTopo keeps what is read of this machine.
func captureTopo(p *Process, name string) error {
	src, err := machineSource(p, root())
	if err != nil {
		return err
	}
	capture, err := detect.Record(src)
	if err != nil {
		return refusef("%w, or see nccl-run doctor", err)
	}
	f, err := os.Create(name)
	if err != nil {
		return refused{err}
	}
	return errors.Join(capture.Write(f), f.Close())
}
