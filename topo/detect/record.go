package detect

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/topo"
)

// Record detects a machine and returns what it read, for any [Config]: RDMA devices
// and network interfaces, with and without the file of a virtual machine. What
// identifies a person, a host or a board is left out: UUIDs, GUIDs, addresses in
// names, of /proc/cpuinfo all but the kind of CPU.
func Record(src Source) (*Capture, error) {
	c := &Capture{
		Arch: src.Arch, GPUs: slices.Clone(src.GPUs),
		contents: map[string]string{}, links: map[string]string{}, folders: map[string][]string{}, refused: map[string]string{},
	}
	if src.NVML != nil {
		snapshot, err := nvml.Capture(src.NVML)
		if err != nil {
			c.NoNVML = err.Error()
			src.NVML, src.NoNVML = nil, err
		} else {
			c.NVML = snapshot
			src.NVML = snapshot.Replay()
		}
	} else if src.NoNVML != nil {
		c.NoNVML = src.NoNVML.Error()
	}
	if src.NoCUDA != nil {
		c.NoCUDA = src.NoCUDA.Error()
	}
	src.captured = &recorder{src.files(), c}
	empty := &topo.Document{Root: &topo.Element{Name: topo.ElemSystem}}
	empty.Root.Set("version", fmt.Sprint(topo.Version))
	for _, cfg := range []Config{{}, {Nets: NetFilter{NoVerbs: true}}, {File: empty}} {
		if _, err := Detect(src, cfg); err != nil {
			return nil, err
		}
	}
	c.scrub()
	return c, nil
}

// recorder are files that note what is read of them.
type recorder struct {
	files
	capture *Capture
}

// note notes why something could not be read, and returns it.
func (r *recorder) note(name string, err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.capture.refused[name] = reason(err)
	return err
}

func (r *recorder) readLink(name string) (string, error) {
	to, err := r.files.readLink(name)
	switch {
	case errors.Is(err, errNoLink):
		if _, known := r.capture.folders[name]; !known {
			r.capture.folders[name] = nil
		}
	case err == nil:
		r.capture.links[name] = to
		r.capture.above(name)
	default:
		return to, r.note(name, err)
	}
	return to, err
}

func (r *recorder) read(name string, maxBytes int) ([]byte, error) {
	b, err := r.files.read(name, maxBytes)
	if err == nil {
		// What is no text stays none: JSON has text only.
		r.capture.contents[name] = strings.ToValidUTF8(string(b), "\x00")
		delete(r.capture.folders, name)
	}
	return b, r.note(name, err)
}

func (r *recorder) list(name string) ([]string, error) {
	names, err := r.files.list(name)
	if err == nil {
		r.capture.folders[name] = slices.Concat([]string{}, names)
	}
	return names, r.note(name, err)
}
