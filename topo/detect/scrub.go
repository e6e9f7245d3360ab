package detect

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/topo"
)

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
	c.scrubCPU()
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
	if c.NVML != nil {
		scrubNVML(c.NVML)
	}
}

// scrubCPU leaves of /proc/cpuinfo what the first CPU is.
func (c *Capture) scrubCPU() {
	at, err := newTree(c).resolve(cpuFile)
	if info, ok := c.contents[at]; err == nil && ok {
		c.contents[at] = strings.Join(firstCPU(cpuLines.FindAllString(info, -1)), "\n") + "\n"
	}
}

// scrubNVML takes the UUIDs of GPUs out, and that of their fabric, of which there is
// one.
func scrubNVML(s *nvml.Snapshot) {
	for i := range s.Devices {
		d := &s.Devices[i]
		d.Device.UUID = nvml.Fact[string]{}
		if f, known := d.Fabric.Get(); known && f.ClusterUUID != [16]byte{} {
			f.ClusterUUID = [16]byte{15: 1}
			d.Fabric = nvml.Known(f)
		}
	}
}

// scrubVirtual leaves of the file of a virtual machine what detection reads of it:
// people may have written anything between.
func (c *Capture) scrubVirtual(aliases aliases) {
	at, err := newTree(c).resolve(VirtualTopology[1:])
	if _, there := c.contents[at]; err != nil || !there {
		return
	}
	doc, err := readFile(c, at, VirtualTopology)
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
