package device

import (
	"fmt"
	"strings"
)

// FaultKind is a class of kernel failure. The list is closed.
type FaultKind string

const (
	OutOfBounds     FaultKind = "out of bounds"
	Misaligned      FaultKind = "misaligned"
	UseAfterFree    FaultKind = "use after free"
	ReadOnly        FaultKind = "write to read-only memory"
	BarrierMismatch FaultKind = "mismatched barrier"
	IllegalOperand  FaultKind = "illegal operand"
	Trapped         FaultKind = "trap"
	NotResident     FaultKind = "cannot be resident together"
	Stuck           FaultKind = "stuck"
	Race            FaultKind = "race"
)

// Fault is a kernel failure: what happened, and where. Fields that do not
// apply are empty, numbers -1.
type Fault struct {
	Kind   FaultKind
	Kernel string
	Label  string // the launch's label ("rank 3"), then the CTA's ("ch 1")
	Device int
	File   string
	Line   int    // line of the PTX text
	Text   string // the instruction
	CTA    int
	Warp   int
	Lane   int
	Addr   Ptr
	// AddrLabel says what lies at Addr ("rank 3 ch 1 LL recv from 2 +0x40").
	AddrLabel string
	// Detail is the rest of the story, one line.
	Detail string
	// Others are further places involved: the other side of a race, everyone
	// who waits when nobody can progress.
	Others []*Fault
}

// Error returns one line for the fault and one, indented, for each of Others.
func (f *Fault) Error() string {
	var b strings.Builder
	f.write(&b)
	for _, o := range f.Others {
		b.WriteString("\n  ")
		o.write(&b)
	}
	return b.String()
}

func (f *Fault) write(b *strings.Builder) {
	sep := ""
	part := func(format string, args ...any) {
		b.WriteString(sep)
		fmt.Fprintf(b, format, args...)
		sep = ": "
	}
	if f.Label != "" {
		part("%s", f.Label)
	}
	if f.Kernel != "" {
		part("%s", f.Kernel)
	}
	if f.Kind != "" {
		part("%s", f.Kind)
	}
	if f.Line > 0 {
		part("%s:%d", f.File, f.Line)
	}
	if f.CTA >= 0 && f.Kernel != "" {
		part("GPU %d CTA %d warp %d lane %d", f.Device, f.CTA, f.Warp, f.Lane)
	}
	if f.Text != "" {
		part("%s", f.Text)
	}
	if f.Addr != 0 {
		part("address %#x", uint64(f.Addr))
		if f.AddrLabel != "" {
			fmt.Fprintf(b, " (%s)", f.AddrLabel)
		}
	}
	if f.Detail != "" {
		part("%s", f.Detail)
	}
}
