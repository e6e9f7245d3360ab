package conformance

import (
	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/internal/kernel"
)

// Kernel is a kernel to run: one that is built, or one with a planted fault.
type Kernel struct {
	Name    string // of its module: symbol and target
	Variant coll.Variant
	SM      int // least compute capability times 10
	PTX     []byte
}

// Kernels returns every kernel that is built, by ID of its variant, then by
// target.
func Kernels() ([]Kernel, error) {
	var all []Kernel
	built := generated.Kernels()
	for i := range built {
		k := &built[i]
		text, err := k.PTX()
		if err != nil {
			return nil, err
		}
		all = append(all, Kernel{kernel.ModuleName(k.Symbol, k.SM), k.Variant, k.SM, text})
	}
	return all, nil
}
