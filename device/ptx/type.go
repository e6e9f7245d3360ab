package ptx

// Size returns a type's size in bytes. A predicate has none.
func (t Type) Size() int {
	switch t {
	case B8, U8, S8:
		return 1
	case B16, U16, S16, F16, BF16, E4M3x2, E5M2x2:
		return 2
	case B32, U32, S32, F32, F16x2, BF16x2, U16x2, S16x2, TF32:
		return 4
	case B64, U64, S64, F64:
		return 8
	case B128:
		return 16
	}
	return 0
}

// IsFloat reports whether a type's elements are floating-point numbers.
func (t Type) IsFloat() bool {
	switch t {
	case F16, F16x2, BF16, BF16x2, F32, F64, E4M3x2, E5M2x2, TF32:
		return true
	}
	return false
}

// IsSigned reports whether a type's elements are signed integers.
func (t Type) IsSigned() bool {
	switch t {
	case S8, S16, S32, S64, S16x2:
		return true
	}
	return false
}

// isBits reports whether a type is untyped bits, which agree with every type
// of their size.
func (t Type) isBits() bool { return t == B8 || t == B16 || t == B32 || t == B64 || t == B128 }

// isInt reports whether a type is a scalar integer.
func (t Type) isInt() bool { return t >= U8 && t <= S64 }

// wide returns the integer type of twice the width.
func (t Type) wide() Type {
	switch t {
	case U16:
		return U32
	case S16:
		return S32
	case U32:
		return U64
	case S32:
		return S64
	}
	return NoType
}

// typeByName holds the types by their spelling without the dot.
var typeByName = func() map[string]Type {
	m := make(map[string]Type)
	for t := NoType + 1; t <= TF32; t++ {
		m[t.String()] = t
	}
	return m
}()

// registerAccepts reports whether an operand of type want may be a register of
// type reg. With wider set, the register may also be wider than the operand, as
// for ld, st and cvt.
//
// Source: PTX ISA, "Operand Size Exceeding Instruction-Type Size" and the table
// of type checking rules.
func registerAccepts(reg, want Type, wider bool) bool {
	if reg == Pred || want == Pred {
		return reg == want
	}
	switch {
	case reg.Size() == want.Size():
		return reg == want || reg.isBits() || want.isBits() || reg.isInt() && want.isInt()
	case wider && reg.Size() > want.Size():
		return (reg.isBits() || reg.isInt()) && (want.isBits() || want.isInt())
	}
	return false
}
