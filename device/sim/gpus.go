package sim

import "github.com/ncclgo/ncclgo/device"

const (
	kib = 1 << 10
	gib = 1 << 30
)

// The numbers of SMs and bytes are the products' (NVIDIA architecture white
// papers); limits per SM and CTA are those of the compute capability (CUDA C++
// Programming Guide, "Technical Specifications per Compute Capability").

// V100 returns what a Tesla V100-SXM2-32GB reports.
func V100() device.Info {
	return device.Info{Name: "Tesla V100-SXM2-32GB", SM: 70, NumSMs: 80,
		MaxThreadsPerSM: 2048, MaxCTAsPerSM: 32, MaxThreadsPerCTA: 1024,
		SharedPerSM: 96 * kib, SharedPerCTA: 48 * kib, RegistersPerSM: 65536, MemoryBytes: 32 * gib}
}

// A100 returns what an A100-SXM4-80GB reports.
func A100() device.Info {
	return device.Info{Name: "NVIDIA A100-SXM4-80GB", SM: 80, NumSMs: 108,
		MaxThreadsPerSM: 2048, MaxCTAsPerSM: 32, MaxThreadsPerCTA: 1024,
		SharedPerSM: 164 * kib, SharedPerCTA: 48 * kib, RegistersPerSM: 65536, MemoryBytes: 80 * gib}
}

// L4 returns what an L4, a PCIe card without NVLink, reports.
func L4() device.Info {
	return device.Info{Name: "NVIDIA L4", SM: 89, NumSMs: 58,
		MaxThreadsPerSM: 1536, MaxCTAsPerSM: 24, MaxThreadsPerCTA: 1024,
		SharedPerSM: 100 * kib, SharedPerCTA: 48 * kib, RegistersPerSM: 65536, MemoryBytes: 24 * gib}
}

// H100 returns what an H100-SXM5-80GB reports.
func H100() device.Info {
	return device.Info{Name: "NVIDIA H100 80GB HBM3", SM: 90, NumSMs: 132,
		MaxThreadsPerSM: 2048, MaxCTAsPerSM: 32, MaxThreadsPerCTA: 1024,
		SharedPerSM: 228 * kib, SharedPerCTA: 48 * kib, RegistersPerSM: 65536, MemoryBytes: 80 * gib}
}

// H200 returns what an H200-SXM5-141GB reports.
func H200() device.Info {
	i := H100()
	i.Name, i.MemoryBytes = "NVIDIA H200", 141*gib
	return i
}
