package ptx

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// String returns the instruction as its text has it, without its guard. See
// [Entry.Format] for what it was read as.
func (i *Instr) String() string { return i.Text }

// Print writes a module as PTX that Parse reads as the same module. Names that
// several blocks declare are told apart by a number.
func (m *Module) Print(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, ".version %s\n.target %s\n.address_size %d\n", m.Version, m.TargetText, m.AddressSize)
	for _, v := range m.Globals {
		fmt.Fprintf(b, "%s;\n", v.declaration())
	}
	for _, e := range m.Entries {
		e.print(b)
	}
	return b.Flush()
}

func (e *Entry) print(b *bufio.Writer) {
	fmt.Fprintf(b, ".visible .entry %s(", e.Name)
	for i, v := range e.Params {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(b, "\n\t%s", v.declaration())
	}
	b.WriteString(")\n")
	if d := e.MaxNTID; d[0] > 0 {
		fmt.Fprintf(b, ".maxntid %d, %d, %d\n", d[0], d[1], d[2])
	}
	if d := e.ReqNTID; d[0] > 0 {
		fmt.Fprintf(b, ".reqntid %d, %d, %d\n", d[0], d[1], d[2])
	}
	if e.MinNCTA > 0 {
		fmt.Fprintf(b, ".minnctapersm %d\n", e.MinNCTA)
	}
	b.WriteString("{\n")
	e.printRegisters(b)
	for _, v := range e.Vars {
		fmt.Fprintf(b, "\t%s;\n", v.declaration())
	}
	f := formatter{entry: e, labels: e.labelsAt()}
	for i := range e.Code {
		printLabels(b, f.labels[i])
		f.instr(&e.Code[i])
		fmt.Fprintf(b, "\t%s;\n", f.String())
		f.Reset()
	}
	printLabels(b, f.labels[len(e.Code)])
	b.WriteString("}\n")
}

// printRegisters declares the registers in their order, those numbered from 0 as
// one range.
func (e *Entry) printRegisters(b *bufio.Writer) {
	for i := 0; i < len(e.Regs); {
		r := e.Regs[i]
		prefix, n := splitNumber(r.Name)
		count := 0
		for n == 0 && len(prefix) > 1 && i+count < len(e.Regs) && e.Regs[i+count] == (Reg{prefix + strconv.Itoa(count), r.Type}) {
			count++
		}
		if count > 1 {
			fmt.Fprintf(b, "\t.reg .%s %s<%d>;\n", r.Type, prefix, count)
		} else {
			fmt.Fprintf(b, "\t.reg .%s %s;\n", r.Type, r.Name)
		}
		i += max(count, 1)
	}
}

func printLabels(b *bufio.Writer, names []string) {
	for _, name := range names {
		fmt.Fprintf(b, "%s:\n", name)
	}
}

// labelsAt returns the labels before each instruction, in the order of names.
func (e *Entry) labelsAt() map[int][]string {
	at := make(map[int][]string)
	for name, i := range e.Labels {
		at[i] = append(at[i], name)
	}
	for _, names := range at {
		slices.Sort(names)
	}
	return at
}

// declaration returns a variable's declaration without its semicolon.
func (v *Var) declaration() string {
	s := fmt.Sprintf(".%s .align %d .%s %s", v.Space, v.Align, v.Type, v.Name)
	elem := v.Type.Size()
	switch {
	case v.Size == 0:
		return ".extern " + s + "[]"
	case v.Size == elem && len(v.Init) > 0:
		return s + " = " + v.element(0)
	case v.Size == elem:
		return s
	}
	s += fmt.Sprintf("[%d]", v.Size/elem)
	if len(v.Init) == 0 {
		return s
	}
	elements := make([]string, 0, len(v.Init)/elem)
	for at := 0; at < len(v.Init); at += elem {
		elements = append(elements, v.element(at))
	}
	return s + " = {" + strings.Join(elements, ", ") + "}"
}

// element returns the element of the initial contents at a byte offset.
func (v *Var) element(at int) string {
	for _, a := range v.Addrs {
		if a.At != at {
			continue
		}
		if a.Generic {
			return "generic(" + a.Var.Name + ")" + formatOffset(a.Off)
		}
		return a.Var.Name + formatOffset(a.Off)
	}
	var word [8]byte
	copy(word[:], v.Init[at:at+v.Type.Size()])
	return formatConstant(binary.LittleEndian.Uint64(word[:]), v.Type)
}

// formatConstant returns the bits of a value of type t as PTX.
func formatConstant(value uint64, t Type) string {
	switch {
	case t == F32:
		return fmt.Sprintf("0f%08X", value)
	case t == F64:
		return fmt.Sprintf("0d%016X", value)
	case t.IsSigned():
		unused := 64 - 8*t.Size()
		return fmt.Sprint(int64(value<<unused) >> unused)
	}
	return fmt.Sprint(value)
}

// Format returns an instruction of the kernel with its guard, as it was decoded.
func (e *Entry) Format(i *Instr) string {
	f := formatter{entry: e, labels: e.labelsAt()}
	f.instr(i)
	return f.String()
}

// formatter writes instructions of a kernel.
type formatter struct {
	strings.Builder
	entry  *Entry
	labels map[int][]string
}

func (f *formatter) instr(i *Instr) {
	if i.Guard >= 0 {
		f.WriteByte('@')
		if i.GuardNot {
			f.WriteByte('!')
		}
		f.WriteString(f.entry.Regs[i.Guard].Name + " ")
	}
	f.WriteString(i.Name)
	sep := " "
	for _, list := range [][]Operand{i.Dst, i.Src} {
		for k := range list {
			f.WriteString(sep)
			f.operand(&list[k])
			sep = ", "
		}
	}
	if i.Op == OpBra {
		f.WriteString(sep + f.labels[i.Target][0])
	}
}

func (f *formatter) operand(o *Operand) {
	if o.Not {
		f.WriteByte('!')
	}
	switch o.Kind {
	case KindReg:
		f.WriteString(f.entry.Regs[o.Reg].Name)
	case KindImm:
		f.WriteString(formatConstant(o.Imm, o.Type))
	case KindSreg:
		f.WriteString(o.Sreg.String())
	case KindSink:
		f.WriteByte('_')
	case KindVar:
		f.WriteString(o.Var.Name + formatOffset(o.Off))
	case KindAddr:
		switch {
		case o.Reg >= 0:
			f.WriteString("[" + f.entry.Regs[o.Reg].Name + formatOffset(o.Off) + "]")
		case o.Var != nil:
			f.WriteString("[" + o.Var.Name + formatOffset(o.Off) + "]")
		default:
			fmt.Fprintf(f, "[%d]", o.Off)
		}
	case KindPair:
		f.elements(o.Vec, "|")
	case KindVec:
		f.WriteByte('{')
		f.elements(o.Vec, ", ")
		f.WriteByte('}')
	}
}

func (f *formatter) elements(list []Operand, sep string) {
	for i := range list {
		if i > 0 {
			f.WriteString(sep)
		}
		f.operand(&list[i])
	}
}

// formatOffset returns the offset of an address with its sign, nothing for 0.
func formatOffset(off int64) string {
	if off == 0 {
		return ""
	}
	return fmt.Sprintf("%+d", off)
}
