package ptx

// The opcode table, part 5: order, barriers, warps, control flow, bulk copies.

func syncForms() []Form {
	rows := []Form{
		row(OpFence, ".<sem:sc|acq_rel>.<scope>", nil, nil, "", 6, 0, 70),
		row(OpFence, "+<sem:acq_rel>.<scope>", nil, nil, "", 6, 0, 70),
		row(OpFence, ".<sem:acquire|release>.<scope>", nil, nil, "", 8, 6, 90),
		row(OpFence, ".<ignored:proxy>.<proxy:alias>", nil, nil, "", 7, 5, 70),
		row(OpFence, ".<ignored:proxy>.<proxy:async>{.<space:global|shared::cta|shared::cluster>}", nil, nil, "", 8, 0, 90),
		row(OpMembar, ".<level:cta|gl>", nil, nil, "", 1, 4, 0),
		row(OpMembar, ".<level:sys>", nil, nil, "", 2, 0, 20),
		row(OpBarWarp, ".<ignored:sync>", nil, nil, "s:u32", 6, 0, 30),
	}
	for _, b := range []struct {
		op               Op
		aligned          string
		major, minor, sm int
	}{
		{OpBar, "+aligned", 2, 0, 20},
		{OpBarrier, "{.aligned}", 6, 0, 30},
	} {
		barrier := func(syntax string, list []Type, operands string) {
			rows = append(rows, row(b.op, "{.<ignored:cta>}"+syntax, list, nil, operands, b.major, b.minor, b.sm))
		}
		barrier(".<bar:sync>"+b.aligned, nil, "s:u32 s:u32?")
		barrier(".<bar:arrive>"+b.aligned, nil, "s:u32 s:u32")
		barrier(".<ignored:red>.<barred:popc>"+b.aligned+".<type>", types(U32), "d s:u32 s:u32? s:pred!")
		barrier(".<ignored:red>.<barred:and|or>"+b.aligned+".<type>", types(Pred), "d s:u32 s:u32? s:pred!")
	}
	return rows
}

func warpForms() []Form {
	word, sync := types(B32), ".<ignored:sync>"
	return []Form{
		row(OpShfl, sync+".<shfl>.<type>", word, nil, "d| s s:u32 s:u32 s:u32", 6, 0, 30),
		row(OpVote, sync+".<vote:all|any|uni>.<type>", types(Pred), nil, "d s:pred! s:u32", 6, 0, 30),
		row(OpVote, sync+".<vote:ballot>.<type>", word, nil, "d s:pred! s:u32", 6, 0, 30),
		row(OpMatch, ".<vote:any>"+sync+".<type>", types(B32, B64), nil, "d:b32 s s:u32", 6, 0, 70),
		row(OpMatch, ".<vote:all>"+sync+".<type>", types(B32, B64), nil, "d:b32| s s:u32", 6, 0, 70),
		row(OpActivemask, ".<type>", word, nil, "d", 6, 2, 30),
		row(OpElect, sync, nil, nil, "d:b32|| s:u32", 8, 0, 90),
		row(OpRedux, sync+".<op:add|min|max>.<type>", types(U32, S32), nil, "d s s:u32", 7, 0, 80),
		row(OpRedux, sync+".<op:and|or|xor>.<type>", word, nil, "d s s:u32", 7, 0, 80),
	}
}

func controlForms() []Form {
	return []Form{
		row(OpBra, "{.uni}", nil, nil, "L", 1, 0, 0),
		row(OpRet, "{.uni}", nil, nil, "", 1, 0, 0),
		row(OpExit, "", nil, nil, "", 1, 0, 0),
		row(OpTrap, "", nil, nil, "", 1, 0, 0),
		row(OpBrkpt, "", nil, nil, "", 1, 0, 0),
		row(OpNanosleep, ".<type>", types(U32), nil, "s", 6, 3, 70),
	}
}

func bulkForms() []Form {
	state := types(B64)
	const (
		space   = "{.<space:shared|shared::cta>}.<type>"
		release = ".<sem:release>.<scope:cta|cluster>"
		acquire = ".<sem:acquire>.<scope:cta|cluster>"
		bytes   = ".<ignored:global>.<ignored:mbarrier::complete_tx::bytes>"
	)
	return []Form{
		row(OpMbarrierInit, space, state, nil, "[a] s:u32", 7, 0, 80),
		row(OpMbarrierInval, space, state, nil, "[a]", 7, 0, 80),
		row(OpMbarrierArrive, "+<sem:release>+<scope:cta>"+space, state, nil, "d [a]", 7, 0, 80),
		row(OpMbarrierArrive, "+<sem:release>+<scope:cta>"+space, state, nil, "d [a] s:u32", 7, 8, 90),
		row(OpMbarrierArrive, release+space, state, nil, "d [a]", 8, 0, 80),
		row(OpMbarrierArrive, release+space, state, nil, "d [a] s:u32", 8, 0, 90),
		row(OpMbarrierArriveExpectTx, "+<sem:release>+<scope:cta>"+space, state, nil, "d [a] s:u32", 8, 0, 90),
		row(OpMbarrierArriveExpectTx, release+space, state, nil, "d [a] s:u32", 8, 0, 90),
		row(OpMbarrierExpectTx, "{.<sem:relaxed>}{.<scope:cta|cluster>=cta}"+space, state, nil, "[a] s:u32", 8, 0, 90),
		row(OpMbarrierTestWait, "+<sem:acquire>+<scope:cta>"+space, state, nil, "d:pred [a] s", 7, 0, 80),
		row(OpMbarrierTestWait, ".<parity>+<sem:acquire>+<scope:cta>"+space, state, nil, "d:pred [a] s:u32", 7, 1, 80),
		row(OpMbarrierTestWait, acquire+space, state, nil, "d:pred [a] s", 8, 0, 80),
		row(OpMbarrierTestWait, ".<parity>"+acquire+space, state, nil, "d:pred [a] s:u32", 8, 0, 80),
		row(OpMbarrierTryWait, "+<sem:acquire>+<scope:cta>"+space, state, nil, "d:pred [a] s s:u32?", 7, 8, 90),
		row(OpMbarrierTryWait, ".<parity>+<sem:acquire>+<scope:cta>"+space, state, nil, "d:pred [a] s:u32 s:u32?", 7, 8, 90),
		row(OpMbarrierTryWait, acquire+space, state, nil, "d:pred [a] s s:u32?", 8, 0, 90),
		row(OpMbarrierTryWait, ".<parity>"+acquire+space, state, nil, "d:pred [a] s:u32 s:u32?", 8, 0, 90),

		row(OpCpAsyncBulk, ".<space:shared::cluster>"+bytes, nil, nil, "[a] [a] s:u32 [a]", 8, 0, 90),
		row(OpCpAsyncBulk, ".<space:shared::cta>"+bytes, nil, nil, "[a] [a] s:u32 [a]", 8, 6, 90),
		row(OpCpAsyncBulk, ".<space:global>.<ignored:shared::cta>.<ignored:bulk_group>", nil, nil, "[a] [a] s:u32", 8, 0, 90),
		row(OpCpAsyncBulkCommit, "", nil, nil, "", 8, 0, 90),
		row(OpCpAsyncBulkWait, "{.read}", nil, nil, "i:u32", 8, 0, 90),
	}
}
