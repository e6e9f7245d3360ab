package archive

import (
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Archive is an opened archive.
type Archive struct {
	data    []byte
	groups  []group
	modules []module
	plain   []func() ([]byte, error) // by group: unpacks it once
}

// Open checks data from one end to the other and returns the archive in it. A
// problem is a [*FormatError].
func Open(data []byte) (*Archive, error) {
	groups, modules, err := parse(data)
	if err != nil {
		return nil, err
	}
	a := &Archive{data: data, groups: groups, modules: modules, plain: make([]func() ([]byte, error), len(groups))}
	for g := range a.groups {
		a.plain[g] = sync.OnceValues(func() ([]byte, error) { return a.unpack(g) })
	}
	return a, nil
}

// Len returns the number of modules.
func (a *Archive) Len() int { return len(a.modules) }

// Name returns the name of the module at position i.
func (a *Archive) Name(i int) string { return a.modules[i].name }

// Module returns the bytes of the module at position i, which are not to be
// changed. Its group is unpacked on first use and kept.
func (a *Archive) Module(i int) ([]byte, error) {
	m := a.modules[i]
	plain, err := a.plain[m.group]()
	if err != nil {
		return nil, err
	}
	return plain[m.offset : m.offset+m.size : m.offset+m.size], nil
}

func (a *Archive) unpack(i int) ([]byte, error) {
	g := a.groups[i]
	decoder, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecodeAllCapLimit(true), // no more than the index says
	)
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	plain, err := decoder.DecodeAll(a.data[g.offset:g.offset+g.packed], make([]byte, 0, g.unpacked))
	if err != nil {
		return nil, malformed("group %d: %v", i, err)
	}
	if len(plain) != g.unpacked || crc32.Checksum(plain, castagnoli) != g.crc {
		return nil, malformed("group %d: unpacks to %d bytes that are not those its checksum is of", i, len(plain))
	}
	return plain, nil
}
