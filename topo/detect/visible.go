package detect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/internal/result"
)

// visibleVariable is CUDA's variable that chooses GPUs.
const visibleVariable = "CUDA_VISIBLE_DEVICES"

// visible returns the GPUs of NVML's that CUDA_VISIBLE_DEVICES leaves, in its
// order: numbers, or beginnings of UUIDs. As CUDA does, it stops at the first
// entry that names none. (CUDA C++ Programming Guide, "CUDA environment
// variables")
func (b *builder) visible() ([]*managed, error) {
	if b.cfg.Visible == nil {
		return b.managed, nil
	}
	list := *b.cfg.Visible
	var chosen []*managed
	why := ""
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		m, err := b.named(entry)
		if err != nil {
			return nil, err
		}
		if m == nil {
			why = shown(entry) + " names no GPU, so neither it nor what follows counts"
			break
		}
		if slices.Contains(chosen, m) {
			return nil, result.New(result.InvalidArgument, opDetect, "%s: %s names a GPU again; name each once", visibleVariable, shown(entry))
		}
		chosen = append(chosen, m)
	}
	b.odd("GPUs", visibleVariable, b.leaves(len(chosen)), fromEnvironment, why)
	return chosen, nil
}

// leaves says how many of NVML's GPUs CUDA_VISIBLE_DEVICES leaves.
func (b *builder) leaves(n int) string {
	return fmt.Sprintf("%s leaves %d of %d", shown(*b.cfg.Visible), n, len(b.managed))
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
				"%s: %s is a partition (MIG), and only CUDA knows of which GPU; run where CUDA can be asked, or name the GPU", visibleVariable, shown(entry))
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
