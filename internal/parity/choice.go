package parity

import (
	"encoding/json"
	"fmt"
	"os"
)

// Costs are NCCL's model: a value of LL, LL128 and Simple by function and
// algorithm.
type Costs map[string]map[string][3]float32

// Threads are NCCL's threads of a CTA, or bytes for each: a value of LL, LL128 and
// Simple by algorithm.
type Threads map[string][3]int64

// Choice is what NCCL chose for one size of a function, of f32 and Sum.
type Choice struct {
	Bytes    int64   `json:"bytes"`
	Algo     string  `json:"algo"`
	Proto    string  `json:"proto"`
	Time     float32 `json:"time"` // µs
	Channels int     `json:"nMaxChannels"`
	Warps    int     `json:"nWarps"`
	// Table[algo] are the predicted times of LL, LL128 and Simple, µs; -1: not
	// available.
	Table map[string][3]float32 `json:"table"`
}

// Choices returns what NCCL chose in the run, by function and then by size.
func (r *Run) Choices() (map[string][]Choice, error) {
	data, err := os.ReadFile(r.file(".choice.json"))
	if err != nil {
		return nil, err
	}
	var file struct {
		Choice map[string][]Choice `json:"choice"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	return file.Choice, nil
}
