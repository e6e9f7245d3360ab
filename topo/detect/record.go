package detect

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
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
		r.capture.contents[name] = string(b)
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

// cpuLines are the lines of /proc/cpuinfo that say what a CPU is.
var cpuLines = regexp.MustCompile(`(?m)^(vendor_id|cpu family|model|CPU implementer|cpu)[ \t]*:.*$`)

// personal are parts of paths and texts that are unique to a machine: MAC addresses
// in the names of interfaces, GUIDs, what topology files say of hosts and ports.
var personal = regexp.MustCompile(`enx[0-9a-f]{12}|(?:[0-9a-f]{4}:){3}[0-9a-f]{4}|(?:host_hash|guid)="[^"]*"`)

// scrub replaces what identifies a machine by what only tells equal from different.
func (c *Capture) scrub() {
	aliases := map[string]string{}
	alias := func(s string) string {
		if aliases[s] != "" {
			return aliases[s]
		}
		n := len(aliases) + 1
		switch name, _, isAttr := strings.Cut(s, "="); {
		case isAttr:
			aliases[s] = fmt.Sprintf(`%s="0x%x"`, name, n)
		case strings.HasPrefix(s, "enx"):
			aliases[s] = fmt.Sprintf("enx%012d", n)
		default:
			aliases[s] = fmt.Sprintf("0000:0000:0000:%04d", n)
		}
		return aliases[s]
	}
	clean := func(s string) string { return personal.ReplaceAllStringFunc(s, alias) }
	for _, m := range []*map[string]string{&c.contents, &c.links, &c.refused} {
		cleaned := map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(*m)) {
			cleaned[clean(name)] = clean((*m)[name])
		}
		*m = cleaned
	}
	folders := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(c.folders)) {
		if names := c.folders[name]; names == nil {
			folders[clean(name)] = nil
		} else {
			folders[clean(name)] = []string{}
			for _, entry := range names {
				folders[clean(name)] = append(folders[clean(name)], clean(entry))
			}
		}
	}
	c.folders = folders
	if info, ok := c.contents["proc/cpuinfo"]; ok {
		c.contents["proc/cpuinfo"] = strings.Join(firstCPU(cpuLines.FindAllString(info, -1)), "\n") + "\n"
	}
	if c.NVML != nil {
		for i := range c.NVML.Devices {
			d := &c.NVML.Devices[i]
			d.Device.UUID = nvml.Fact[string]{}
			if f, known := d.Fabric.Get(); known && f.ClusterUUID != [16]byte{} {
				f.ClusterUUID = [16]byte{15: 1}
				d.Fabric = nvml.Known(f)
			}
		}
	}
}

// firstCPU returns the lines of the first CPU.
func firstCPU(lines []string) []string {
	seen := map[string]bool{}
	for i, line := range lines {
		key, _, _ := strings.Cut(line, ":")
		key = strings.TrimSpace(key)
		if seen[key] {
			return lines[:i]
		}
		seen[key] = true
	}
	return lines
}
