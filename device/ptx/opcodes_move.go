package ptx

// The opcode table, part 3: comparison and selection, movement, conversion.

// Comparisons that a type has, as parts of <cmp>.
const (
	cmpBits     = "<cmp:eq|ne>"
	cmpSigned   = "<cmp:eq|ne|lt|le|gt|ge>"
	cmpUnsigned = "<cmp:eq|ne|lt|le|gt|ge|lo|ls|hi|hs>"
	cmpFloat    = "<cmp:eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>"
)

func compareForms() []Form {
	var rows []Form
	// Every comparison has a second form, which combines it with a predicate.
	setp := func(cmp, flags string, list []Type, dst string, major, minor, sm int) {
		rows = append(rows,
			row(OpSetp, "."+cmp+flags+".<type>", list, nil, dst+" s s", major, minor, sm),
			row(OpSetp, "."+cmp+".<bool>"+flags+".<type>", list, nil, dst+" s s s:pred!", major, minor, sm))
	}
	set := func(cmp, flags string, list, src []Type, major, minor, sm int) {
		rows = append(rows,
			row(OpSet, "."+cmp+flags+".<type>.<src>", list, src, "d s:src s:src", major, minor, sm),
			row(OpSet, "."+cmp+".<bool>"+flags+".<type>.<src>", list, src, "d s:src s:src s:pred!", major, minor, sm))
	}

	setp(cmpBits, "", untyped, "d:pred|", 1, 0, 0)
	setp(cmpSigned, "", signed, "d:pred|", 1, 0, 0)
	setp(cmpUnsigned, "", unsigned, "d:pred|", 1, 0, 0)
	setp(cmpFloat, "{.ftz}", types(F32), "d:pred|", 1, 0, 0)
	setp(cmpFloat, "", types(F64), "d:pred|", 1, 0, 13)
	setp(cmpFloat, "{.ftz}", types(F16), "d:pred", 4, 2, 53)
	setp(cmpFloat, "{.ftz}", types(F16x2), "d:pred||", 4, 2, 53)
	setp(cmpFloat, "", types(BF16), "d:pred", 7, 8, 90)
	setp(cmpFloat, "", types(BF16x2), "d:pred||", 7, 8, 90)

	// The destination is all ones or 1.0 where the comparison holds.
	for _, to := range []struct {
		list             []Type
		ftz              string
		major, minor, sm int
	}{
		{types(U32, S32, F32), "{.ftz}", 1, 0, 0},
		{types(F16), "{.ftz}", 4, 2, 53},
		{types(BF16), "", 7, 8, 90},
	} {
		set(cmpBits, "", to.list, untyped, to.major, to.minor, to.sm)
		set(cmpSigned, "", to.list, signed, to.major, to.minor, to.sm)
		set(cmpUnsigned, "", to.list, unsigned, to.major, to.minor, to.sm)
		set(cmpFloat, to.ftz, to.list, types(F32), to.major, to.minor, to.sm)
		set(cmpFloat, "", to.list, types(F64), to.major, to.minor, max(to.sm, 13))
	}
	halfInts := types(U16, S16, U32, S32)
	set(cmpFloat, "{.ftz}", types(F16), types(F16), 4, 2, 53)
	set(cmpFloat, "{.ftz}", halfInts, types(F16), 6, 5, 53)
	set(cmpFloat, "{.ftz}", types(F16x2), types(F16x2), 4, 2, 53)
	set(cmpFloat, "{.ftz}", types(U32, S32), types(F16x2), 6, 5, 53)
	set(cmpFloat, "", types(BF16), types(F16, BF16), 7, 8, 90)
	set(cmpFloat, "", halfInts, types(BF16), 7, 8, 90)
	set(cmpFloat, "", types(BF16x2, U32, S32), types(BF16x2), 7, 8, 90)

	return append(rows,
		row(OpSelp, ".<type>", scalars, nil, "d s s s:pred", 1, 0, 0),
		row(OpSlct, ".<type>.<src>", scalars, types(S32), "d s s s:src", 1, 0, 0),
		row(OpSlct, "{.ftz}.<type>.<src>", scalars, types(F32), "d s s s:src", 1, 0, 0),
	)
}

func moveForms() []Form {
	address := types(U64)
	return []Form{
		row(OpMov, ".<type>", each(types(Pred), scalars), nil, "d m", 1, 0, 0),
		row(OpMov, ".<type>", untyped, nil, "d {s}", 1, 0, 0),
		row(OpMov, ".<type>", untyped, nil, "{d} s", 1, 0, 0),
		row(OpMov, ".<type>", types(B128), nil, "d m", 8, 3, 70),
		row(OpMov, ".<type>", types(B128), nil, "d {s}", 8, 3, 70),
		row(OpMov, ".<type>", types(B128), nil, "{d} s", 8, 3, 70),

		row(OpCvta, ".<space:global|shared|shared::cta|shared::cluster|local>.<type>", address, nil, "d v", 2, 0, 20),
		row(OpCvta, ".<latespace>.<type>", address, nil, "d v", 2, 0, 20),
		row(OpCvta, ".to.<space:global|shared|shared::cta|shared::cluster|local>.<type>", address, nil, "d s", 2, 0, 20),
		row(OpCvta, ".to.<latespace>.<type>", address, nil, "d s", 2, 0, 20),
		row(OpIsspacep, ".<space:global|shared|shared::cta|shared::cluster|local>", nil, nil, "d:pred s:u64", 2, 0, 20),
		row(OpIsspacep, ".<latespace>", nil, nil, "d:pred s:u64", 2, 0, 20),
		row(OpPrefetch, "{.<space:global|local>}.<ignored:L1|L2>", nil, nil, "[a]", 2, 0, 20),
	}
}

