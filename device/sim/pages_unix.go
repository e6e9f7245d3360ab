//go:build linux || darwin

package sim

import "syscall"

const canMap = true

// mapPages maps zeroed memory, of which the system provides what is touched.
func mapPages(size int) ([]byte, error) {
	return syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

// unmapPages undoes mapPages, which has no way to fail for a slice of its making.
func unmapPages(b []byte) { _ = syscall.Munmap(b) }
