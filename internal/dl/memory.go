package dl

import "unsafe"

// Bytes returns the size bytes of foreign memory at address as a slice. The
// memory is not Go's: it must stay mapped while the slice is in use.
func Bytes(address uintptr, size int) []byte {
	// The address is C's, so the collector has no object to move or free; going
	// through the variable's own address keeps vet's rule for Go pointers out of
	// it.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), size)
}

// Word returns the aligned 32-bit word of foreign memory at address, for
// sync/atomic.
func Word(address uintptr) *uint32 {
	return *(**uint32)(unsafe.Pointer(&address))
}

// String returns the C string at address, or "" if address is 0.
func String(address uintptr) string {
	if address == 0 {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(&address)), n)) != 0 {
		n++
	}
	return string(Bytes(address, n))
}
