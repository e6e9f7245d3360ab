package nccl

import "github.com/ncclgo/ncclgo/planner"

// maxP2PChunk bounds the chunks of sends and receives, bytes: a slot holds no more.
const maxP2PChunk = maxBufferBytes

// ReadP2PLimits reads by getenv, which is like os.LookupEnv, what NCCL_* variables say
// of how sends and receives are done. A value that is none is refused with the
// variable's name.
func ReadP2PLimits(getenv func(string) (string, bool)) (planner.P2PLimits, error) {
	l := planner.DefaultP2PLimits()
	e := &environment{getenv: getenv}
	e.integer(&l.NetChunk, bufferUnit, maxP2PChunk, bufferUnit, "NCCL_P2P_NET_CHUNKSIZE")
	e.integer(&l.NVLinkChunk, bufferUnit, maxP2PChunk, bufferUnit, "NCCL_P2P_NVL_CHUNKSIZE")
	e.integer(&l.PCIChunk, bufferUnit, maxP2PChunk, bufferUnit, "NCCL_P2P_PCI_CHUNKSIZE")
	threshold := int(l.LLBytes)
	e.integer(&threshold, 0, maxBufferBytes, 1, "NCCL_P2P_LL_THRESHOLD")
	l.LLBytes = int64(threshold)
	e.flag(&l.NetLL, true, "NCCL_ALLOC_P2P_NET_LL_BUFFERS")
	e.integer(&l.GroupSize, 1, 1<<20, 1, "NCCL_P2P_SCHEDULE_GROUP_SIZE")
	return l, e.err
}

// P2PVariables returns the names of the variables that [ReadP2PLimits] reads,
// sorted.
func P2PVariables() []string {
	return askedBy(func(e *environment) {
		// Nothing is set, so nothing is refused.
		_, _ = ReadP2PLimits(e.getenv)
	})
}
