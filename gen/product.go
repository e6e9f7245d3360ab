package gen

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/archive"
	"github.com/ncclgo/ncclgo/internal/kernel"
)

// made is one kernel that is there: its PTX and how it came about.
type made struct {
	variant coll.Variant
	build   kernel.Build
	source  string // hash of what it was compiled from
	ptx     []byte
	facts   facts
}

// name names the kernel's module in the archive.
func (m *made) name() string { return kernel.ModuleName(m.variant.String(), m.build.SM) }

// groupOf tells which kernels share a group of the archive: those that differ
// in operator and type only. They are one source, so they compress well
// together, and a program that needs one soon needs others.
type groupOf struct {
	fn    coll.Func
	algo  coll.Algo
	proto coll.Proto
	sm    int
}

// product is all that generated/ says: the kernels by ID of their variant, then
// by target.
type product []*made

// sort puts the kernels in order.
func (p product) sort() {
	slices.SortFunc(p, func(a, b *made) int {
		if a.variant != b.variant {
			return int(a.variant.ID()) - int(b.variant.ID())
		}
		return a.build.SM - b.build.SM
	})
}

// pack builds the archive and the manifest, and returns the position of each
// kernel's module.
func (p product) pack() (data, manifest []byte, positions []int, err error) {
	index := map[groupOf]int{}
	var members [][]int // kernels of each group
	for i, m := range p {
		v := m.variant
		key := groupOf{v.Func, v.Algo, v.Proto, m.build.SM}
		g, ok := index[key]
		if !ok {
			g = len(members)
			index[key] = g
			members = append(members, nil)
		}
		members[g] = append(members[g], i)
	}

	var record kernel.Manifest
	positions = make([]int, len(p))
	groups := make([][]archive.Module, len(members))
	for g, kernels := range members {
		for _, i := range kernels {
			m := p[i]
			positions[i] = len(record.Kernels)
			groups[g] = append(groups[g], archive.Module{Name: m.name(), Data: m.ptx})
			record.Kernels = append(record.Kernels, kernel.Made{
				Symbol: m.variant.String(), Build: buildIndex(&record, m.build),
				Source: m.source, PTXBytes: len(m.ptx), PTXSHA256: hash(m.ptx),
			})
		}
	}
	if data, err = archive.Build(groups); err != nil {
		return nil, nil, nil, err
	}
	record.Archive = kernel.Blob{File: archiveFile, Bytes: len(data), SHA256: hash(data)}
	manifest, err = record.Encode()
	return data, manifest, positions, err
}

// buildIndex returns the index of b in the manifest, to which it adds it if it
// is new.
func buildIndex(m *kernel.Manifest, b kernel.Build) int {
	same := func(c kernel.Build) bool { return sameBuild(b, c) }
	if i := slices.IndexFunc(m.Builds, same); i >= 0 {
		return i
	}
	m.Builds = append(m.Builds, b)
	return len(m.Builds) - 1
}

func sameBuild(a, b kernel.Build) bool {
	return a.Compiler == b.Compiler && a.Version == b.Version && a.SM == b.SM && a.PTX == b.PTX && slices.Equal(a.Flags, b.Flags)
}

// hash returns the SHA-256 of data in hexadecimal.
func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ptxBytes returns the bytes of all kernels.
func (p product) ptxBytes() int {
	n := 0
	for _, m := range p {
		n += len(m.ptx)
	}
	return n
}
