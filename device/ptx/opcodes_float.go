package ptx

// The opcode table, part 2: floating point, half precision included.

func floatForms() []Form {
	single, double, both := types(F32), types(F64), types(F32, F64)
	return []Form{
		row(OpAdd, "{.<rnd>}{.ftz}{.sat}.<type>", single, nil, "d s s", 1, 0, 0),
		row(OpAdd, "{.<rnd>}.<type>", double, nil, "d s s", 1, 0, 13),
		row(OpSub, "{.<rnd>}{.ftz}{.sat}.<type>", single, nil, "d s s", 1, 0, 0),
		row(OpSub, "{.<rnd>}.<type>", double, nil, "d s s", 1, 0, 13),
		row(OpMul, "{.<rnd>}{.ftz}{.sat}.<type>", single, nil, "d s s", 1, 0, 0),
		row(OpMul, "{.<rnd>}.<type>", double, nil, "d s s", 1, 0, 13),
		row(OpFma, ".<rnd>{.ftz}{.sat}.<type>", single, nil, "d s s s", 2, 0, 20),
		row(OpFma, ".<rnd>.<type>", double, nil, "d s s s", 1, 4, 13),
		row(OpMad, ".<rnd>{.ftz}{.sat}.<type>", single, nil, "d s s s", 2, 0, 20),
		row(OpMad, ".<rnd>.<type>", double, nil, "d s s s", 1, 4, 13),
		row(OpDiv, ".approx{.ftz}.<type>", single, nil, "d s s", 1, 4, 0),
		row(OpDiv, ".full{.ftz}.<type>", single, nil, "d s s", 1, 4, 0),
		row(OpDiv, ".<rnd>{.ftz}.<type>", single, nil, "d s s", 2, 0, 20),
		row(OpDiv, ".<rnd>.<type>", double, nil, "d s s", 2, 0, 20),
		row(OpAbs, "{.ftz}.<type>", single, nil, "d s", 1, 0, 0),
		row(OpAbs, ".<type>", double, nil, "d s", 1, 0, 13),
		row(OpNeg, "{.ftz}.<type>", single, nil, "d s", 1, 0, 0),
		row(OpNeg, ".<type>", double, nil, "d s", 1, 0, 13),
		row(OpMin, "{.ftz}.<type>", single, nil, "d s s", 1, 0, 0),
		row(OpMin, "{.ftz}.NaN.<type>", single, nil, "d s s", 7, 0, 80),
		row(OpMin, "{.ftz}{.NaN}.xorsign.<ignored:abs>.<type>", single, nil, "d s s", 7, 2, 86),
		row(OpMin, ".<type>", double, nil, "d s s", 1, 0, 13),
		row(OpMax, "{.ftz}.<type>", single, nil, "d s s", 1, 0, 0),
		row(OpMax, "{.ftz}.NaN.<type>", single, nil, "d s s", 7, 0, 80),
		row(OpMax, "{.ftz}{.NaN}.xorsign.<ignored:abs>.<type>", single, nil, "d s s", 7, 2, 86),
		row(OpMax, ".<type>", double, nil, "d s s", 1, 0, 13),
		row(OpRcp, ".approx{.ftz}.<type>", single, nil, "d s", 1, 4, 0),
		row(OpRcp, ".<rnd>{.ftz}.<type>", single, nil, "d s", 2, 0, 20),
		row(OpRcp, ".<rnd>.<type>", double, nil, "d s", 2, 0, 20),
		row(OpRcp, ".approx.ftz.<type>", double, nil, "d s", 2, 1, 20),
		row(OpSqrt, ".approx{.ftz}.<type>", single, nil, "d s", 1, 4, 0),
		row(OpSqrt, ".<rnd>{.ftz}.<type>", single, nil, "d s", 2, 0, 20),
		row(OpSqrt, ".<rnd>.<type>", double, nil, "d s", 2, 0, 20),
		row(OpRsqrt, ".approx{.ftz}.<type>", single, nil, "d s", 1, 4, 0),
		row(OpRsqrt, ".approx.<type>", double, nil, "d s", 1, 4, 13),
		row(OpRsqrt, ".approx.ftz.<type>", double, nil, "d s", 4, 0, 20),
		row(OpSin, ".approx{.ftz}.<type>", single, nil, "d s", 1, 4, 0),
		row(OpCos, ".approx{.ftz}.<type>", single, nil, "d s", 1, 4, 0),
		row(OpLg2, ".approx{.ftz}.<type>", single, nil, "d s", 1, 4, 0),
		row(OpEx2, ".approx{.ftz}.<type>", single, nil, "d s", 1, 4, 0),
		row(OpTanh, ".approx.<type>", single, nil, "d s", 7, 0, 75),
		row(OpCopysign, ".<type>", both, nil, "d s s", 2, 0, 20),
		row(OpTestp, ".<testp>.<type>", both, nil, "d:pred s", 2, 0, 20),
	}
}

func halfForms() []Form {
	half, brain := types(F16, F16x2), types(BF16, BF16x2)
	rows := []Form{
		row(OpFma, ".<rnd:rn>{.ftz}{.sat}.<type>", half, nil, "d s s s", 4, 2, 53),
		row(OpFma, ".<rnd:rn>{.ftz}.relu.<type>", half, nil, "d s s s", 7, 0, 80),
		row(OpFma, ".<rnd:rn>{.relu}.<type>", brain, nil, "d s s s", 7, 0, 80),
		row(OpNeg, "{.ftz}.<type>", half, nil, "d s", 6, 0, 53),
		row(OpNeg, ".<type>", brain, nil, "d s", 7, 0, 80),
		row(OpAbs, "{.ftz}.<type>", half, nil, "d s", 6, 5, 53),
		row(OpAbs, ".<type>", brain, nil, "d s", 7, 0, 80),
		row(OpEx2, ".approx.<type>", half, nil, "d s", 7, 0, 75),
		row(OpEx2, ".approx.ftz.<type>", brain, nil, "d s", 7, 8, 90),
		row(OpTanh, ".approx.<type>", half, nil, "d s", 7, 0, 75),
		row(OpTanh, ".approx.<type>", brain, nil, "d s", 7, 8, 90),
	}
	for _, op := range []Op{OpAdd, OpSub, OpMul} {
		rows = append(rows,
			row(op, "{.<rnd:rn>}{.ftz}{.sat}.<type>", half, nil, "d s s", 4, 2, 53),
			row(op, "{.<rnd:rn>}.<type>", brain, nil, "d s s", 7, 8, 90))
	}
	for _, op := range []Op{OpMin, OpMax} {
		rows = append(rows,
			row(op, "{.ftz}{.NaN}.<type>", half, nil, "d s s", 7, 0, 80),
			row(op, "{.ftz}{.NaN}.xorsign.<ignored:abs>.<type>", half, nil, "d s s", 7, 2, 86),
			row(op, "{.NaN}.<type>", brain, nil, "d s s", 7, 0, 80),
			row(op, "{.NaN}.xorsign.<ignored:abs>.<type>", brain, nil, "d s s", 7, 2, 86))
	}
	return rows
}
