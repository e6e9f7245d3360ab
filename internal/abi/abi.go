package abi

// KernelArgs is the one parameter of every kernel. CTA c of the grid serves
// channel c.
type KernelArgs struct {
	Comm     Ptr    // to Comm
	Overflow Ptr    // to Work[NumWorks-InlineWorks], if NumWorks exceeds InlineWorks
	NumWorks uint32 // works of this launch
	_        [3]uint32
	Works    [InlineWorks]Work // the first works
}

// InlineWorks is how many works fit in the kernel's parameter: KernelArgs fills
// KernelArgsBytes as far as whole works do.
const InlineWorks = 50

// Work is one collective call as one kernel sees it. Channels ChannelLo to
// ChannelHi share its elements in order: the first gets CountLo, the last
// CountHi, those between CountMid each; if there is one channel, CountLo is all.
type Work struct {
	SendBuf, RecvBuf Ptr    // to elements; equal: in place
	RedOpArg         uint64 // argument of the reduction operator, see RedOpArgIsPtr
	CountLo          uint64 // elements
	CountMid         uint64 // elements
	CountHi          uint64 // elements
	Op               uint64 // number of the call in its communicator, for reports
	// ChunkBytes is the size of one chunk of one rank's part: a positive multiple
	// of 16, at most what the protocol's steps of a chunk hold: SimpleChunkSteps
	// slots of Simple, the data of one slot of LL or LL128. The chunks of all
	// ranks together have at most 32 GiB.
	ChunkBytes uint32
	Root       uint32 // rank, where the function has a root
	ChannelLo  uint16
	ChannelHi  uint16
	// Threads is how many threads of the CTA move data: whole warps, at least
	// one, at most those launched. The others take part in barriers only.
	Threads uint16
	// RedOpArgIsPtr says what RedOpArg is.
	//
	//   - 0: the argument's bits. MinMax: coll.UserOp.MinMaxArg. PreMulSum: the
	//     scalar, in the low bytes. SumPostDiv: the number of ranks times 2, plus 1
	//     for signed elements.
	//   - 1 (PreMulSum): the device address of the scalar, one element, which is
	//     read when the kernel runs.
	RedOpArgIsPtr uint16
	_             uint64
}

// Comm is one rank's communicator on the device. Its Channel[NumChannels] follow
// it in memory, so that a kernel loads both at once.
type Comm struct {
	Rank      uint32
	NumRanks  uint32
	AbortFlag Ptr // to uint32 in pinned host memory; not 0: leave
	Reports   Ptr // to Report[NumChannels] in pinned host memory
	// SlotBytes is the size of one of the NumSteps slots of a connection's FIFO,
	// by protocol, a multiple of 16 and, of LL128, of LL128TileBytes; LL's and
	// LL128's count flags too. It is the same on all ranks.
	SlotBytes   [NumProtos]uint32
	NumChannels uint32
	_           uint64
}

// Channel is one channel of a rank.
type Channel struct {
	Peers Ptr // to Peer[NumRanks], indexed by rank; only connected ones are filled
	Ring  Ring
}

// Ring is a rank's place in a channel's ring.
type Ring struct {
	Prev, Next uint32 // ranks
	// Index is this rank's distance from the ring's first rank, the same rank
	// for all: it says which chunk of a loop is whose.
	Index uint32
	_     uint32
	// Ranks points to uint32[NumRanks]: the ranks in ring order from this one
	// on, so Ranks[0] is this rank and Ranks[1] is Next.
	Ranks Ptr
}

// Peer is what a channel has for one peer.
type Peer struct {
	Send Conn // to the peer
	Recv Conn // from the peer
}

// Conn is one side of a connection: a FIFO of NumSteps slots for each protocol,
// which lies in the receiver's memory, with one step counter shared by the
// protocols. Step s of LL or LL128 uses slot s % NumSteps; see the protocols'
// headers in templates/cuda.
type Conn struct {
	Fifo [NumProtos]Ptr // to NumSteps slots of Comm.SlotBytes each, aligned to 128 bytes
	// Tail points to uint64: the step up to which the sender has published
	// (Simple). It lies in the receiver's memory; only the sender writes it.
	Tail Ptr
	// Head points to uint64: the step up to which the receiver has consumed. It
	// lies in the sender's memory; only the receiver writes it.
	Head Ptr
	// Step is the next step of this side, equal on both sides between kernels.
	// The kernel loads it when it starts and stores it when it ends.
	Step uint64
	_    [2]uint64
}

// Report says where a channel was when it left early.
type Report struct {
	State uint32 // ReportNone, or what was waited for
	Peer  uint32 // rank waited for
	Step  uint64 // the step of the connection that could not be taken
	Op    uint64 // Work.Op
	_     uint64
}

// Values of Report.State.
const (
	ReportNone   = 0
	ReportData   = 1 // waited for data from Peer
	ReportCredit = 2 // waited for Peer to free a slot
)
