package ptx

import "strings"

// role is what part an operand plays in a form.
type role uint8

const (
	roleDst      role = iota // d
	roleSrc                  // s
	roleMov                  // m: also a special register or a variable
	roleVar                  // v: also a variable
	roleAddr                 // [a]
	roleConst                // i
	roleLabel                // L
	roleDstParts             // {d}
	roleSrcParts             // {s}
)

var roleByName = map[string]role{
	"d": roleDst, "s": roleSrc, "m": roleMov, "v": roleVar, "[a]": roleAddr,
	"i": roleConst, "L": roleLabel, "{d}": roleDstParts, "{s}": roleSrcParts,
}

// operandSpec is one operand of a form; Form.Operands has the notation.
type operandSpec struct {
	role     role
	typ      string // "": the first type written; "src", "wide", or a type's name
	fixed    Type   // the type that typ names
	wider    bool   // ~
	vector   bool   // *
	negate   bool   // !
	pair     bool   // | or ||
	needPair bool   // ||
	optional bool   // ?
}

// isDst reports whether the operand is written.
func (s *operandSpec) isDst() bool { return s.role == roleDst || s.role == roleDstParts }

// typeIn returns the operand's type in an instruction.
func (s *operandSpec) typeIn(in *Instr) Type {
	switch s.typ {
	case "":
		return in.Type
	case "src":
		return in.SrcType
	case "wide":
		return in.Type.wide()
	}
	return s.fixed
}

// parseOperands reads the notation of Form.Operands.
func parseOperands(notation string) []operandSpec {
	var specs []operandSpec
	for item := range strings.FieldsSeq(notation) {
		var s operandSpec
		body := strings.TrimRight(item, "~*!|?")
		flags := item[len(body):]
		s.wider = strings.Contains(flags, "~")
		s.vector = strings.Contains(flags, "*")
		s.negate = strings.Contains(flags, "!")
		s.pair = strings.Contains(flags, "|")
		s.needPair = strings.Contains(flags, "||")
		s.optional = strings.Contains(flags, "?")
		name, typ, _ := strings.Cut(body, ":")
		r, ok := roleByName[name]
		s.typ, s.role, s.fixed = typ, r, typeByName[typ]
		if !ok || typ != "" && typ != "src" && typ != "wide" && s.fixed == NoType {
			panic("ptx: BUG: unknown operand notation: " + item)
		}
		specs = append(specs, s)
	}
	return specs
}

// takes reports whether an operand of shape raw, as the n-th, can stand here in
// an instruction that moves vec elements.
func (s *operandSpec) takes(raw *rawOperand, vec uint8) bool {
	switch s.role {
	case roleAddr:
		return raw.kind == rawAddr
	case roleConst:
		return raw.kind == rawNumber
	case roleLabel:
		return raw.kind == rawWord
	case roleDstParts, roleSrcParts:
		return raw.kind == rawVec
	case roleDst:
		if s.vector && vec > 1 {
			return raw.kind == rawVec || raw.kind == rawWord && raw.word == "_"
		}
		return raw.kind == rawPair && s.pair || raw.kind == rawWord && !s.needPair
	}
	if s.vector && vec > 1 {
		return raw.kind == rawVec
	}
	return raw.kind == rawWord || raw.kind == rawNumber
}

// shape pairs the operands of a text with those of the form, leaving out
// optional ones from the right, in the room of fit. It reports whether they do.
func (sp *spelling) shape(raws []rawOperand, fit []*operandSpec) ([]*operandSpec, bool) {
	fit = fit[:0]
	specs := sp.form.operands
	drop := len(specs) - len(raws)
	for i := range specs {
		fit = append(fit, &specs[i])
	}
	for i := len(fit) - 1; i >= 0 && drop > 0; i-- {
		if fit[i].optional {
			fit = append(fit[:i], fit[i+1:]...)
			drop--
		}
	}
	if drop != 0 {
		return fit, false
	}
	for i := range raws {
		if !fit[i].takes(&raws[i], sp.instr.Vec) {
			return fit, false
		}
	}
	return fit, true
}
