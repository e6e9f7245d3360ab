package cubin

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Key names an entry: a hash of the recipe.
type Key [sha256.Size]byte

// String returns the key in lower-case hexadecimal.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Recipe is everything that a cubin depends on.
type Recipe struct {
	PTX    []byte
	Driver string // which assembler: the driver's release, as exactly as it can be told
	GPU    string // what it is assembled for: "sm_90"
	How    string // the options that it is assembled with
}

// Key returns the name of the entry that the recipe makes.
func (r *Recipe) Key() Key {
	h := sha256.New()
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], version)
	h.Write(number[:])
	for _, part := range [][]byte{[]byte(r.Driver), []byte(r.GPU), []byte(r.How), r.PTX} {
		// With its length, so that no two recipes run together into one text.
		binary.LittleEndian.PutUint64(number[:], uint64(len(part)))
		h.Write(number[:])
		h.Write(part)
	}
	return Key(h.Sum(nil))
}
