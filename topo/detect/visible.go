package detect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/internal/result"
)

// visible returns the GPUs of NVML's that CUDA_VISIBLE_DEVICES leaves, in its
// order: numbers, or beginnings of UUIDs. As CUDA does, it stops at the first
// entry that names none. "" means all. (CUDA C++ Programming Guide, "CUDA
// environment variables")
func (b *builder) visible(list string) ([]*managed, error) {
	if list == "" {
		return b.managed, nil
	}
	var chosen []*managed
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		m, err := b.named(entry)
		if err != nil {
			return nil, err
		}
		if m == nil {
			b.odd("GPUs", "CUDA_VISIBLE_DEVICES", list, "environment", shown(entry)+" names no GPU, so neither it nor what follows counts")
			break
		}
		if slices.Contains(chosen, m) {
			return nil, result.New(result.InvalidArgument, opDetect, "CUDA_VISIBLE_DEVICES=%s: %s names a GPU again; name each once", list, entry)
		}
		chosen = append(chosen, m)
	}
	return chosen, nil
}

// named returns the GPU that an entry of CUDA_VISIBLE_DEVICES names, or nil.
func (b *builder) named(entry string) (*managed, error) {
	if n, err := strconv.Atoi(entry); err == nil {
		i := slices.IndexFunc(b.managed, func(m *managed) bool { return m.Index == n })
		if i < 0 {
			return nil, nil
		}
		return b.managed[i], nil
	}
	// A partition was once named by its GPU's UUID and two numbers, and by a UUID of
	// its own since.
	uuid, partition := strings.CutPrefix(entry, "MIG-")
	if partition {
		gpu, _, old := strings.Cut(uuid, "/")
		if !old {
			return nil, result.New(result.InvalidArgument, opDetect,
				"CUDA_VISIBLE_DEVICES: %s is a partition (MIG), and only CUDA knows of which GPU; run where CUDA can be asked, or name the GPU", entry)
		}
		uuid = gpu
	}
	if !strings.HasPrefix(uuid, "GPU-") {
		return nil, nil
	}
	var found *managed
	for _, m := range b.managed {
		if own, known := m.UUID.Get(); known && strings.HasPrefix(own, uuid) {
			if found != nil {
				return nil, nil // of several it names none
			}
			found = m
		}
	}
	return found, nil
}
