//go:build linux && (amd64 || arm64) && !nodl

package dl

import (
	"runtime"

	"github.com/ebitengine/purego"
)

func open(name string) (uintptr, error) {
	// What went wrong is kept for the thread that asked (dlerror): another one would
	// be told nothing.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func lookUp(handle uintptr, name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(handle, name)
}

// Call calls the function with integer arguments and returns its result.
//
// A conversion uintptr(unsafe.Pointer(&v)) that stands in the argument list
// itself moves v to the heap and keeps it there during the call, as with
// syscall.Syscall; an address computed earlier or elsewhere does not, for
// goroutine stacks move. A list written out in the call is allocated for it; a
// slice kept from call to call and passed as args... is not.
//
//go:uintptrescapes
func (p Proc) Call(args ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(uintptr(p), args...)
	return result
}
