package sim

import (
	"fmt"

	"github.com/ncclgo/ncclgo/device"
)

// newFault describes a failure at the instruction in execution. lane may be -1.
func (w *warp) newFault(kind device.FaultKind, lane int, format string, args ...any) *device.Fault {
	return w.faultAt(kind, w.pc, lane, format, args...)
}

// faultAt describes a failure of w at pc.
func (w *warp) faultAt(kind device.FaultKind, pc int32, lane int, format string, args ...any) *device.Fault {
	k := w.cta.kernel
	f := &device.Fault{
		Kind: kind, Kernel: k.fn.prog.name, Label: k.ctaLabel(w.cta.index), Device: k.gpu.index,
		File: k.fn.prog.file, CTA: w.cta.index, Warp: w.index, Lane: lane,
		Detail: fmt.Sprintf(format, args...),
	}
	if src := w.code[pc].src; src != nil {
		f.Line, f.Text = src.Line, src.Text
	}
	return f
}

// fail poisons the machine with a fault at the instruction in execution.
func (w *warp) fail(kind device.FaultKind, lane int, format string, args ...any) status {
	w.m.poison(w.newFault(kind, lane, format, args...))
	return failed
}
