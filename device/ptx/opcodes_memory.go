package ptx

// The opcode table, part 4: memory, atomics, multicast memory.

func memoryForms() []Form {
	// The widths that .v2 and .v4 may multiply: a vector has at most 16 bytes.
	small := types(B8, B16, B32, U8, U16, U32, S8, S16, S32, F32)
	large := types(B64, U64, S64, F64)

	// The qualifiers of ordinary and strong accesses. A cache operator and an
	// eviction priority exclude one another.
	const (
		load, store = "d~* [a]", "[a] s~*"

		loadSpaces  = "{.<space:const|global|local|param|param::entry|shared|shared::cta|shared::cluster>}"
		storeSpaces = "{.<space:global|local|shared|shared::cta|shared::cluster>}"
		strong      = "{.<space:global|shared|shared::cta|shared::cluster>}"
		loadHints   = "{.<evict>}{.<prefetch>}"
		storeHints  = "{.<evict>}"
	)

	var rows []Form
	access := func(op Op, syntax, operands string, major, minor, sm int) {
		rows = append(rows,
			row(op, syntax+"{.<vec:v2|v4>}.<type>", small, nil, operands, major, minor, sm),
			row(op, syntax+"{.<vec:v2>}.<type>", large, nil, operands, major, minor, sm))
	}
	wide := func(op Op, syntax, operands string, minor int) {
		rows = append(rows, row(op, syntax+".<type>", types(B128), nil, operands, 8, minor, 70))
	}

	access(OpLd, loadSpaces+loadHints, load, 1, 0, 0)
	access(OpLd, loadSpaces+".<loadcache>{.<prefetch>}", load, 2, 0, 20)
	access(OpLd, ".<sem:weak>"+loadSpaces+loadHints, load, 6, 0, 70)
	access(OpLd, ".<sem:weak>"+loadSpaces+".<loadcache>{.<prefetch>}", load, 6, 0, 70)
	access(OpLd, ".<volatile>"+strong+"{.<prefetch>}", load, 1, 1, 0)
	access(OpLd, ".<sem:relaxed|acquire>.<scope>"+strong+loadHints, load, 6, 0, 70)
	access(OpLd, ".<mmio>.<ignored:relaxed>.<scope:sys>{.<space:global>}", load, 8, 2, 70)
	access(OpLd, ".<space:global>{.<loadcache:ca|cg|cs>}.<nc>"+loadHints, load, 3, 1, 32)
	wide(OpLd, "{.<sem:weak>}"+loadSpaces+loadHints, load, 3)
	wide(OpLd, "{.<sem:weak>}"+loadSpaces+".<loadcache>{.<prefetch>}", load, 3)
	wide(OpLd, ".<volatile>"+strong+"{.<prefetch>}", load, 4)
	wide(OpLd, ".<sem:relaxed|acquire>.<scope:cta|cluster|gpu>"+strong+loadHints, load, 3)
	wide(OpLd, ".<sem:relaxed|acquire>.<scope:sys>"+strong+loadHints, load, 4)
	wide(OpLd, ".<space:global>{.<loadcache:ca|cg|cs>}.<nc>"+loadHints, load, 3)
	access(OpLdu, "{.<space:global>}", load, 2, 0, 20)
	wide(OpLdu, "{.<space:global>}", load, 3)

	access(OpSt, storeSpaces+storeHints, store, 1, 0, 0)
	access(OpSt, storeSpaces+".<storecache>", store, 2, 0, 20)
	access(OpSt, ".<sem:weak>"+storeSpaces+storeHints, store, 6, 0, 70)
	access(OpSt, ".<sem:weak>"+storeSpaces+".<storecache>", store, 6, 0, 70)
	access(OpSt, ".<volatile>"+strong, store, 1, 1, 0)
	access(OpSt, ".<sem:relaxed|release>.<scope>"+strong+storeHints, store, 6, 0, 70)
	access(OpSt, ".<mmio>.<ignored:relaxed>.<scope:sys>{.<space:global>}", store, 8, 2, 70)
	wide(OpSt, "{.<sem:weak>}"+storeSpaces+storeHints, store, 3)
	wide(OpSt, "{.<sem:weak>}"+storeSpaces+".<storecache>", store, 3)
	wide(OpSt, ".<volatile>"+strong, store, 4)
	wide(OpSt, ".<sem:relaxed|release>.<scope:cta|cluster|gpu>"+strong+storeHints, store, 3)
	wide(OpSt, ".<sem:relaxed|release>.<scope:sys>"+strong+storeHints, store, 4)
	return rows
}

