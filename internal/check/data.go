package check

import "bytes"

// period is after how many elements data repeats, so that data of any length
// costs its copies and little more.
//
// Elements that are a multiple of the period apart are equal, so a displacement
// by such a distance does not show. What a collective could displace are the
// parts it cuts data into: chunks, slots, slices. The period is a prime, hence no
// multiple of a part's length and no divisor of it below a million elements:
// parts of n elements only look alike if they are a million parts apart.
const period = 1_000_003

// Data is what a buffer must hold, elements that repeat after a period. It is
// immutable and safe for concurrent use.
type Data struct {
	unit []byte // one period, or all elements if they are fewer
	size int    // of an element, in bytes
}

// Constant returns data of which every byte is b.
func Constant(b byte) Data { return Data{bytes.Repeat([]byte{b}, constantUnit), 1} }

// constantUnit makes filling with a constant take few copies, and none that
// leave a core's nearest cache.
const constantUnit = 16 << 10

// Fill writes the data from byte at on to dst.
func (d Data) Fill(dst []byte, at int) {
	d.pieces(len(dst), at, func(piece []byte, lo int) { copy(dst[lo:], piece) })
}

// Wrong returns how many elements of width bytes in got, which begins with byte
// at of what must be d, are not as they must be, and the index of the first in
// got, or -1. Preconditions: got consists of whole elements, and so does what
// precedes it.
func (d Data) Wrong(got []byte, at, width int) (count, first int) {
	first = -1
	d.pieces(len(got), at, func(piece []byte, lo int) {
		if bytes.Equal(got[lo:lo+len(piece)], piece) {
			return
		}
		for i := 0; i < len(piece); i += width {
			if bytes.Equal(got[lo+i:lo+i+width], piece[i:i+width]) {
				continue
			}
			if first < 0 {
				first = (lo + i) / width
			}
			count++
		}
	})
	return count, first
}

// pieces calls f for parts of the unit that make up the n bytes from byte at on,
// each with where among them it begins.
func (d Data) pieces(n, at int, f func(piece []byte, lo int)) {
	for lo := 0; lo < n; {
		from := (at + lo) % len(d.unit)
		piece := d.unit[from:min(len(d.unit), from+n-lo)]
		f(piece, lo)
		lo += len(piece)
	}
}
