// Package dl opens shared libraries and binds their functions, without cgo. It
// is the only importer of purego and the one place where an address becomes a
// Go pointer.
//
// It knows no library: names and tables come from its callers. Where a dynamic
// library can't be had (musl, other systems, build tag nodl) the package
// builds and [Open] says so.
//
// Start reading at [Open] and [Library.Bind]. A Library stays loaded for the
// life of the process. A bound [Proc] may be called by any goroutine; whether
// the function behind it may be is for its library to say.
package dl
