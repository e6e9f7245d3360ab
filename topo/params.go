package topo

// Params are the settings that decide how the ranks of a communicator may reach
// one another and the network. The zero value is NCCL's default.
type Params struct {
	// NRanks is the number of ranks of the communicator, those of other hosts
	// included; 0: as many as the file has.
	NRanks int
	// Rank is the rank whose view it is. Where the GPUs of a host reach one
	// another best by network, each part of the host has a view of its own.
	Rank int

	// P2PLevel is the worst path over which GPUs access each other's memory
	// (NCCL_P2P_LEVEL; LOC for NCCL_P2P_DISABLE). By default PXB, and SYS on AMD
	// machines with at most two GPUs.
	P2PLevel *PathType
	// GDRLevel is the worst path over which a network card accesses a GPU's memory
	// (NCCL_NET_GDR_LEVEL). By default P2C, or PXB with NoGDRC2C.
	GDRLevel *PathType
	// GDRRead says whether cards also read GPU memory, which is to send
	// (NCCL_NET_GDR_READ).
	GDRRead GDRRead
	// GDRPartitions allows network cards access to the memory of a part of a GPU
	// (NCCL_NET_GDR_MLOPART).
	GDRPartitions bool
	// NoGDRC2C keeps cards at a CPU from accessing GPUs through the CPU's C2C link
	// (NCCL_NET_GDR_C2C=0).
	NoGDRC2C bool
	// NoPXN keeps a rank from using another GPU's network card through NVLink
	// (NCCL_PXN_DISABLE).
	NoPXN bool
	// NoPXNC2C does so only for cards that the other GPU reaches through C2C
	// (NCCL_PXN_C2C=0).
	NoPXNC2C bool
	// NoNVB keeps NVLink paths from going through a GPU (NCCL_NVB_DISABLE).
	NoNVB bool
	// NoSHM keeps ranks of a host from exchanging through host memory
	// (NCCL_SHM_DISABLE).
	NoSHM bool
	// NoIntraNet keeps ranks of a host from exchanging through the network where
	// that is faster (NCCL_NET_DISABLE_INTRA).
	NoIntraNet bool
	// CollNet takes network ports for able to reduce where the file does not say
	// (NCCL_COLLNET_ENABLE, where a plugin would tell).
	CollNet bool
	// NetDevs is how many of the network ports that are equally near a rank uses.
	NetDevs NetDevs
}

// GDRRead is a setting of NCCL_NET_GDR_READ.
type GDRRead uint8

const (
	// GDRReadAuto is NCCL's default: from sm_80 on, before that where a GPU's PCI
	// link is free for it since it has NVLink or is the only one.
	GDRReadAuto GDRRead = iota
	GDRReadOff
	GDRReadOn
)

// NetDevs is a setting of NCCL_NETDEVS_POLICY: how many of the network ports
// equally near to a GPU it uses.
type NetDevs struct {
	// All says all of them.
	All bool
	// Max, if All is not set, is how many at most; 0 divides the ports among the
	// GPUs that are equally near to them (AUTO).
	Max int
}

// limit returns how many ports a GPU may use at most, 0 for any number.
func (d NetDevs) limit() int {
	if d.All {
		return 0
	}
	return d.Max
}

// perGPU returns how many of a number of ports each of a number of GPUs uses.
func (d NetDevs) perGPU(ports, gpus int) int {
	switch {
	case d.All:
		return ports
	case d.Max > 0:
		return min(d.Max, ports)
	default:
		return (ports + gpus - 1) / gpus
	}
}
