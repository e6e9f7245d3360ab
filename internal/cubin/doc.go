// Package cubin keeps assembled kernels on disk, so that a machine assembles a
// kernel once and not in every process.
//
// It knows no driver and no kernel: an entry is bytes under a [Key], the hash of
// everything that the bytes depend on ([Recipe]). It assembles nothing.
//
// Start reading at [Open], [Store.Get] and [Store.Put]. A cache may always be
// absent, so none of them fails a caller's work: what cannot be read is a miss,
// what cannot be written is left out, and why is reported once, in one line.
//
// Any number of goroutines, processes and hosts may use one directory at once.
// Entries are never changed in place: they are written aside and renamed, and
// one that is truncated, altered or not ours is a miss that the next Put
// replaces. No lock is held on files.
package cubin
