package coll

// Algo is the shape of the data movement. NCCL's seven come first, in NCCL's
// order (NCCL v2.30 src/include/nccl_common.h, NCCL_ALGO_*); ours follow.
type Algo uint8

const (
	Tree Algo = iota
	Ring
	CollNetDirect
	CollNetChain
	NVLS
	NVLSTree
	PAT
	// OneShot: every rank sends everything to every peer and reduces locally.
	OneShot
	// TwoShot: reduce-scatter, then all-gather, both direct, over peer-mapped
	// memory.
	TwoShot

	NumAlgos = iota
	// NumNCCLAlgos is the number of algorithms NCCL has too.
	NumNCCLAlgos = int(PAT) + 1
)

var algoSymbols = [NumAlgos]string{
	Tree: "TREE", Ring: "RING", CollNetDirect: "COLLNET_DIRECT", CollNetChain: "COLLNET_CHAIN",
	NVLS: "NVLS", NVLSTree: "NVLS_TREE", PAT: "PAT", OneShot: "ONE_SHOT", TwoShot: "TWO_SHOT",
}

// Symbol returns a's spelling inside kernel symbols ("COLLNET_DIRECT").
func (a Algo) Symbol() string { return algoSymbols[a] }

// ParseAlgo returns the Algo whose name or symbol is s, in any case.
func ParseAlgo(s string) (Algo, error) { return parse[Algo]("algorithm", s, NumAlgos) }

// Proto is how the arrival of a payload is signalled. The order is that of
// NCCL_PROTO_* (NCCL v2.30 src/include/nccl_common.h).
type Proto uint8

const (
	// LL: 8-byte words of 4 bytes of data and 4 bytes of flag.
	LL Proto = iota
	// LL128: 128-byte lines of 120 bytes of data and 8 bytes of flag.
	LL128
	// Simple: bulk data, then a counter.
	Simple

	NumProtos = iota
)

var protoSymbols = [NumProtos]string{LL: "LL", LL128: "LL128", Simple: "SIMPLE"}

// Symbol returns p's spelling inside kernel symbols ("SIMPLE").
func (p Proto) Symbol() string { return protoSymbols[p] }

// ParseProto returns the Proto whose name is s, in any case.
func ParseProto(s string) (Proto, error) { return parse[Proto]("protocol", s, NumProtos) }
