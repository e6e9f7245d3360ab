// Package topo is the machine as a graph: NCCL's topology XML, the system of
// GPUs, switches, CPUs and network cards it describes, the paths between GPUs,
// the search that turns them into channels, and the rings and trees of several
// such machines.
//
// It is pure: it knows no device, no clock, no environment and no goroutine,
// and everything it computes is a function of a topology file. Reading the
// file is its caller's: see [Load].
//
// Start reading at [Document], the file as it is written, then [System], the
// graph that [NewSystem] makes of it, then [System.View], which is what a rank of
// a communicator sees of it, then [Search], which gives its [Graphs]. [Members]
// does all that for the nodes of a communicator, and [Connect] makes the [Layout]
// that they agree on. [Builtin] has descriptions of common machines.
//
// Bandwidths are GB/s (1e9 bytes a second) and float32 where NCCL has float32,
// so that the same file gives the same numbers. A Document may be changed by
// its owner; a System, a Graph and a Layout are read-only once made and
// safe for concurrent use. Errors in a file are [*FileError] values with line and
// column.
package topo

//go:generate go tool -modfile=../tools.mod stringer -type=PathType -trimprefix=Path -output zpathtype_string.go
//go:generate go tool -modfile=../tools.mod stringer -type=NodeType,LinkType -linecomment -output zenums_string.go
//go:generate go tool -modfile=../tools.mod stringer -type=Pattern,GraphID -linecomment -output zgraph_string.go
