package cuda

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/ncclgo/ncclgo/internal/dl"
)

// ErrNoDriver is the error of [Open] where there is no CUDA driver: no NVIDIA
// driver is installed, or this build loads no dynamic libraries.
var ErrNoDriver = errors.New("no CUDA driver")

// ErrNoDevice is the error of [Open] where there is a driver but no GPU that it
// shows to this process.
var ErrNoDevice = errors.New("no CUDA device; see that nvidia-smi lists one and that CUDA_VISIBLE_DEVICES does not hide it")

// errClosed is what calls after Driver.Close return.
var errClosed = errors.New("cuda: the driver is closed")

// OldDriverError is the error of [Open] for a driver that is too old.
type OldDriverError struct {
	Version int // 1000 x major + 10 x minor, of the newest CUDA it supports
}

// Error says what was found and the least that works.
func (e *OldDriverError) Error() string {
	return fmt.Sprintf("cuda: the driver supports CUDA %s; the least that works is CUDA %s, driver %s: install a newer NVIDIA driver",
		versionText(e.Version), versionText(leastVersion), leastDriver)
}

// OldGPUError is the error of [Driver.Open] for a GPU that is too old.
type OldGPUError struct {
	Device int
	Name   string
	SM     int // compute capability times 10
}

// Error says what was found and the least that works.
func (e *OldGPUError) Error() string {
	return fmt.Sprintf("cuda: GPU %d (%s) is sm_%d; the least that works is sm_%d (Volta): hide it with CUDA_VISIBLE_DEVICES", e.Device, e.Name, e.SM, leastSM)
}

// Code is a CUresult. It is no error itself.
type Code int32

// Codes that this package tells apart.
//
// Source: CUDA driver API, enum CUresult.
const (
	success                  Code = 0
	invalidValue             Code = 1
	outOfMemory              Code = 2
	stubLibrary              Code = 34
	deviceUnavailable        Code = 46
	noDevice                 Code = 100
	invalidImage             Code = 200
	noBinaryForGPU           Code = 209
	eccUncorrectable         Code = 214
	peerAccessUnsupported    Code = 217
	nvlinkUncorrectable      Code = 220
	jitCompilerNotFound      Code = 221
	unsupportedPTXVersion    Code = 222
	notReady                 Code = 600
	illegalAddress           Code = 700
	launchOutOfResources     Code = 701
	launchTimeout            Code = 702
	peerAccessAlreadyEnabled Code = 704
	contextIsDestroyed       Code = 709
	assertFailed             Code = 710
	hardwareStackError       Code = 714
	illegalInstruction       Code = 715
	misalignedAddress        Code = 716
	invalidAddressSpace      Code = 717
	invalidPC                Code = 718
	launchFailed             Code = 719
	systemNotReady           Code = 802
	systemDriverMismatch     Code = 803
	compatNotSupported       Code = 804
	mpsClientTerminated      Code = 810
	streamCaptureUnsupported Code = 900
	streamCaptureInvalidated Code = 901
	streamCaptureUnjoined    Code = 904
	capturedEvent            Code = 907
	externalDevice           Code = 911
)

// fatal reports whether the driver gives this code for all that follows, to the
// end of the process.
func (c Code) fatal() bool {
	switch c {
	case eccUncorrectable, nvlinkUncorrectable, illegalAddress, launchTimeout, contextIsDestroyed, assertFailed,
		hardwareStackError, illegalInstruction, misalignedAddress, invalidAddressSpace, invalidPC, launchFailed,
		mpsClientTerminated, externalDevice:
		return true
	}
	return false
}

// advice says what to do next, for the codes where there is something.
var advice = map[Code]string{
	outOfMemory:              "free memory or use smaller buffers; nvidia-smi shows who holds it",
	stubLibrary:              "this libcuda is the toolkit's stub; put the NVIDIA driver's own first on the library path",
	deviceUnavailable:        "the GPU is prohibited, or exclusive to another process (nvidia-smi -q -d COMPUTE); end that process or set compute mode DEFAULT",
	peerAccessUnsupported:    "peer access between these GPUs is not to be had; nvidia-smi topo -p2p r shows which have it",
	jitCompilerNotFound:      "libnvidia-ptxjitcompiler is missing; install the NVIDIA driver whole",
	unsupportedPTXVersion:    "the PTX is newer than the driver; install a newer NVIDIA driver",
	noBinaryForGPU:           "the image was made for another GPU; assemble the PTX again",
	launchOutOfResources:     "the kernel needs more registers or shared memory than a CTA of this many threads can have",
	systemNotReady:           "the fabric manager or another system service is not running; see systemctl status nvidia-fabricmanager",
	systemDriverMismatch:     "kernel module and libcuda are of different drivers; reboot, or reload the module",
	compatNotSupported:       "the forward-compatibility libcuda does not support this GPU; take it off the library path",
	streamCaptureUnsupported: "the call is not allowed while the stream is captured",
	streamCaptureInvalidated: "an earlier call broke the capture; end it and begin again",
	streamCaptureUnjoined:    "work forked to other streams has not been joined; wait for their events first",
	capturedEvent:            "the event was recorded in a capture, which does not run; record it outside",
}

// Error is a driver call that failed.
type Error struct {
	Call   string // "cuMemAlloc"
	Args   string // what it was asked, in words
	Code   Code
	Name   string // "CUDA_ERROR_OUT_OF_MEMORY"
	Text   string // the driver's description
	Detail string // the assembler's log; the launches that may have caused it
}

// Error puts the call first, the driver's words next, then details and advice.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s(%s): %s (%d)", e.Call, e.Args, e.Name, e.Code)
	for _, part := range []string{e.Text, e.Detail, advice[e.Code]} {
		if part != "" {
			b.WriteString(": " + part)
		}
	}
	return b.String()
}

// newError describes a code in the driver's words.
func (l *library) newError(call string, rc Code, format string, args ...any) *Error {
	e := &Error{Call: call, Args: fmt.Sprintf(format, args...), Code: rc, Name: "unknown CUresult"}
	var name, words uintptr
	if Code(l.getErrorName.Call(uintptr(rc), uintptr(unsafe.Pointer(&name)))) == success {
		e.Name = dl.String(name)
	}
	if Code(l.getErrorString.Call(uintptr(rc), uintptr(unsafe.Pointer(&words)))) == success {
		e.Text = dl.String(words)
	}
	return e
}

// check returns the error of a code, nil for success. It is for calls that need
// no context; Device.check is for the others.
func (l *library) check(call string, rc uintptr, format string, args ...any) error {
	if Code(rc) == success {
		return nil
	}
	return l.newError(call, Code(rc), format, args...)
}
