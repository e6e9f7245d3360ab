package topo

import "strings"

// Link bandwidths in GB/s (NCCL v2.30 src/graph/topo.h).
const (
	bwLOC float32 = 5000 // LOC_BW: within a GPU, or as good as unlimited

	bwParts float32 = 2618 // MLOPART_LOC_BW: between the parts of a GPU

	// One NVLink in one direction, by compute capability (SM*_NVLINK_BW).
	bwNVLinkSM60  float32 = 18
	bwNVLinkSM70  float32 = 20
	bwNVLinkSM80  float32 = 20
	bwNVLinkSM86  float32 = 12
	bwNVLinkSM90  float32 = 20.6
	bwNVLinkSM100 float32 = 40.1

	// Between two CPUs, by maker and generation (*_QPI_BW, AMD_BW, ZPI_BW,
	// YONGFENG_ZPI_BW, P9_BW, ARM_BW).
	bwIntelBDW float32 = 6
	bwIntelSKL float32 = 10
	bwIntelSRP float32 = 22
	bwIntelERP float32 = 40
	bwAMD      float32 = 16
	bwZhaoxin  float32 = 6
	bwYongfeng float32 = 9
	bwPOWER9   float32 = 32
	bwARM      float32 = 6
)

// nvLinkBW returns the bandwidth of one NVLink of a GPU of compute capability
// sm/10 (ncclTopoNVLinkBw, NCCL v2.30 src/graph/topo.h).
func nvLinkBW(sm int) float32 {
	switch {
	case sm >= 100:
		return bwNVLinkSM100
	case sm >= 90:
		return bwNVLinkSM90
	case sm == 86:
		return bwNVLinkSM86
	case sm >= 80:
		return bwNVLinkSM80
	case sm >= 70:
		return bwNVLinkSM70
	case sm >= 60:
		return bwNVLinkSM60
	default:
		return bwNVLinkSM80
	}
}

// pciSpeeds maps what sysfs says of a PCIe link's speed to units of 100 Mbit/s
// for each lane, after coding (kvDictPciGen, NCCL v2.30 src/graph/topo.cc). The
// first entry that is a prefix counts, as in NCCL.
var pciSpeeds = []struct {
	prefix string
	speed  int
}{
	{"2.5 GT/s", 15}, {"5 GT/s", 30}, {"8 GT/s", 60}, {"16 GT/s", 120}, {"32 GT/s", 240},
	{"5.0 GT/s PCIe", 30}, {"8.0 GT/s PCIe", 60}, {"16.0 GT/s PCIe", 120},
	{"32.0 GT/s PCIe", 240}, {"64.0 GT/s PCIe", 480},
}

// pciSpeedUnknown is the speed of a link whose speed is not in pciSpeeds.
const pciSpeedUnknown = 60

// pciBW returns the bandwidth of a PCIe link of the given speed and number of
// lanes, and whether the speed is a known one. Virtual machines report width 0:
// NCCL takes 16 lanes then.
func pciBW(speed string, width int) (bw float32, known bool) {
	if width == 0 {
		width = 16
	}
	lane := pciSpeedUnknown
	for _, s := range pciSpeeds {
		if strings.HasPrefix(speed, s.prefix) {
			lane, known = s.speed, true
			break
		}
	}
	return float32(float64(width*lane) / 80), known
}

// interCPUBW returns the bandwidth between two CPUs of the kind of c
// (ncclTopoGetInterCpuBw, NCCL v2.30 src/graph/topo.cc).
func interCPUBW(c *CPU) float32 {
	switch c.Arch {
	case ArchPOWER:
		return bwPOWER9
	case ArchARM:
		return bwARM
	}
	switch c.Vendor {
	case VendorIntel:
		// Family 6; models by generation (ncclTopoAddCpu): 0x55 Skylake, 0x8f
		// Sapphire Rapids, 0xcf Emerald Rapids.
		switch {
		case c.Family == 6 && c.Model >= 0xcf:
			return bwIntelERP
		case c.Family == 6 && c.Model >= 0x8f:
			return bwIntelSRP
		case c.Family == 6 && c.Model >= 0x55:
			return bwIntelSKL
		default:
			return bwIntelBDW
		}
	case VendorAMD:
		return bwAMD
	case VendorZhaoxin:
		if c.Family == 7 && c.Model == 0x5b {
			return bwYongfeng
		}
		return bwZhaoxin
	default:
		return bwLOC
	}
}

// netSpeedUnknown is the speed in Mbit/s of a network port that does not know its
// own (ncclTopoAddNet).
const netSpeedUnknown = 10000

// netBW returns the bandwidth of a network port of the given Mbit/s; 0 and less
// stand for a speed that is not known.
func netBW(mbps int) float32 {
	if mbps <= 0 {
		mbps = netSpeedUnknown
	}
	return float32(float64(mbps) / 8000)
}
