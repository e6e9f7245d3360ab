// Package kernel holds what the generated tables are made of: a [Table] finds
// the best [Kernel] of a variant for a GPU, or says why there is none, and a
// Kernel gives its PTX. It also holds the [Manifest], which tells how each kernel was made.
//
// It knows neither devices nor the compiler. The values come from package
// generated, which is data only; package gen, which writes that, uses the same
// types.
//
// Start reading at [Table.Lookup]. A Table is immutable and safe for concurrent
// use. Refused lookups are [*result.Error]: a combination that a rule excludes
// is result.ErrInvalidArgument, a valid variant without a kernel is
// result.ErrNotBuilt, and a GPU that is too old is result.ErrInvalidArgument with
// an [*SMError]. A damaged archive is result.ErrSystem and wraps
// [*archive.FormatError]; one that is not of the tables is result.ErrSystem.
package kernel
