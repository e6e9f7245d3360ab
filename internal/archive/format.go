package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const (
	magic   = "NCCLGOKA"
	version = 1

	sumOffset   = 32 // of the checksum in the header
	headerSize  = sumOffset + sha256.Size
	groupEntry  = 12 // bytes of a group in the index
	moduleEntry = 12 // bytes of a module in the index
)

// castagnoli is the polynomial of CRC-32C, which processors compute.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// FormatError says that data is not an archive that this package reads.
type FormatError struct {
	Problem string // what is wrong, with the figures
}

func (e *FormatError) Error() string { return "kernel archive: " + e.Problem }

func malformed(format string, args ...any) error {
	return &FormatError{Problem: fmt.Sprintf(format, args...)}
}

// group and module are the index in memory.
type group struct {
	offset, packed int // of its frame in the archive
	unpacked       int
	crc            uint32
}

type module struct {
	name         string
	group        int
	offset, size int // in its unpacked group
}

// sum returns the checksum of an archive: all of it but the checksum itself.
func sum(data []byte) []byte {
	h := sha256.New()
	h.Write(data[:sumOffset])
	h.Write(data[headerSize:])
	return h.Sum(nil)
}

// parse checks data from one end to the other and returns its index.
func parse(data []byte) ([]group, []module, error) {
	le := binary.LittleEndian
	if len(data) < headerSize {
		return nil, nil, malformed("truncated: %d bytes, a header alone has %d", len(data), headerSize)
	}
	if got := string(data[:len(magic)]); got != magic {
		return nil, nil, malformed("starts with %q; an archive starts with %q", got, magic)
	}
	if got := le.Uint32(data[8:]); got != version {
		return nil, nil, malformed("has version %d; this program reads version %d", got, version)
	}
	if want := le.Uint64(data[24:]); want != uint64(len(data)) {
		return nil, nil, malformed("has %d bytes, its header says %d", len(data), want)
	}
	if want := data[sumOffset:headerSize]; string(sum(data)) != string(want) {
		return nil, nil, malformed("altered: its checksum is not the one in its header")
	}

	// The checksum matched, so what follows can only fail for an archive that
	// another writer made wrongly. All sums are done in 64 bits.
	numGroups, numModules := int64(le.Uint32(data[12:])), int64(le.Uint32(data[16:]))
	nameBytes := int64(le.Uint32(data[20:]))
	indexEnd := headerSize + numGroups*groupEntry + numModules*moduleEntry
	if indexEnd+nameBytes > int64(len(data)) {
		return nil, nil, malformed("has %d bytes, too few for an index of %d groups and %d modules", len(data), numGroups, numModules)
	}

	groups := make([]group, numGroups)
	at, offset := headerSize, indexEnd+nameBytes
	for i := range groups {
		groups[i] = group{
			offset:   int(offset),
			packed:   int(le.Uint32(data[at:])),
			unpacked: int(le.Uint32(data[at+4:])),
			crc:      le.Uint32(data[at+8:]),
		}
		offset += int64(groups[i].packed)
		at += groupEntry
	}
	if offset != int64(len(data)) {
		return nil, nil, malformed("its groups end at byte %d of %d", offset, len(data))
	}

	modules := make([]module, numModules)
	names := string(data[indexEnd : indexEnd+nameBytes])
	filled := make([]int64, numGroups)
	for i := range modules {
		g, size, n := int64(le.Uint32(data[at:])), int64(le.Uint32(data[at+4:])), int64(le.Uint32(data[at+8:]))
		at += moduleEntry
		if g >= numGroups || n > int64(len(names)) || filled[g]+size > int64(groups[g].unpacked) {
			return nil, nil, malformed("module %d does not fit in its group or its name", i)
		}
		modules[i] = module{name: names[:n], group: int(g), offset: int(filled[g]), size: int(size)}
		names = names[n:]
		filled[g] += size
	}
	for g, size := range filled {
		if size != int64(groups[g].unpacked) {
			return nil, nil, malformed("group %d has %d bytes, its modules have %d", g, groups[g].unpacked, size)
		}
	}
	if names != "" {
		return nil, nil, malformed("%d bytes of names belong to no module", len(names))
	}
	return groups, modules, nil
}
