package detect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ncclgo/ncclgo/internal/jsondoc"
	"github.com/ncclgo/ncclgo/internal/nvml"
	"github.com/ncclgo/ncclgo/internal/result"
)

// Version and format of the file form of a capture.
const (
	captureFormat  = "ncclgo machine"
	captureVersion = 1
)

// Bounds of a file. Hundreds of devices take a tenth, of 15 files each and what
// NVML says of them.
const (
	maxCapture = 8 << 20 // bytes
	maxNames   = 1 << 15
)

// Capture is what detection read of a machine: enough to detect it anywhere. Its
// file form is JSON (docs/FORMATS.md).
type Capture struct {
	// Arch and GPUs are those of the [Source].
	Arch string
	GPUs []GPU
	// NVML is what NVML says; nil, with NoNVML as the reason, if it says nothing.
	NVML   *nvml.Snapshot
	NoNVML string
	// NoCUDA is why CUDA tells nothing, where GPUs is nil.
	NoCUDA string

	contents map[string]string   // of files that were read
	links    map[string]string   // symbolic links, and where they lead
	folders  map[string][]string // names in folders that were listed; nil of what is only known to be there
	refused  map[string]string   // what could not be read, and why
}

// Source returns the machine, to be detected.
func (c *Capture) Source() Source {
	s := Source{Arch: c.Arch, GPUs: c.GPUs, captured: c}
	switch {
	case c.NVML != nil:
		s.NVML = c.NVML.Replay()
	case c.NoNVML != "":
		s.NoNVML = errors.New(c.NoNVML)
	}
	if c.NoCUDA != "" {
		s.NoCUDA = errors.New(c.NoCUDA)
	}
	return s
}

// failed returns why a file could not be read.
func (c *Capture) failed(name string) error {
	switch why, ok := c.refused[name]; {
	case !ok:
		return &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	case why == fs.ErrPermission.Error():
		return &fs.PathError{Op: "read", Path: name, Err: fs.ErrPermission}
	default:
		return errors.New(why)
	}
}

func (c *Capture) readLink(name string) (string, error) {
	if to, ok := c.links[name]; ok {
		return to, nil
	}
	if _, ok := c.folders[name]; ok {
		return "", errNoLink
	}
	if _, ok := c.contents[name]; ok {
		return "", errNoLink
	}
	return "", c.failed(name)
}

func (c *Capture) read(name string, maxBytes int) ([]byte, error) {
	text, ok := c.contents[name]
	if !ok {
		return nil, c.failed(name)
	}
	return []byte(text[:min(len(text), maxBytes)]), nil
}

func (c *Capture) list(name string) ([]string, error) {
	if names := c.folders[name]; names != nil {
		return names, nil
	}
	return nil, c.failed(name)
}

// captureDocument is the file form of a Capture.
type captureDocument struct {
	Format  string              `json:"format"`
	Version int                 `json:"version"`
	Arch    string              `json:"arch,omitempty"`
	CUDA    []GPU               `json:"cuda,omitempty"`
	NoCUDA  string              `json:"noCuda,omitempty"`
	NVML    json.RawMessage     `json:"nvml,omitempty"`
	NoNVML  string              `json:"noNvml,omitempty"`
	Files   map[string]string   `json:"files"`
	Links   map[string]string   `json:"links"`
	Folders map[string][]string `json:"folders"`
	Refused map[string]string   `json:"refused"`
}

// Write writes the capture as JSON.
func (c *Capture) Write(w io.Writer) error {
	doc := captureDocument{
		Format: captureFormat, Version: captureVersion, Arch: c.Arch, CUDA: c.GPUs, NoCUDA: c.NoCUDA, NoNVML: c.NoNVML,
		Files: c.contents, Links: c.links, Folders: c.told(), Refused: c.refused,
	}
	if c.NVML != nil {
		var b bytes.Buffer
		if err := c.NVML.Write(&b); err != nil {
			return err
		}
		doc.NVML = b.Bytes()
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(doc)
}

// IsCapture reports whether data may be the file form of a capture: topology files
// are XML.
func IsCapture(data []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) }

// ReadCapture reads what [Capture.Write] writes and refuses anything else.
func ReadCapture(r io.Reader) (*Capture, error) {
	var doc captureDocument
	var c *Capture
	err := jsondoc.Decode(r, maxCapture, &doc)
	if err == nil {
		c, err = doc.capture()
	}
	if err != nil {
		return nil, result.New(result.InvalidArgument, "read capture", "%w; a capture is what nccl-run topo capture writes", err)
	}
	return c, nil
}

func (doc *captureDocument) capture() (*Capture, error) {
	err := jsondoc.Check(doc.Format, doc.Version, captureFormat, captureVersion)
	switch {
	case err != nil:
		return nil, err
	case doc.NVML != nil && doc.NoNVML != "":
		return nil, errors.New("\"nvml\" and \"noNvml\" exclude each other")
	case doc.CUDA != nil && doc.NoCUDA != "":
		return nil, errors.New("\"cuda\" and \"noCuda\" exclude each other")
	}
	c := &Capture{
		Arch: doc.Arch, GPUs: doc.CUDA, NoCUDA: doc.NoCUDA, NoNVML: doc.NoNVML,
		contents: doc.Files, links: doc.Links, folders: doc.Folders, refused: doc.Refused,
	}
	if doc.NVML != nil {
		var err error
		if c.NVML, err = nvml.ReadSnapshot(bytes.NewReader(doc.NVML)); err != nil {
			return nil, err
		}
	}
	if c.folders == nil {
		c.folders = map[string][]string{}
	}
	names := c.names()
	if len(names) > maxNames {
		return nil, fmt.Errorf("%d files and folders; at most %d are supported", len(names), maxNames)
	}
	for _, name := range names {
		if !fs.ValidPath(name) || strings.Count(name, "/") >= maxParts {
			return nil, fmt.Errorf("%s is no path from the root, such as \"sys/class/net\"", shown(name))
		}
		c.above(name)
	}
	return c, nil
}

// above notes that the folders above a file are there.
func (c *Capture) above(name string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, known := c.folders[dir]; known {
			return
		}
		c.folders[dir] = nil
	}
}

// told returns the folders without those that are there because something below
// them is.
func (c *Capture) told() map[string][]string {
	folders := maps.Clone(c.folders)
	for _, name := range c.names() {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if names, known := folders[dir]; known && names == nil {
				delete(folders, dir)
			}
		}
	}
	return folders
}

// names returns all that is known to be there.
func (c *Capture) names() []string {
	return slices.Concat(slices.Collect(maps.Keys(c.contents)), slices.Collect(maps.Keys(c.links)), slices.Collect(maps.Keys(c.folders)))
}
