package ptx

// The opcode table, part 1: integers.
//
// Source of all parts: PTX ISA, chapter "Instruction Set", the "PTX ISA Notes"
// and "Target ISA Notes" of each instruction. Columns: opcode, modifiers, types,
// second types, operands, PTX version, SM.

// row makes a Form.
func row(op Op, syntax string, types, src []Type, operands string, major, minor, sm int) Form {
	return Form{Op: op, Syntax: syntax, Types: types, SrcTypes: src, Operands: operands,
		PTX: Version{major, minor}, SM: sm}
}

func integerForms() []Form {
	words := types(U32, S32)
	longs := types(U64, S64)
	return []Form{
		row(OpAdd, ".<type>", integers, nil, "d s s", 1, 0, 0),
		row(OpAdd, ".sat.<type>", types(S32), nil, "d s s", 1, 0, 0),
		row(OpAdd, ".<type>", types(U16x2, S16x2), nil, "d s s", 8, 0, 90),
		row(OpSub, ".<type>", integers, nil, "d s s", 1, 0, 0),
		row(OpSub, ".sat.<type>", types(S32), nil, "d s s", 1, 0, 0),
		row(OpMul, ".<mul:lo|hi>.<type>", integers, nil, "d s s", 1, 0, 0),
		row(OpMul, ".<mul:wide>.<type>", types(U16, U32, S16, S32), nil, "d:wide s s", 1, 0, 0),
		row(OpMad, ".<mul:lo|hi>.<type>", integers, nil, "d s s s", 1, 0, 0),
		row(OpMad, ".<mul:hi>.sat.<type>", types(S32), nil, "d s s s", 1, 0, 0),
		row(OpMad, ".<mul:wide>.<type>", types(U16, U32, S16, S32), nil, "d:wide s s s:wide", 1, 0, 0),
		row(OpMul24, ".<mul:lo|hi>.<type>", words, nil, "d s s", 1, 0, 0),
		row(OpMad24, ".<mul:lo|hi>.<type>", words, nil, "d s s s", 1, 0, 0),
		row(OpMad24, ".<mul:hi>.sat.<type>", types(S32), nil, "d s s s", 1, 0, 0),
		row(OpSad, ".<type>", integers, nil, "d s s s", 1, 0, 0),
		row(OpDiv, ".<type>", integers, nil, "d s s", 1, 0, 0),
		row(OpRem, ".<type>", integers, nil, "d s s", 1, 0, 0),
		row(OpAbs, ".<type>", signed, nil, "d s", 1, 0, 0),
		row(OpNeg, ".<type>", signed, nil, "d s", 1, 0, 0),
		row(OpMin, ".<type>", integers, nil, "d s s", 1, 0, 0),
		row(OpMin, ".relu.<type>", types(S32), nil, "d s s", 8, 0, 90),
		row(OpMin, ".<type>", types(U16x2), nil, "d s s", 8, 0, 90),
		row(OpMin, "{.relu}.<type>", types(S16x2), nil, "d s s", 8, 0, 90),
		row(OpMax, ".<type>", integers, nil, "d s s", 1, 0, 0),
		row(OpMax, ".relu.<type>", types(S32), nil, "d s s", 8, 0, 90),
		row(OpMax, ".<type>", types(U16x2), nil, "d s s", 8, 0, 90),
		row(OpMax, "{.relu}.<type>", types(S16x2), nil, "d s s", 8, 0, 90),

		// With the carry flag.
		row(OpAdd, ".cc.<type>", words, nil, "d s s", 1, 2, 0),
		row(OpAdd, ".cc.<type>", longs, nil, "d s s", 4, 3, 20),
		row(OpAddc, "{.cc}.<type>", words, nil, "d s s", 1, 2, 0),
		row(OpAddc, "{.cc}.<type>", longs, nil, "d s s", 4, 3, 20),
		row(OpSub, ".cc.<type>", words, nil, "d s s", 1, 2, 0),
		row(OpSub, ".cc.<type>", longs, nil, "d s s", 4, 3, 20),
		row(OpSubc, "{.cc}.<type>", words, nil, "d s s", 1, 2, 0),
		row(OpSubc, "{.cc}.<type>", longs, nil, "d s s", 4, 3, 20),
		row(OpMad, ".<mul:lo|hi>.cc.<type>", words, nil, "d s s s", 3, 0, 20),
		row(OpMad, ".<mul:lo|hi>.cc.<type>", longs, nil, "d s s s", 4, 3, 20),
		row(OpMadc, ".<mul:lo|hi>{.cc}.<type>", words, nil, "d s s s", 3, 0, 20),
		row(OpMadc, ".<mul:lo|hi>{.cc}.<type>", longs, nil, "d s s s", 4, 3, 20),

		row(OpDp4a, ".<type>.<src>", words, words, "d:s32 s:b32 s:b32 s:s32", 5, 0, 61),
		row(OpDp2a, ".<mul:lo|hi>.<type>.<src>", words, words, "d:s32 s:b32 s:b32 s:s32", 5, 0, 61),
	}
}

func bitForms() []Form {
	words := types(B32, B64)
	fields := types(U32, U64, S32, S64)
	logic := each(types(Pred), untyped)
	return []Form{
		row(OpPopc, ".<type>", words, nil, "d:u32 s", 2, 0, 20),
		row(OpClz, ".<type>", words, nil, "d:u32 s", 2, 0, 20),
		row(OpBfind, "{.shiftamt}.<type>", fields, nil, "d:u32 s", 2, 0, 20),
		row(OpFns, ".<type>", types(B32), nil, "d s s s:s32", 6, 0, 30),
		row(OpBrev, ".<type>", words, nil, "d s", 2, 0, 20),
		row(OpBfe, ".<type>", fields, nil, "d s s:u32 s:u32", 2, 0, 20),
		row(OpBfi, ".<type>", words, nil, "d s s s:u32 s:u32", 2, 0, 20),
		row(OpSzext, ".<wrap>.<type>", types(U32, S32), nil, "d s s:u32", 7, 6, 70),
		row(OpBmsk, ".<wrap>.<type>", types(B32), nil, "d s:u32 s:u32", 7, 6, 70),
		row(OpPrmt, ".<type>{.<prmt>}", types(B32), nil, "d s s s", 2, 0, 20),
		row(OpAnd, ".<type>", logic, nil, "d s s", 1, 0, 0),
		row(OpOr, ".<type>", logic, nil, "d s s", 1, 0, 0),
		row(OpXor, ".<type>", logic, nil, "d s s", 1, 0, 0),
		row(OpNot, ".<type>", logic, nil, "d s", 1, 0, 0),
		row(OpCnot, ".<type>", untyped, nil, "d s", 1, 0, 0),
		row(OpLop3, ".<type>", types(B32), nil, "d s s s i:u8", 4, 3, 50),
		row(OpLop3, ".<bool:or|and>.<type>", types(B32), nil, "d|| s s s i:u8 s:pred", 8, 2, 70),
		row(OpShl, ".<type>", untyped, nil, "d s s:u32", 1, 0, 0),
		row(OpShr, ".<type>", each(untyped, integers), nil, "d s s:u32", 1, 0, 0),
		row(OpShf, ".<dir>.<wrap>.<type>", types(B32), nil, "d s s s:u32", 3, 1, 32),
	}
}
