package conformance

import "github.com/ncclgo/ncclgo/coll"

// fault is a planted fault: a change of the headers that makes a protocol wrong.
type fault struct {
	proto coll.Proto
	what  string // the mutant's name, after its protocol's
	why   string // what the change takes away
	edits []edit
}

// edit replaces a text that stands once in a header.
type edit struct{ file, old, new string }

const (
	conn   = "conn.cuh"
	ptx    = "ptx.cuh"
	ll     = "proto_ll.cuh"
	ll128  = "proto_ll128.cuh"
	simple = "proto_simple.cuh"
)

// Faults that several protocols have in the same place.
var (
	slotEarly = edit{conn, "step + steps <= credit + abi::NumSteps;", "step + steps <= credit + abi::NumSteps + steps;"}
	noBarrier = edit{ll, "if (!cta.agree()) return;\n  if (t.recv) {", "if (t.recv) {"}
	clean     = "if (t.send) cleanLL(cta, s, s.step, "
)

// plantedFaults are the faults, by protocol.
var plantedFaults = []fault{
	{coll.LL, "one_flag", "the second word of a line is used without a look at its flag", []edit{
		{ll, "return flag0 == flag && flag1 == flag;", "return flag0 == flag;"},
	}},
	{coll.LL, "flag_before_data", "flags are stored before the data, by stores of their own", []edit{
		{ll, "stRelaxedSysV2U64(line, movB64Pack(data0, flag), movB64Pack(data1, flag));",
			"stRelaxedSysU32(line + 4, flag);\n  stRelaxedSysU32(line, data0);\n  stRelaxedSysU32(line + 12, flag);\n  stRelaxedSysU32(line + 8, data1);"},
	}},
	{coll.LL, "weak_store", "a line is stored by a plain access while the receiver polls it", []edit{
		{ll, "stRelaxedSysV2U64(line,", "stGlobalV2U64(line,"},
	}},
	{coll.LL, "weak_load", "a line is polled by a plain access while the sender stores it", []edit{
		{ll, "ldRelaxedSysV2U64(line,", "ldGlobalV2U64(line,"},
	}},
	{coll.LL, "no_credit", "a slot is written whether or not it is free", []edit{
		{ll, "const bool credit = !t.send || s.hasCredit(1) ||", "const bool credit = true || s.hasCredit(1) ||"},
	}},
	{coll.LL, "slot_early", "a slot is used again one step before it is free", []edit{slotEarly}},
	{coll.LL, "credit_before_use", "the slot is given back before its lines are read", []edit{
		{ll, "if (cta.works()) move<T>(cta, op, t, r, s, lines);",
			"if (t.recv && cta.publishes()) stRelaxedSysU64(r.head, r.step + 1);\n      if (cta.works()) move<T>(cta, op, t, r, s, lines);"},
	}},
	{coll.LL, "no_barrier", "one thread gives the slot back for all, while others read it", []edit{noBarrier}},
	{coll.LL, "wrong_step", "the receiver waits for the flag of the step before in this slot", []edit{
		{ll, "data0, data1, llFlag(r.step)); };", "data0, data1, llFlag(r.step - abi::NumSteps)); };"},
	}},
	{coll.LL, "flag_reused", "the flag is that of the slot: every step of it has the same", []edit{
		{ll, "return uint32_t(step) | 1;", "return uint32_t(step) % abi::NumSteps | 1;"},
	}},
	{coll.LL, "flag_zero", "the flag of a step may be 0, which new memory holds", []edit{
		{ll, "return uint32_t(step) | 1;", "return uint32_t(step);"},
	}},
	{coll.LL, "no_cleaning", "lines that a short step left alone keep their flags until these recur", []edit{
		{ll, clean + "lines);", ""},
	}},

	{coll.LL128, "no_reload", "what was loaded with the flags, before the vote, is used", []edit{
		{ll128, "      const auto arrived = [&] {\n", "      uint64_t low[rows], high[rows];\n      const auto arrived = [&] {\n"},
		{ll128, "    const uint32_t flagAt = at | abi::LL128DataBytes;\n", ""},
		{ll128, "          missing |= ll128Step(ldRelaxedSysU64(r.fifo + (slots.in + flagAt) + i * rowBytes)) != r.step;\n",
			"          ldRelaxedSysV2U64(r.fifo + (slots.in + at) + i * rowBytes, low[i], high[i]);\n          missing |= flagLane && ll128Step(high[i]) != r.step;\n"},
		{ll128, "        uint64_t low, high;\n        // ptx *_LL128: \"ld.relaxed.sys.global.v2.u64 {\"\n        ldRelaxedSysV2U64(r.fifo + (slots.in + at) + i * rowBytes, low, high);\n        received[i] = join<T>(low, high);\n",
			"        received[i] = join<T>(low[i], high[i]);\n"},
	}},
	{coll.LL128, "no_vote", "a lane looks at its line's flag and loads, without a vote between", []edit{
		{ll128, "return !voteSyncAny(missing);", "return !missing;"},
	}},
	{coll.LL128, "vote_of_one", "the warp goes on when one of its lines has arrived", []edit{
		{ll128, "return !voteSyncAny(missing);", "return voteSyncAny(!missing);"},
	}},
	{coll.LL128, "flag_lane", "the flag is stored by the first of eight lanes, and looked for in the last", []edit{
		{ll128, "const bool flagLane = lane % lineLanes == lineLanes - 1;", "const bool flagLane = lane % lineLanes == 0;"},
	}},
	{coll.LL128, "halves", "a lane stores its 16 bytes as two accesses", []edit{
		{ll128, "stRelaxedSysV2U64(s.fifo + (slots.out + at) + i * rowBytes, low, flagLane ? ll128Flag(s.step) : high);",
			"stRelaxedSysU64(s.fifo + (slots.out + at) + i * rowBytes, low);\n        stRelaxedSysU64(s.fifo + (slots.out + at) + i * rowBytes + 8, flagLane ? ll128Flag(s.step) : high);"},
	}},
	{coll.LL128, "weak_load", "a line is loaded by plain accesses, which nothing orders", []edit{
		{ll128, "ldRelaxedSysV2U64(r.fifo + (slots.in + at) + i * rowBytes, low, high);", "ldGlobalV2U64(r.fifo + (slots.in + at) + i * rowBytes, low, high);"},
	}},
	{coll.LL128, "no_credit", "a slot is written whether or not it is free", []edit{
		{ll128, "if (!t.send || cta.warpWaitUntil(abi::ReportCredit, credit)) {", "if (true || cta.warpWaitUntil(abi::ReportCredit, credit)) {"},
	}},
	{coll.LL128, "slot_early", "a slot is used again one step before it is free", []edit{slotEarly}},
	{coll.LL128, "credit_before_use", "the slot is given back before its lines are read", []edit{
		{ll128, "if (cta.works()) move<T>(cta, op, t, r, s);",
			"if (t.recv && cta.publishes()) stRelaxedSysU64(r.head, r.step + 1);\n      if (cta.works()) move<T>(cta, op, t, r, s);"},
	}},
	{coll.LL128, "no_barrier", "one thread gives the slot back for all, while others read it", []edit{noBarrier}},
	{coll.LL128, "flag_reused", "the flag is that of the slot: every step of it has the same", []edit{
		{ll128, "return step + 1;", "return step % abi::NumSteps + 1;"},
	}},
	{coll.LL128, "no_cleaning", "steps of LL128 do not rewrite LL's lines, so flags of LL recur", []edit{
		{ll128, clean + "0);", ""},
	}},

	{coll.Simple, "no_release", "no fence between the data and tail", []edit{
		{simple, "        fenceAcqRelSys();\n        // ptx: \"st.relaxed.sys.global.u64\"\n", ""},
	}},
	{coll.Simple, "no_acquire", "no fence between the poll of tail and the data", []edit{
		{simple, "[&] { return s.pollCredit(sliceSteps); })) return;\n    fenceAcqRelSys();", "[&] { return s.pollCredit(sliceSteps); })) return;"},
	}},
	{coll.Simple, "gpu_scope", "the fences reach the own GPU only", []edit{
		{ptx, `asm volatile("fence.acq_rel.sys;"`, `asm volatile("fence.acq_rel.gpu;"`},
	}},
	{coll.Simple, "tail_gpu_scope", "head and tail are stored for the own GPU only", []edit{
		{ptx, `asm volatile("st.relaxed.sys.global.u64 [%0], %1;"`, `asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"`},
	}},
	{coll.Simple, "tail_before_data", "tail is published before the data is written", []edit{
		{simple, "if (cta.works()) move<T>(cta, op, t, r, s);",
			"if (t.send && cta.publishes()) {\n      fenceAcqRelSys();\n      stRelaxedSysU64(s.tail, s.step + sliceSteps);\n    }\n    if (cta.works()) move<T>(cta, op, t, r, s);"},
	}},
	{coll.Simple, "tail_plain", "tail is stored by a plain access while the receiver polls it", []edit{
		{simple, "stRelaxedSysU64(s.tail, s.step);", "stGlobalU64(s.tail, s.step);"},
	}},
	{coll.Simple, "credit_before_use", "the slot is given back before its data is read", []edit{
		{simple, "if (cta.works()) move<T>(cta, op, t, r, s);",
			"if (t.recv && cta.publishes()) stRelaxedSysU64(r.head, r.step + sliceSteps);\n    if (cta.works()) move<T>(cta, op, t, r, s);"},
	}},
	{coll.Simple, "slot_early", "a slice is used again one slice before it is free", []edit{slotEarly}},
	{coll.Simple, "no_credit", "slots are written whether or not they are free", []edit{
		{simple, "const bool credit = !t.send || s.hasCredit(sliceSteps);", "const bool credit = true;"},
	}},
	{coll.Simple, "wrong_step", "the receiver waits for the slice before", []edit{
		{conn, "return step + steps <= published;", "return step <= published;"},
	}},
	{coll.Simple, "no_barrier_before_move", "one thread has waited, the others do not know", []edit{
		{simple, "if (!cta.agree()) return;\n    if (cta.works())", "if (cta.works())"},
	}},
	{coll.Simple, "no_barrier_after_move", "one thread publishes for all, while others still move their data", []edit{
		{simple, "    // ptx *_SIMPLE: \"barrier.sync 0\"\n    cta.sync();\n", ""},
	}},
	{coll.Simple, "odd_slots", "a slice at an odd step takes slots that two others have", []edit{
		{simple, "(uint32_t(step) % abi::NumSteps / sliceSteps * sliceSteps)", "(uint32_t(step) % abi::NumSteps)"},
	}},
	{coll.Simple, "no_cleaning", "steps of Simple do not rewrite LL's lines, so flags of LL recur", []edit{
		{simple, "for (uint32_t i = 0; t.send && i < sliceSteps; i++) cleanLL(", "for (uint32_t i = 0; false && i < sliceSteps; i++) cleanLL("},
	}},
}
