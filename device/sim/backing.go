package sim

import "runtime"

// mappedBytes is the size from which memory comes from the operating system
// rather than from the Go heap. A Go program that the system refuses memory for
// its heap is over; a mapping that is refused is an error. Mapped memory also
// goes back when it is freed, and the garbage collector does not count it.
const mappedBytes = 1 << 20

// pages is memory of the operating system. The zero value is none.
type pages struct {
	cleanup runtime.Cleanup
	mapped  bool
}

// back gives a its zeroed memory.
func (a *alloc) back(size int64) error {
	if size < mappedBytes || !canMap {
		a.data = make([]byte, size)
		return nil
	}
	data, err := mapPages(int(size))
	if err != nil {
		return err
	}
	a.data = data
	// For machines that nobody closes.
	a.pages = pages{cleanup: runtime.AddCleanup(a, unmapPages, data), mapped: true}
	return nil
}

// unback takes a's memory away. Nobody may use it any more.
func (a *alloc) unback() {
	if a.pages.mapped {
		a.pages.cleanup.Stop()
		unmapPages(a.data)
		a.pages = pages{}
	}
	a.data = nil
}
