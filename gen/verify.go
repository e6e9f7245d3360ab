package gen

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ncclgo/ncclgo/device/ptx"
	"github.com/ncclgo/ncclgo/internal/abi"
)

// facts are what the tables need to know of a kernel's PTX.
type facts struct {
	ptxVersion  int // times 10
	maxThreads  int
	sharedBytes int
}

// verify reads the PTX made for u and checks it against what every kernel
// promises. All that is wrong is returned together.
//
// That the PTX machine knows every instruction is the parser's to say; a call is
// none it knows. pinned says that the PTX version is to be that of u's target.
func verify(u Unit, text []byte, pinned bool) (facts, ErrorList) {
	v := verifier{file: u.Name() + ".ptx", key: u.Variant.String(), threads: launchBounds[u.Variant.Proto]}
	module, err := ptx.Parse(v.file, text)
	if err != nil {
		v.adopt(err)
		return facts{}, v.errs
	}
	v.adopt(module.Check(module.Version, u.Target.SM))

	version := module.Version.Major*10 + module.Version.Minor
	if pinned && version != u.Target.PTX {
		v.report(0, "is PTX %s; %s is compiled to PTX %d.%d", module.Version, u.Target, u.Target.PTX/10, u.Target.PTX%10)
	}
	if module.TargetText != u.Target.String() {
		v.report(0, "is for target %s, not %s", module.TargetText, u.Target)
	}
	if module.AddressSize != 64 {
		v.report(0, "has addresses of %d bits; kernels take 64", module.AddressSize)
	}
	for _, g := range module.Globals {
		if g.Space == ptx.Global {
			v.report(g.Line, "variable %s: a kernel keeps no state in its module, two communicators would share it", g.Name)
		}
	}
	if len(module.Entries) != 1 {
		v.report(0, "has %d entries; a module is one kernel", len(module.Entries))
		return facts{}, v.errs
	}
	entry := module.Entries[0]
	v.entry(entry)
	return facts{version, entry.MaxNTID[0], entry.SharedSize}, v.errs
}

// verifier collects what is wrong with one kernel.
type verifier struct {
	file    string
	key     string
	threads int // launch bound
	errs    ErrorList
}

func (v *verifier) report(line int, format string, args ...any) {
	v.errs = append(v.errs, &Error{File: v.file, Line: line, Key: v.key, Err: fmt.Errorf(format, args...)})
}

// adopt reports what package ptx found.
func (v *verifier) adopt(err error) {
	var list ptx.ErrorList
	if err != nil && !errors.As(err, &list) {
		v.report(0, "%w", err)
	}
	for _, e := range list {
		v.report(e.Line, "%s: %s", e.Msg, e.Text)
	}
}

func (v *verifier) entry(e *ptx.Entry) {
	if e.Name != v.key {
		v.report(e.Line, "the entry is called %s", e.Name)
	}
	if want := [3]int{v.threads, 1, 1}; e.MaxNTID != want {
		v.report(e.Line, ".maxntid is %v; the protocol's launch bound is %v", e.MaxNTID, want)
	}
	var args abi.KernelArgs
	size, align := int(unsafe.Sizeof(args)), int(unsafe.Alignof(args))
	if len(e.Params) != 1 || e.Params[0].Size != size || e.Params[0].Align != align {
		v.report(e.Line, "parameters are %s; abi.KernelArgs is one of %d bytes aligned to %d", describe(e.Params), size, align)
	}
	if e.LocalSize > 0 {
		v.report(e.Line, "uses %d bytes of local memory a thread; an array is indexed at run time or a struct is copied", e.LocalSize)
	}
	for i := range e.Code {
		v.instruction(&e.Code[i])
	}
}

func describe(params []*ptx.Var) string {
	s := fmt.Sprintf("%d", len(params))
	for _, p := range params {
		s += fmt.Sprintf(", one of %d bytes aligned to %d", p.Size, p.Align)
	}
	return s
}

// instruction checks the rules of docs/ARITHMETIC.md that an instruction shows:
// floating-point arithmetic and conversions say that they round to nearest even,
// since without a modifier an assembler may contract a multiply and an add, and
// nothing is fused.
func (v *verifier) instruction(i *ptx.Instr) {
	switch {
	case i.Rounds() && i.Round == ptx.NoRound:
		v.report(i.Line, "no rounding modifier: %s", i.Text)
	case i.Type.IsFloat() && i.Round != ptx.NoRound && i.Round != ptx.RN:
		v.report(i.Line, "rounds otherwise than to nearest even: %s", i.Text)
	case i.Type.IsFloat() && (i.Op == ptx.OpFma || i.Op == ptx.OpMad):
		v.report(i.Line, "fuses a multiply and an add: %s", i.Text)
	}
	if i.FTZ || i.Approx || i.Full {
		v.report(i.Line, "approximate or flushes subnormal numbers: %s", i.Text)
	}
}
