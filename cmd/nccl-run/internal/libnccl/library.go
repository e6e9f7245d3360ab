package libnccl

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ncclgo/ncclgo/internal/dl"
	"github.com/ncclgo/ncclgo/internal/result"
)

// Library is a loaded NCCL.
type Library struct {
	path    string
	version int

	getVersion, getErrorString, getLastError dl.Proc // getLastError is bound or not
	initAll, destroy, abort                  dl.Proc
	allReduce, groupStart, groupEnd          dl.Proc
	newPreMulSum                             dl.Proc // bound or not
}

// Open loads the NCCL that path names: a file, or a name that the dynamic linker
// finds.
func Open(path string) (*Library, error) {
	opened, err := dl.Open(path)
	if err != nil {
		return nil, err
	}
	l := &Library{path: path}
	// Source: nccl.h of NCCL 2.30.
	err = opened.Bind([]dl.Symbol{
		{Name: "ncclGetVersion", Proc: &l.getVersion},
		{Name: "ncclGetErrorString", Proc: &l.getErrorString},
		{Name: "ncclGetLastError", Proc: &l.getLastError, Optional: true, Since: "NCCL 2.13"},
		{Name: "ncclCommInitAll", Proc: &l.initAll},
		{Name: "ncclCommDestroy", Proc: &l.destroy},
		{Name: "ncclCommAbort", Proc: &l.abort, Since: "NCCL 2.4"},
		{Name: "ncclAllReduce", Proc: &l.allReduce},
		{Name: "ncclGroupStart", Proc: &l.groupStart},
		{Name: "ncclGroupEnd", Proc: &l.groupEnd},
		{Name: "ncclRedOpCreatePreMulSum", Proc: &l.newPreMulSum, Optional: true, Since: "NCCL 2.11"},
	})
	if err != nil {
		return nil, fmt.Errorf("%w; this is no libnccl", err)
	}
	var version int32
	rc := l.getVersion.Call(uintptr(unsafe.Pointer(&version)))
	l.version = int(version)
	return l, l.check("ncclGetVersion", rc)
}

// Path returns what the library was opened by.
func (l *Library) Path() string { return l.path }

// Version returns NCCL's version as ncclGetVersion encodes it: 22809 is 2.28.9.
func (l *Library) Version() int { return l.version }

// VersionText returns NCCL's version as its documents write it.
func (l *Library) VersionText() string {
	major := 10_000
	if l.version < major {
		major = 1_000 // before 2.9: 1000 x major + 100 x minor + patch (nccl.h, NCCL_VERSION)
	}
	return fmt.Sprintf("%d.%d.%d", l.version/major, l.version%major/100, l.version%100)
}

// Error is a call of NCCL that failed.
type Error struct {
	Call   string
	Code   result.Code // ncclgo's codes are NCCL's
	Text   string      // NCCL's description of the code
	Detail string      // what NCCL says of its last error
}

// Error puts the call first, then NCCL's words.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s (%d)", e.Call, e.Text, e.Code)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text + "; NCCL_DEBUG=WARN says more"
}

// check returns the error of a code, nil for success.
func (l *Library) check(call string, rc uintptr) error {
	code := result.Code(int32(rc))
	if code == result.Success {
		return nil
	}
	e := &Error{Call: call, Code: code, Text: dl.String(l.getErrorString.Call(rc))}
	if l.getLastError.Bound() {
		e.Detail = dl.String(l.getLastError.Call(0))
	}
	return e
}

// Group makes the operations that fn enqueues one, as ncclGroupStart and
// ncclGroupEnd do. The group is ended even if fn fails: NCCL has no way to give
// one up.
func (l *Library) Group(fn func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := l.check("ncclGroupStart", l.groupStart.Call()); err != nil {
		return err
	}
	err := fn()
	if ended := l.check("ncclGroupEnd", l.groupEnd.Call()); err == nil {
		err = ended
	}
	return err
}
