package kernel

import (
	"fmt"
	"sync"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/archive"
	"github.com/ncclgo/ncclgo/internal/result"
)

// Kernel is one compiled kernel: a variant for one target.
type Kernel struct {
	Variant     coll.Variant
	Symbol      string // name of its entry in its PTX module
	SM          int    // least compute capability times 10: 70 is sm_70
	PTXVersion  int    // of the PTX ISA, times 10: 78 is 7.8
	MaxThreads  int    // launch bound, threads of a CTA
	SharedBytes int    // static shared memory of a CTA
	Module      int    // position in the archive

	source *source
}

// PTX returns the text of the kernel's module, which is not to be changed. The
// archive is checked on the first call of any kernel; a group of it is unpacked
// when the first of its kernels is asked for.
func (k *Kernel) PTX() ([]byte, error) {
	a, err := k.source.open()
	if err != nil {
		return nil, err
	}
	op := "read kernel " + k.Symbol
	if want := ModuleName(k.Symbol, k.SM); k.Module >= a.Len() || a.Name(k.Module) != want {
		return nil, result.New(result.SystemError, op,
			"module %d of the archive is not %s: tables and archive are of different runs of nccl-gen; run it again", k.Module, want)
	}
	text, err := a.Module(k.Module)
	return text, result.Wrap(result.SystemError, op, err)
}

// ModuleName returns the name that a kernel's module has in the archive: its
// symbol and its target, as two targets of one variant are two modules.
func ModuleName(symbol string, sm int) string { return fmt.Sprintf("%s.sm_%d", symbol, sm) }

// source is the archive that the kernels of a table share.
type source struct {
	open func() (*archive.Archive, error)
}

func newSource(data []byte) *source {
	return &source{open: sync.OnceValues(func() (*archive.Archive, error) {
		a, err := archive.Open(data)
		return a, result.Wrap(result.SystemError, "open kernels", err)
	})}
}
