package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ncclgo/ncclgo/device/cuda"
)

// simulate is what always works.
const simulate = "until then --device auto uses the PTX machine: right results, no GPU's times"

// advise turns facts into advice, the most important first. noDriver is why the
// CUDA driver is of no use, or nil.
func advise(r *Report, noDriver error) []Advice {
	all := []Advice{}
	add := func(missing, format string, args ...any) {
		all = append(all, Advice{missing, fmt.Sprintf(format, args...)})
	}
	var old *cuda.OldDriverError
	switch {
	case noDriver == nil:
	case errors.Is(noDriver, cuda.ErrNoDriver):
		add("CUDA driver", "on a machine with an NVIDIA GPU install the NVIDIA driver, R520 or later, and in a container start it with the GPUs (docker run --gpus all); nvidia-smi must list them; %s", simulate)
	case errors.Is(noDriver, cuda.ErrNoDevice):
		add("GPU", "there is a driver but it shows no GPU: see that nvidia-smi lists one, that CUDA_VISIBLE_DEVICES does not hide it, and that the container was given it (--gpus all); %s", simulate)
	case errors.As(noDriver, &old):
		add("newer CUDA driver", "install NVIDIA driver R520 or later (CUDA 11.8); %s", simulate)
	default:
		add("working CUDA driver", "see the driver's line above, and the kernel log for NVRM or Xid lines (dmesg); %s", simulate)
	}
	for i, g := range r.GPUs {
		if g.Problem != "" {
			add(fmt.Sprintf("use of GPU %d", i), "see its line above, or leave it out with CUDA_VISIBLE_DEVICES")
		}
		if g.MIG {
			add(fmt.Sprintf("whole GPU %d", i), "it is partitioned (MIG), and parts cannot access each other: use one rank, or switch MIG off (nvidia-smi -mig 0)")
		}
	}
	if lonely := pairs(r.GPUs); lonely != "" {
		add("peer access of GPUs "+lonely, "a communicator over such a pair is refused: choose others with CUDA_VISIBLE_DEVICES; nvidia-smi topo -p2p r says why, IOMMU and ACS are frequent reasons")
	}
	if len(r.GPUs) > 0 && r.NVML.Problem != "" {
		add("NVML", "without it NVLinks are not seen and channels are chosen for PCIe: install the driver whole, or let it into the container (NVIDIA_DRIVER_CAPABILITIES=utility), or give the machine with --topo")
	}
	if len(r.GPUs) > 0 && r.Topology.Problem != "" {
		add("topology", "see the topology's line above; set NCCL_TOPO_FILE, or give --topo, to a file that NCCL wrote with NCCL_TOPO_DUMP_FILE")
	}
	switch {
	case r.Device == "cuda" && r.Cache.Problem != "":
		add("place to keep assembled kernels", "they are then assembled in every process, which takes seconds: set XDG_CACHE_HOME to a directory of your own that can be written")
	case r.Device == "cuda" && r.Cache.Entries == 0:
		add("assembled kernels", "the first run assembles those it may need, on all cores; nccl-run warm does it now, for all")
	}
	for _, v := range r.Limits.Variables {
		switch {
		case v.Name == "CUDA_MODULE_LOADING" && strings.EqualFold(v.Value, "LAZY"):
			add("eager loading", "CUDA_MODULE_LOADING=LAZY loads kernels at their first launch, which waits for the device: unset it, ncclgo chooses EAGER")
		case v.Name == "CUDA_LAUNCH_BLOCKING" && v.Value == "1":
			add("asynchronous launches", "CUDA_LAUNCH_BLOCKING=1 makes a launch wait for its kernel, and the kernel waits for the other ranks' launches: unset it")
		}
	}
	return all
}

// pairs names the pairs of GPUs that cannot access each other both ways.
func pairs(gpus []GPU) string {
	var all []string
	for i := range gpus {
		for j := range i {
			if !gpus[i].Peer[j] || !gpus[j].Peer[i] {
				all = append(all, fmt.Sprintf("%d-%d", j, i))
			}
		}
	}
	return strings.Join(all, " ")
}
