// Package report writes what a run was asked, used and measured: as the text
// that nccl-tests 2.19.6 prints, byte for byte where a script may look, and as
// the JSON document that nccl-tests writes, with one object more.
//
// It knows nothing of how the numbers came about. Start reading at [Run], what
// both forms begin with, then [Table] and [Document]. A Table writes at once; a
// Document is collected and written whole.
package report
