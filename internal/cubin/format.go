package cubin

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

const (
	magic   = "NCCLGOCB"
	version = 1

	versionOffset = 8                 // after the magic
	sizeOffset    = versionOffset + 8 // after 4 bytes of zeros
	keyOffset     = sizeOffset + 8
	sumOffset     = keyOffset + sha256.Size
	headerSize    = sumOffset + sha256.Size
)

// encode returns the file of an entry.
func encode(k Key, cubin []byte) []byte {
	le := binary.LittleEndian
	file := make([]byte, headerSize, headerSize+len(cubin))
	copy(file, magic)
	le.PutUint32(file[versionOffset:], version)
	le.PutUint64(file[sizeOffset:], uint64(len(cubin)))
	copy(file[keyOffset:], k[:])
	file = append(file, cubin...)
	copy(file[sumOffset:], sum(file))
	return file
}

// sum returns the checksum of an entry's file: all of it but the checksum.
func sum(file []byte) []byte {
	h := sha256.New()
	h.Write(file[:sumOffset])
	h.Write(file[headerSize:])
	return h.Sum(nil)
}

// decode returns the cubin in an entry's file, or what is wrong with the file.
func decode(k Key, file []byte) ([]byte, error) {
	le := binary.LittleEndian
	if len(file) < headerSize {
		return nil, fmt.Errorf("truncated: %d bytes, a header alone has %d", len(file), headerSize)
	}
	if got := string(file[:versionOffset]); got != magic {
		return nil, fmt.Errorf("starts with %q; an entry starts with %q", got, magic)
	}
	if got := le.Uint32(file[versionOffset:]); got != version {
		return nil, fmt.Errorf("has version %d; this program reads version %d", got, version)
	}
	if got, want := uint64(len(file)-headerSize), le.Uint64(file[sizeOffset:]); got != want {
		return nil, fmt.Errorf("has a cubin of %d bytes, its header says %d", got, want)
	}
	if got := Key(file[keyOffset:sumOffset]); got != k {
		return nil, fmt.Errorf("is the entry of %s", got)
	}
	if string(sum(file)) != string(file[sumOffset:headerSize]) {
		return nil, fmt.Errorf("altered: its checksum is not the one in its header")
	}
	return file[headerSize:], nil
}
