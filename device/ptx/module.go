package ptx

// Module is one parsed PTX file.
type Module struct {
	File        string
	Version     Version // .version
	SM          int     // .target: 90 for sm_90
	TargetText  string  // .target as written ("compute_90")
	AddressSize int     // bits
	Globals     []*Var  // module-scope .global, .const and .shared variables
	Entries     []*Entry
}

// Var is a declared variable: module-scope, shared, local or a parameter.
type Var struct {
	Name   string
	Space  Space
	Type   Type
	Align  int    // bytes
	Size   int    // bytes in all; 0 for shared memory whose size the launch says
	Offset int    // bytes from the start of its space's block (param, shared, local); else 0
	Init   []byte // initial contents, at most Size bytes; what it lacks is zero
	Addrs  []Addr // the parts of Init that are addresses, for the loader to fill in
	Line   int
}

// Addr is an address in a variable's initial contents.
type Addr struct {
	At      int   // byte offset in Var.Init; the address has 8 bytes
	Var     *Var  // whose address
	Off     int64 // bytes after the start of Var
	Generic bool  // a generic address rather than one in Var's space
}

// Entry is a kernel.
type Entry struct {
	Name       string
	Line       int
	Params     []*Var
	ParamBytes int
	Vars       []*Var // .shared and .local variables declared in the body
	SharedSize int    // bytes of static shared memory, module-scope variables included; what the launch adds follows
	LocalSize  int    // bytes of local memory of each thread
	Regs       []Reg  // Operand.Reg and Instr.Guard index it
	Code       []Instr
	Labels     map[string]int // label -> index into Code
	MaxNTID    [3]int         // .maxntid; zero if absent
	ReqNTID    [3]int         // .reqntid; zero if absent
	MinNCTA    int            // .minnctapersm; zero if absent
}

// Reg is a declared register.
type Reg struct {
	Name string
	Type Type // Pred, or a fundamental type
}

// Instr is one decoded instruction. Fields that its form does not have are
// zero.
type Instr struct {
	Op   Op
	Line int
	Text string // as written, without guard and comments, spaces collapsed
	Name string // opcode and modifiers as written

	Guard    int32 // register index of the guard predicate, -1 if unguarded
	GuardNot bool  // @!p

	// Type is the instruction's type: the destination's for cvt and set, and as
	// written for mul.wide and mad.wide, whose destination is twice as wide.
	// SrcType is the second type written: the source's for cvt and set, the
	// selector's for slct, the second operand's for dp4a.
	Type, SrcType Type
	// Vec is how many elements ld, st, atom, red and multimem move: 1, 2, 4 or
	// 8. It is 0 for other instructions.
	Vec uint8

	Mode  Mode // lo, hi, wide, wrap, clamp; shfl, vote, match, bar and testp variants
	Dir   Mode // shf: Left or Right
	Cmp   Cmp  // set, setp
	Bool  Bool // set, setp with a combining predicate; lop3 with one
	Atom  Atom // atom, red, redux, multimem: the operation
	Round Round

	Sat, FTZ, Approx, NaN, XorSign, Relu bool

	SatFinite bool // cvt: out of range becomes the largest finite value
	Full      bool // div.full
	CC        bool // add.cc and the like: writes the carry flag (addc, subc and madc read it)
	ShiftAmt  bool // bfind.shiftamt
	AccF32    bool // multimem.ld_reduce with .acc::f32
	Uniform   bool // bra.uni, ret.uni
	Aligned   bool // bar, and barrier.aligned: all threads of a warp execute it together
	Read      bool // cp.async.bulk.wait_group.read

	Space Space // ld, st, atom, red, cvta, mov of an address
	To    bool  // cvta.to, rather than cvta
	Sem   Sem   // ld, st, atom, red, fence
	Scope Scope

	// Dst and Src are in the order of the text. Dst is empty for st, red,
	// bar.sync, bra and the like.
	Dst, Src []Operand
	Target   int // bra: index into Entry.Code; len(Entry.Code) is the end of the kernel

	spelling *spelling // how the table reads Name; nil for an Instr that Parse did not make
}

// Operand is one operand.
type Operand struct {
	Kind OperandKind
	Type Type  // what the instruction reads or writes it as; a register may be wider for ld, st and cvt
	Reg  int32 // KindReg: register; KindAddr: base register, or -1
	Not  bool  // !p of a predicate source
	// Imm is the value of a KindImm: its bits in Type's width, not
	// sign-extended; floats as their bits; predicates 0 or 1.
	Imm  uint64
	Off  int64 // KindAddr, KindVar: byte offset
	Var  *Var  // KindAddr, KindVar: the variable whose address this is
	Sreg Sreg  // KindSreg
	// Vec is the elements of a KindVec, or the two destinations of a KindPair:
	// p|q, and d|p of shfl, match, lop3 and elect.
	Vec []Operand
}

// OperandKind says which fields of an Operand count.
type OperandKind uint8

const (
	KindNone OperandKind = iota
	KindReg
	KindImm  // a constant
	KindSreg // a special register
	KindAddr // [reg+off], [var+off] or [imm]
	KindVar  // a variable's address as a value
	KindVec  // {a, b}
	KindPair // p|q or d|p
	KindSink // _
)
