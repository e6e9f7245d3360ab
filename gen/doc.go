// Package gen is the kernel compiler: it enumerates every kernel variant with
// the rules that exclude some, renders the sources of those that are built,
// compiles them to PTX, verifies what came out, and writes the folder
// generated/: the kernel archive, the manifest and the Go tables by which a
// program finds a kernel.
//
// It never imports what it wrote, and it knows nothing of topology, planning or
// devices. How an algorithm or a protocol works is in templates/cuda; what gen
// renders only instantiates it.
//
// Reading order: [Space] and rules.go are the space; built.go is the part of it
// that has sources; [Generate] is the pipeline, in the order render, compile,
// verify, emit; [Check] proves that generated/ is what the sources give.
//
// Output depends on nothing but the module's files and the compiler's version:
// no time, no path, no environment, no order of maps or workers. Errors come
// all together, as an [ErrorList] sorted by place.
package gen

//go:generate go run github.com/ncclgo/ncclgo/cmd/nccl-gen
