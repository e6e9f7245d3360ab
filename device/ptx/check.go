package ptx

import "fmt"

// MinTarget returns the least PTX version and compute capability (90 is sm_90;
// 0 if every target has it) at which an instruction is available, by the opcode
// table. Special registers do not count: those in [Sreg] are older than sm_50.
func MinTarget(i *Instr) (Version, int) {
	if i.spelling == nil {
		return Version{}, 0
	}
	return i.spelling.ptx, i.spelling.sm
}

// Form returns the row of the opcode table that an instruction matched, nil for
// an Instr that Parse did not make.
func (i *Instr) Form() *Form {
	if i.spelling == nil {
		return nil
	}
	return i.spelling.form
}

// Rounds reports whether the instruction is a float add, subtraction,
// multiplication or fma, whose rounding the assembler chooses, and may contract,
// unless Round says it.
func (i *Instr) Rounds() bool {
	switch i.Op {
	case OpAdd, OpSub, OpMul, OpMad, OpFma:
		return i.Type.IsFloat()
	}
	return false
}

// Check reports every instruction and register of the module that a target of
// compute capability sm does not have at PTX version v, as an [ErrorList]. A
// module that Parse returns passes with its own Version and SM.
func (m *Module) Check(v Version, sm int) error {
	if errs := m.check(v, sm); len(errs) > 0 {
		return errs
	}
	return nil
}

func (m *Module) check(v Version, sm int) ErrorList {
	var errs ErrorList
	add := func(line int, text string, format string, args ...any) {
		errs = append(errs, &Error{File: m.File, Line: line, Text: text, Msg: fmt.Sprintf(format, args...)})
	}
	if since, ok := targets[sm]; !ok {
		add(1, "", "unknown target sm_%d; known are %s", sm, knownTargets())
	} else if v.Less(since) {
		add(1, "", "target sm_%d needs PTX %s, this is %s", sm, since, v)
	}
	for _, e := range m.Entries {
		for i := range e.Code {
			in := &e.Code[i]
			needVersion, needSM := MinTarget(in)
			if v.Less(needVersion) {
				add(in.Line, in.Text, "%s needs PTX %s, this is %s", in.Name, needVersion, v)
			}
			if sm < needSM {
				add(in.Line, in.Text, "%s needs sm_%d, this is sm_%d", in.Name, needSM, sm)
			}
		}
		for _, r := range e.Regs {
			// PTX ISA, "Fundamental Types".
			if since := (Version{8, 3}); r.Type == B128 && (v.Less(since) || sm < 70) {
				add(e.Line, "", ".b128 register %s needs PTX %s and sm_70, this is %s and sm_%d", r.Name, since, v, sm)
			}
		}
	}
	return errs
}
