package doctor

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/ncclgo/ncclgo/internal/jsondoc"
)

// Version is the version of the JSON document.
const Version = 1

// Report is what was found, in the form of the JSON document of docs/FORMATS.md.
// Sizes are bytes.
type Report struct {
	Format  string `json:"format"` // always formatName
	Version int    `json:"version"`
	Device  string `json:"device"` // what --device auto takes: "cuda" or "sim"
	Build   Build  `json:"build"`
	Driver  Driver `json:"driver"`
	NVML    NVML   `json:"nvml"`
	GPUs    []GPU  `json:"gpus"`
	// Topology is what is assumed of the machine where no file tells: the notes,
	// and a drawing.
	Topology Topology `json:"topology"`
	Cache    Cache    `json:"cache"`
	Limits   Limits   `json:"limits"`
	Clang    string   `json:"clang"` // path of clang-19, empty if there is none
	Advice   []Advice `json:"advice"`
}

const formatName = "ncclgo doctor"

// Build is what this program is.
type Build struct {
	Module  string `json:"module"` // version of ncclgo
	Go      string `json:"go"`
	Target  string `json:"target"`  // "linux/amd64"
	Kernels int    `json:"kernels"` // in the archive
	SMs     []int  `json:"sms"`     // compute capabilities times 10 that they need at least
}

// Driver is the CUDA driver.
type Driver struct {
	Problem     string `json:"problem,omitempty"` // why it is of no use
	CUDA        int    `json:"cuda,omitempty"`    // 1000 x major + 10 x minor
	Release     string `json:"release,omitempty"` // "580.159.04", by NVML
	Connections int    `json:"connections,omitempty"`
}

// NVML is NVIDIA's management library.
type NVML struct {
	Problem string `json:"problem,omitempty"` // why it is of no use
	Version string `json:"version,omitempty"`
}

// GPU is one GPU, by CUDA's ordinal.
type GPU struct {
	Name        string `json:"name"`
	SM          int    `json:"sm"` // compute capability times 10
	SMs         int    `json:"sms"`
	MemoryBytes int64  `json:"memory_bytes"`
	BusID       string `json:"bus_id"`
	NUMANode    int    `json:"numa_node"` // -1 if not known
	UUID        string `json:"uuid,omitempty"`
	MIG         bool   `json:"mig,omitempty"`
	NVLinks     int    `json:"nvlinks"` // active
	Fabric      string `json:"fabric,omitempty"`
	// Peer[j] and NVLink[j] say whether it can access the memory of GPU j, and
	// whether over NVLink.
	Peer    []bool `json:"peer"`
	NVLink  []bool `json:"nvlink,omitempty"`
	Problem string `json:"problem,omitempty"` // why it cannot be used
}

// Topology is what the GPUs are taken to be connected by.
type Topology struct {
	Problem string   `json:"problem,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	Text    string   `json:"text,omitempty"`
}

// Cache is the directory of assembled kernels.
type Cache struct {
	Dir      string `json:"dir"` // empty if there is none
	Entries  int    `json:"entries"`
	Bytes    int64  `json:"bytes"`
	MaxBytes int64  `json:"max_bytes"`
	Problem  string `json:"problem,omitempty"`
}

// Limits are what the system and the environment allow.
type Limits struct {
	Memlock     int64  `json:"memlock"`   // RLIMIT_MEMLOCK; -1: none, or not known
	SharedBytes int64  `json:"dev_shm"`   // size of /dev/shm; -1: not known
	Variables   []Pair `json:"variables"` // that the CUDA driver reads and that are set
}

// Pair is an environment variable.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Advice is something that is missing or in the way, and what to do.
type Advice struct {
	Missing string `json:"missing"`
	Do      string `json:"do"`
}

// Write writes the document and a newline.
func (r *Report) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// Decode reads a document and refuses one of another format or version, or with
// fields that this version does not have.
func Decode(r io.Reader) (*Report, error) {
	d := new(Report)
	err := jsondoc.Decode(r, jsondoc.Limit, d)
	if err == nil {
		err = jsondoc.Check(d.Format, d.Version, formatName, Version)
	}
	if err != nil {
		return nil, fmt.Errorf("document of nccl-run doctor: %w", err)
	}
	return d, nil
}
