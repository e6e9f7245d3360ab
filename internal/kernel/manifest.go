package kernel

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ncclgo/ncclgo/internal/jsondoc"
)

const (
	manifestFormat  = "ncclgo kernel manifest"
	manifestVersion = 1
)

// Manifest tells how the kernels of an archive were made. It holds no time and
// no path, so equal sources give equal manifests.
type Manifest struct {
	Format  string  `json:"format"`
	Version int     `json:"version"`
	Archive Blob    `json:"archive"`
	Builds  []Build `json:"builds"`
	Kernels []Made  `json:"kernels"`
}

// Blob is a file beside the manifest.
type Blob struct {
	File   string `json:"file"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"` // hexadecimal
}

// Build is a compiler with its flags for one target.
type Build struct {
	Compiler string   `json:"compiler"` // "clang" or "nvcc"
	Version  string   `json:"version"`  // of the compiler
	SM       int      `json:"sm"`       // least compute capability times 10
	PTX      int      `json:"ptx"`      // version of the PTX ISA, times 10
	Flags    []string `json:"flags"`
}

// Made is one kernel. Kernels stand in the order of the archive.
type Made struct {
	Symbol    string `json:"symbol"`
	Build     int    `json:"build"`      // index into Builds
	Source    string `json:"source"`     // SHA-256 of its unit and all headers it includes, hexadecimal
	PTXBytes  int    `json:"ptx_bytes"`  // bytes of its module
	PTXSHA256 string `json:"ptx_sha256"` // of its module, hexadecimal
}

// Encode returns m as JSON with its format and version set.
func (m *Manifest) Encode() ([]byte, error) {
	m.Format, m.Version = manifestFormat, manifestVersion
	data, err := json.MarshalIndent(m, "", "  ")
	return append(data, '\n'), err
}

// DecodeManifest is the inverse of [Manifest.Encode]. It refuses any other
// format or version, unknown fields, references to nothing and anything behind.
func DecodeManifest(data []byte) (*Manifest, error) {
	m := new(Manifest)
	err := jsondoc.Decode(bytes.NewReader(data), jsondoc.Limit, m)
	if err == nil {
		err = jsondoc.Check(m.Format, m.Version, manifestFormat, manifestVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("kernel manifest: %w", err)
	}
	for _, made := range m.Kernels {
		if made.Build < 0 || made.Build >= len(m.Builds) {
			return nil, fmt.Errorf("kernel manifest: %s: build %d of %d", made.Symbol, made.Build, len(m.Builds))
		}
	}
	return m, nil
}