func atomicForms() []Form {
	var rows []Form
	for _, op := range []Op{OpAtom, OpRed} {
		const anySpace = "{.<space:global|shared|shared::cta|shared::cluster>}"
		sem, operands := "{.<atomsem>=relaxed}", "d [a] s"
		if op == OpRed {
			sem, operands = "{.<atomsem:relaxed|release>=relaxed}", "[a] s"
		}
		order := sem + "{.<atomscope>=gpu}"
		add := func(syntax string, list []Type, operands string, major, minor, sm int) {
			r := row(op, order+syntax, list, nil, operands, major, minor, sm)
			r.Unordered = true
			rows = append(rows, r)
		}
		scalar := func(names string, list []Type, major, minor, sm int) {
			add(anySpace+".<op:"+names+">.<type>", list, operands, major, minor, sm)
		}
		scalar("and|or|xor", types(B32), 1, 2, 12)
		scalar("and|or|xor", types(B64), 3, 1, 32)
		scalar("add", types(U32, S32), 1, 2, 12)
		scalar("add", types(U64, F32), 2, 0, 20)
		scalar("add", types(F64), 5, 0, 60)
		scalar("inc|dec", types(U32), 1, 2, 12)
		scalar("min|max", types(U32, S32), 1, 2, 12)
		scalar("min|max", types(U64, S64), 3, 1, 32)
		for _, half := range []struct {
			list             []Type
			major, minor, sm int
		}{
			{types(F16x2), 6, 2, 60},
			{types(F16), 6, 3, 70},
			{types(BF16, BF16x2), 7, 8, 90},
		} {
			add(anySpace+".<op:add>.<ignored:noftz>.<type>", half.list, operands, half.major, half.minor, half.sm)
		}

		vector := "d* [a] s*"
		if op == OpRed {
			vector = "[a] s*"
		}
		add("{.<space:global>}.<op:add>.<vec:v2|v4>.<type>", types(F32), vector, 8, 1, 90)
		add("{.<space:global>}.<op:add|min|max>.<ignored:noftz>.<vec>.<type>", types(F16, BF16), vector, 8, 1, 90)
		add("{.<space:global>}.<op:add|min|max>.<ignored:noftz>.<vec:v2|v4>.<type>", types(F16x2, BF16x2), vector, 8, 1, 90)

		if op == OpRed {
			continue
		}
		scalar("exch", types(B32), 1, 2, 12)
		scalar("exch", types(B64), 2, 0, 20)
		swap := anySpace + ".<op:cas>.<type>"
		add(swap, types(B16), "d [a] s s", 6, 3, 70)
		add(swap, types(B32), "d [a] s s", 1, 2, 12)
		add(swap, types(B64), "d [a] s s", 2, 0, 20)

		for _, scope := range []struct {
			syntax string
			minor  int
		}{{"{.<atomscope:cta|cluster|gpu>=gpu}", 3}, {".<atomscope:sys>", 4}} {
			order = sem + scope.syntax
			add(anySpace+".<op:exch>.<type>", types(B128), "d [a] s", 8, scope.minor, 90)
			add(swap, types(B128), "d [a] s s", 8, scope.minor, 90)
		}
	}
	return rows
}

// multimemForms leaves out the 8-bit floats, which only targets without forward
// compatibility have.
func multimemForms() []Form {
	var rows []Form
	add := func(op Op, syntax string, list []Type, operands string) {
		if len(list) > 0 {
			rows = append(rows, row(op, syntax+".<type>", list, nil, operands, 8, 1, 90))
		}
	}
	const space = "{.<space:global>}"
	// A value has 4, 8 or 16 bytes in all, or is one .f64.
	vectors := []struct {
		vec        string
		half, full []Type // full: .f32 and .f64, which only add
	}{
		{"", types(F16x2, BF16x2), types(F32, F64)},
		{".<vec:v2|v4>", types(F16, F16x2, BF16, BF16x2), types(F32)},
		{".<vec:v8>", types(F16, BF16), nil},
	}
	words := types(B32, B64)
	sums, orders := types(U32, S32, U64), types(U32, S32, U64, S64)

	for _, order := range []string{"{.<sem:weak>}", ".<sem:relaxed|acquire>.<scope>"} {
		load := order + space
		add(OpMultimemLdReduce, load+".<op:and|or|xor>", words, "d [a]")
		add(OpMultimemLdReduce, load+".<op:add>", sums, "d [a]")
		add(OpMultimemLdReduce, load+".<op:min|max>", orders, "d [a]")
		for _, v := range vectors {
			add(OpMultimemLdReduce, load+".<op:add>{.acc::f32}"+v.vec, v.half, "d* [a]")
			add(OpMultimemLdReduce, load+".<op:min|max>"+v.vec, v.half, "d* [a]")
			add(OpMultimemLdReduce, load+".<op:add>"+v.vec, v.full, "d* [a]")
		}
	}
	for _, order := range []string{"{.<sem:weak>}", ".<sem:relaxed|release>.<scope>"} {
		add(OpMultimemSt, order+space, each(words, orders), "[a] s")
		for _, v := range vectors {
			add(OpMultimemSt, order+space+v.vec, each(v.half, v.full), "[a] s*")
		}
	}
	red := "{.<sem:relaxed|release>=relaxed}{.<scope>=sys}" + space
	add(OpMultimemRed, red+".<op:and|or|xor>", words, "[a] s")
	add(OpMultimemRed, red+".<op:add>", sums, "[a] s")
	add(OpMultimemRed, red+".<op:min|max>", orders, "[a] s")
	for _, v := range vectors {
		add(OpMultimemRed, red+".<op:add>"+v.vec, each(v.half, v.full), "[a] s*")
	}
	return rows
}
