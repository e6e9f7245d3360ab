package ptx

//go:generate go tool -modfile=../../tools.mod stringer -type=Op -linecomment -output zop_string.go

// Op is a PTX opcode without its modifiers. Its String is the opcode as PTX
// spells it. Opcodes of more than one word (bar.warp, mbarrier.init) are one Op
// each where the words after the first change what the instruction does.
type Op uint8

const (
	OpNone Op = iota // none

	// Integer arithmetic; the first rows serve floating point too.
	OpAdd   // add
	OpSub   // sub
	OpMul   // mul
	OpMad   // mad
	OpFma   // fma
	OpDiv   // div
	OpRem   // rem
	OpAbs   // abs
	OpNeg   // neg
	OpMin   // min
	OpMax   // max
	OpAddc  // addc
	OpSubc  // subc
	OpMadc  // madc
	OpMul24 // mul24
	OpMad24 // mad24
	OpSad   // sad
	OpPopc  // popc
	OpClz   // clz
	OpBfind // bfind
	OpFns   // fns
	OpBrev  // brev
	OpBfe   // bfe
	OpBfi   // bfi
	OpSzext // szext
	OpBmsk  // bmsk
	OpDp4a  // dp4a
	OpDp2a  // dp2a
	OpPrmt  // prmt
	OpShl   // shl
	OpShr   // shr
	OpShf   // shf
	OpAnd   // and
	OpOr    // or
	OpXor   // xor
	OpNot   // not
	OpCnot  // cnot
	OpLop3  // lop3

	// Floating point only.
	OpRcp      // rcp
	OpSqrt     // sqrt
	OpRsqrt    // rsqrt
	OpSin      // sin
	OpCos      // cos
	OpLg2      // lg2
	OpEx2      // ex2
	OpTanh     // tanh
	OpCopysign // copysign
	OpTestp    // testp

	// Comparison and selection.
	OpSet  // set
	OpSetp // setp
	OpSelp // selp
	OpSlct // slct

	// Movement and conversion.
	OpMov      // mov
	OpCvt      // cvt
	OpCvta     // cvta
	OpIsspacep // isspacep
	OpLd       // ld
	OpLdu      // ldu
	OpSt       // st
	OpPrefetch // prefetch

	// Atomics, order, barriers.
	OpAtom    // atom
	OpRed     // red
	OpFence   // fence
	OpMembar  // membar
	OpBar     // bar
	OpBarrier // barrier
	OpBarWarp // bar.warp

	// Between the lanes of a warp.
	OpShfl       // shfl
	OpVote       // vote
	OpMatch      // match
	OpActivemask // activemask
	OpElect      // elect
	OpRedux      // redux

	// Control flow.
	OpBra       // bra
	OpRet       // ret
	OpExit      // exit
	OpTrap      // trap
	OpBrkpt     // brkpt
	OpNanosleep // nanosleep

	// Multicast memory.
	OpMultimemLdReduce // multimem.ld_reduce
	OpMultimemSt       // multimem.st
	OpMultimemRed      // multimem.red

	// Bulk copies and the barriers that complete them.
	OpMbarrierInit           // mbarrier.init
	OpMbarrierInval          // mbarrier.inval
	OpMbarrierArrive         // mbarrier.arrive
	OpMbarrierArriveExpectTx // mbarrier.arrive.expect_tx
	OpMbarrierExpectTx       // mbarrier.expect_tx
	OpMbarrierTestWait       // mbarrier.test_wait
	OpMbarrierTryWait        // mbarrier.try_wait
	OpCpAsyncBulk            // cp.async.bulk
	OpCpAsyncBulkCommit      // cp.async.bulk.commit_group
	OpCpAsyncBulkWait        // cp.async.bulk.wait_group

	numOps
)
