package ptx

import "fmt"

// maxBytes holds the most bytes that the variables of a space may have together:
// of a module for .const, of a kernel for .shared and .local. What a launch adds
// to shared memory does not count. There is no such limit for .global: the
// device's memory is one.
//
// Source: PTX ISA, "Constant State Space"; CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability" (local memory of a thread) and "Compute
// Capability 7.x" (static shared memory stays at 48 KiB where there is more).
var maxBytes = map[Space]int{
	Const:  64 << 10,
	Shared: 48 << 10,
	Local:  512 << 10,
}

// overflow returns what is wrong if the variables of v's space end, with v, at
// byte end, or nil.
func (v *Var) overflow(end int) *Error {
	if limit := maxBytes[v.Space]; end > limit {
		return &Error{Line: v.Line, Msg: fmt.Sprintf("%s makes it %d bytes of .%s variables; the limit is %d", v.Name, end, v.Space, limit)}
	}
	return nil
}

// maxParams returns the most bytes of parameters that a kernel may have.
//
// Source: PTX ISA, ".entry", "PTX ISA Notes": by version, and by target for what
// CUDA's driver takes.
func (m *Module) maxParams() int {
	if m.Version.Less(Version{8, 1}) || m.SM < 70 {
		return 4352
	}
	return 32764
}
