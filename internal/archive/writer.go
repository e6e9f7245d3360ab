package archive

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
)

// Module is one text of an archive.
type Module struct {
	Name string
	Data []byte
}

// Build returns the archive of the given groups of modules. The position of a
// module is its place in the groups laid end to end.
func Build(groups [][]Module) ([]byte, error) {
	// One goroutine: several would split a frame differently on machines with
	// more processors.
	encoder, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), // the index has a checksum of its own
	)
	if err != nil {
		return nil, err
	}
	defer encoder.Close()

	le := binary.LittleEndian
	var groupIndex, moduleIndex, names, frames []byte
	numModules := 0
	for g, modules := range groups {
		var plain []byte
		for _, m := range modules {
			plain = append(plain, m.Data...)
			moduleIndex = le.AppendUint32(moduleIndex, uint32(g))
			moduleIndex = le.AppendUint32(moduleIndex, uint32(len(m.Data)))
			moduleIndex = le.AppendUint32(moduleIndex, uint32(len(m.Name)))
			names = append(names, m.Name...)
			numModules++
		}
		frame := encoder.EncodeAll(plain, nil)
		groupIndex = le.AppendUint32(groupIndex, uint32(len(frame)))
		groupIndex = le.AppendUint32(groupIndex, uint32(len(plain)))
		groupIndex = le.AppendUint32(groupIndex, crc32.Checksum(plain, castagnoli))
		frames = append(frames, frame...)
	}

	data := append([]byte(nil), magic...)
	data = le.AppendUint32(data, version)
	data = le.AppendUint32(data, uint32(len(groups)))
	data = le.AppendUint32(data, uint32(numModules))
	data = le.AppendUint32(data, uint32(len(names)))
	size := headerSize + len(groupIndex) + len(moduleIndex) + len(names) + len(frames)
	data = le.AppendUint64(data, uint64(size))
	data = append(data, make([]byte, headerSize-sumOffset)...)
	data = append(data, groupIndex...)
	data = append(data, moduleIndex...)
	data = append(data, names...)
	data = append(data, frames...)
	copy(data[sumOffset:], sum(data))
	return data, nil
}