func convertForms() []Form {
	all := types(U8, U16, U32, U64, S8, S16, S32, S64)
	// What bf16 converts to and from; the driver's assembler (CUDA 13) refuses
	// 8-bit integers and .sat there, which the ISA's table leaves open.
	wide := types(U16, U32, U64, S16, S32, S64)
	fp8 := types(E4M3x2, E5M2x2)
	one := func(t Type) []Type { return types(t) }
	cvt := func(syntax string, dst, src []Type, major, minor, sm int) Form {
		return row(OpCvt, syntax+".<type>.<src>", dst, src, "d~ s:src~", major, minor, sm)
	}
	pack := func(syntax string, dst []Type, major, minor, sm int) Form {
		return row(OpCvt, syntax+".<type>.<src>", dst, types(F32), "d s:src s:src", major, minor, sm)
	}
	return []Form{
		cvt("{.sat}", all, all, 1, 0, 0),

		// To integers.
		cvt(".<irnd>{.ftz}{.sat}", all, one(F32), 1, 0, 0),
		cvt(".<irnd>{.sat}", all, one(F16), 1, 0, 0),
		cvt(".<irnd>{.sat}", all, one(F64), 1, 0, 13),
		cvt(".<irnd>", wide, one(BF16), 7, 8, 90),

		// From integers.
		cvt(".<rnd>{.ftz}{.sat}", one(F32), all, 1, 0, 0),
		cvt(".<rnd>{.sat}", one(F16), all, 1, 0, 0),
		cvt(".<rnd>{.sat}", one(F64), all, 1, 0, 13),
		cvt(".<rnd>", one(BF16), wide, 7, 8, 90),

		// To a smaller float: the rounding must be said.
		cvt(".<rnd>{.ftz}{.sat}", one(F32), one(F64), 1, 0, 13),
		cvt(".<rnd>{.ftz}{.sat}", one(F16), one(F32), 1, 0, 0),
		cvt(".<rnd:rn|rz>.relu", one(F16), one(F32), 7, 0, 80),
		cvt(".<rnd>{.sat}", one(F16), one(F64), 1, 0, 13),
		cvt(".<rnd:rn|rz>{.relu}", one(BF16), one(F32), 7, 0, 80),
		cvt(".<rnd>", one(BF16), one(F64), 7, 8, 90),
		cvt(".<rnd:rn|rz>{.relu}.satfinite", types(F16, BF16), one(F32), 8, 1, 80),

		// To a larger float: exact.
		cvt("{.ftz}{.sat}", one(F32), one(F16), 1, 0, 0),
		cvt("{.ftz}{.sat}", one(F64), one(F32), 1, 0, 13),
		cvt("{.sat}", one(F64), one(F16), 1, 0, 13),
		cvt("", one(F32), one(BF16), 7, 1, 80),
		cvt(".ftz", one(F32), one(BF16), 7, 8, 90),
		cvt("", one(F64), one(BF16), 7, 8, 90),

		// Between floats of one size: to an integer value if a rounding is said.
		cvt("{.<irnd>}{.ftz}{.sat}", one(F32), one(F32), 1, 0, 0),
		cvt("{.<irnd>}{.sat}", one(F16), one(F16), 1, 0, 0),
		cvt("{.<irnd>}{.sat}", one(F64), one(F64), 1, 0, 13),
		cvt("{.<irnd>}", one(BF16), one(BF16), 7, 8, 90),
		cvt("{.<rnd>}", one(F16), one(BF16), 7, 8, 90),
		cvt("{.<rnd>}", one(BF16), one(F16), 7, 8, 90),
		cvt(".<rna>", one(TF32), one(F32), 7, 0, 80),
		cvt(".<rna>.satfinite", one(TF32), one(F32), 8, 1, 80),
		cvt(".<rnd:rn|rz>{.relu}", one(TF32), one(F32), 7, 8, 90),

		// Two at once. On sm_90 the 8-bit forms are older than here: PTX 7.8.
		pack(".<rnd:rn|rz>{.relu}", types(F16x2, BF16x2), 7, 0, 80),
		pack(".<rnd:rn|rz>{.relu}.satfinite", types(F16x2, BF16x2), 8, 1, 80),
		pack(".<rnd:rn>.satfinite{.relu}", fp8, 8, 1, 89),
		cvt(".<rnd:rn>.satfinite{.relu}", fp8, one(F16x2), 8, 1, 89),
		cvt(".<rnd:rn>{.relu}", one(F16x2), fp8, 8, 1, 89),
	}
}
