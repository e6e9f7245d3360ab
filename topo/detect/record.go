package detect

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
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

// cpuLines are the lines of /proc/cpuinfo that say what a CPU is.
var cpuLines = regexp.MustCompile(`(?m)^(vendor_id|cpu family|model|CPU implementer|cpu)[ \t]*:.*$`)

// personal are parts of paths and texts that are unique to a machine: MAC addresses
// in the names that systemd gives to interfaces (systemd.net-naming-scheme(7)), and
// GUIDs.
var personal = regexp.MustCompile(`(?i)\b(?:en|ib|sl|wl|ww)x[0-9a-f]{12}\b|(?:[0-9a-f]{4}:){3}[0-9a-f]{4}`)

// folder is the way to a file from the root, which may have a user's name in it.
var folder = regexp.MustCompile(`(?:/[^/\s:;,"']+)+/`)

// scrub replaces what identifies a machine by what only tells equal from different.
func (c *Capture) scrub() {
	aliases := aliases{}
	c.NoCUDA, c.NoNVML = folder.ReplaceAllString(c.NoCUDA, ""), folder.ReplaceAllString(c.NoNVML, "")
	c.scrubVirtual(aliases)
	for name := range c.contents {
		// Whatever form it has.
		if path.Base(name) == guidFile && !personal.MatchString(c.contents[name]) {
			c.contents[name] = ""
		}
	}
	clean := func(s string) string { return personal.ReplaceAllStringFunc(s, aliases.of) }
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

// scrubVirtual leaves of the file of a virtual machine what detection reads of it:
// people may have written anything between.
func (c *Capture) scrubVirtual(aliases aliases) {
	at, err := newTree(c).resolve(VirtualTopology[1:])
	text, there := c.contents[at]
	if err != nil || !there {
		return
	}
	doc, err := topo.Parse(VirtualTopology, []byte(text))
	if err != nil {
		delete(c.contents, at)
		c.folders[at] = nil // it is there
		c.refused[at] = err.Error()
		return
	}
	var clean func(*topo.Element)
	clean = func(e *topo.Element) {
		e.Unset("host_hash")
		if guid, ok := e.Get("guid"); ok {
			e.Set("guid", aliases.number(guid))
		}
		for _, child := range e.Children {
			clean(child)
		}
	}
	clean(doc.Root)
	var b strings.Builder
	// A strings.Builder takes everything.
	_, _ = doc.WriteTo(&b)
	c.contents[at] = b.String()
}

// aliases stand for what is unique to a machine.
type aliases map[string]int

// number returns the alias of a number.
func (a aliases) number(s string) string {
	s = strings.ToLower(s)
	if a[s] == 0 {
		a[s] = len(a) + 1
	}
	return fmt.Sprintf("0x%x", a[s])
}

// of returns the alias of a GUID, or of an interface's name, in the same form.
func (a aliases) of(s string) string {
	number := a.number(s)[len("0x"):]
	if strings.Contains(s, ":") {
		return fmt.Sprintf("0000:0000:0000:%04s", number)
	}
	return fmt.Sprintf("%s%012s", s[:len("enx")], number)
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
