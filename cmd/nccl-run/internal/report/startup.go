package report

import "fmt"

// Phase is a part of what it took to get to the first result.
type Phase struct {
	Name         string  `json:"name"`
	Milliseconds float64 `json:"milliseconds"`
	Note         string  `json:"note,omitempty"`
}

// Line returns a phase as text, for comments.
func (p Phase) Line() string {
	line := fmt.Sprintf("startup %-13s %9.2f ms", p.Name, p.Milliseconds)
	if p.Note != "" {
		line += "  " + p.Note
	}
	return line
}
