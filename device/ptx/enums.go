package ptx

//go:generate go tool -modfile=../../tools.mod stringer -type=Type,Space,Sem,Scope,Cmp,Bool,Atom,Round,Mode,Sreg -linecomment -output zenums_string.go

// Type is a PTX fundamental type.
type Type uint8

const (
	NoType Type = iota // none
	Pred               // pred
	B8                 // b8
	B16                // b16
	B32                // b32
	B64                // b64
	B128               // b128
	U8                 // u8
	U16                // u16
	U32                // u32
	U64                // u64
	S8                 // s8
	S16                // s16
	S32                // s32
	S64                // s64
	F16                // f16
	F16x2              // f16x2
	BF16               // bf16
	BF16x2             // bf16x2
	F32                // f32
	F64                // f64
	E4M3x2             // e4m3x2
	E5M2x2             // e5m2x2
	U16x2              // u16x2
	S16x2              // s16x2
	TF32               // tf32
)

// Space is a state space. Generic is what an access without a space means.
type Space uint8

const (
	Generic Space = iota // generic
	Global               // global
	Shared               // shared
	Local                // local
	Param                // param
	Const                // const
)

// Sem is the ordering of a memory access or fence. Volatile is relaxed at
// system scope (PTX ISA, memory consistency model).
type Sem uint8

const (
	Weak        Sem = iota // weak
	Relaxed                // relaxed
	Acquire                // acquire
	Release                // release
	AcqRel                 // acq_rel
	SeqCst                 // sc
	Volatile               // volatile
	NonCoherent            // nc
	MMIO                   // mmio
)

// Scope is the set of threads an ordering reaches.
type Scope uint8

const (
	NoScope Scope = iota // none
	CTA                  // cta
	Cluster              // cluster
	GPU                  // gpu
	System               // sys
)

// Cmp is a comparison; the u forms are true if an operand is NaN.
type Cmp uint8

const (
	NoCmp Cmp = iota // none
	EQ               // eq
	NE               // ne
	LT               // lt
	LE               // le
	GT               // gt
	GE               // ge
	LO               // lo
	LS               // ls
	HI               // hi
	HS               // hs
	EQU              // equ
	NEU              // neu
	LTU              // ltu
	LEU              // leu
	GTU              // gtu
	GEU              // geu
	NUM              // num
	NAN              // nan
)

// Bool combines a comparison with a predicate.
type Bool uint8

const (
	NoBool Bool = iota // none
	And                // and
	Or                 // or
	Xor                // xor
)

// Atom is the operation of an atomic or a reduction.
type Atom uint8

const (
	NoAtom   Atom = iota // none
	AtomAnd              // and
	AtomOr               // or
	AtomXor              // xor
	AtomCAS              // cas
	AtomExch             // exch
	AtomAdd              // add
	AtomInc              // inc
	AtomDec              // dec
	AtomMin              // min
	AtomMax              // max
)

// Round is a rounding modifier.
type Round uint8

const (
	NoRound Round = iota // none
	RN                   // rn
	RZ                   // rz
	RM                   // rm
	RP                   // rp
	RNA                  // rna
	RNI                  // rni
	RZI                  // rzi
	RMI                  // rmi
	RPI                  // rpi
)

// Mode tells forms of one opcode apart.
type Mode uint8

const (
	NoMode     Mode = iota // none
	Lo                     // lo
	Hi                     // hi
	Wide                   // wide
	Wrap                   // wrap
	Clamp                  // clamp
	Left                   // l
	Right                  // r
	F4E                    // f4e
	B4E                    // b4e
	RC8                    // rc8
	ECL                    // ecl
	ECR                    // ecr
	RC16                   // rc16
	Up                     // up
	Down                   // down
	Bfly                   // bfly
	Idx                    // idx
	All                    // all
	Any                    // any
	Uni                    // uni
	Ballot                 // ballot
	Sync                   // sync
	Arrive                 // arrive
	RedPopc                // red.popc
	RedAnd                 // red.and
	RedOr                  // red.or
	ProxyAlias             // proxy.alias
	ProxyAsync             // proxy.async
	Parity                 // parity
	Finite                 // finite
	Infinite               // infinite
	Number                 // number
	NotANumber             // notanumber
	Normal                 // normal
	Subnormal              // subnormal
)

// Sreg is a special register.
type Sreg uint8

const (
	NoSreg          Sreg = iota // none
	TidX                        // %tid.x
	TidY                        // %tid.y
	TidZ                        // %tid.z
	NTidX                       // %ntid.x
	NTidY                       // %ntid.y
	NTidZ                       // %ntid.z
	CTAIDX                      // %ctaid.x
	CTAIDY                      // %ctaid.y
	CTAIDZ                      // %ctaid.z
	NCTAIDX                     // %nctaid.x
	NCTAIDY                     // %nctaid.y
	NCTAIDZ                     // %nctaid.z
	LaneID                      // %laneid
	WarpID                      // %warpid
	NWarpID                     // %nwarpid
	SMID                        // %smid
	NSMID                       // %nsmid
	GridID                      // %gridid
	Clock                       // %clock
	ClockHi                     // %clock_hi
	Clock64                     // %clock64
	GlobalTimer                 // %globaltimer
	GlobalTimerLo               // %globaltimer_lo
	GlobalTimerHi               // %globaltimer_hi
	LaneMaskEQ                  // %lanemask_eq
	LaneMaskLE                  // %lanemask_le
	LaneMaskLT                  // %lanemask_lt
	LaneMaskGE                  // %lanemask_ge
	LaneMaskGT                  // %lanemask_gt
	DynamicSmemSize             // %dynamic_smem_size
	TotalSmemSize               // %total_smem_size
	WarpSize                    // WARP_SZ
)
