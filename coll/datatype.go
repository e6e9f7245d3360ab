package coll

// DataType is the type of an element. The order is that of ncclDataType_t
// (NCCL v2.30 src/nccl.h.in); the short names are those of kernel symbols.
type DataType uint8

const (
	Int8     DataType = iota // i8
	Uint8                    // u8
	Int32                    // i32
	Uint32                   // u32
	Int64                    // i64
	Uint64                   // u64
	Float16                  // f16
	Float32                  // f32
	Float64                  // f64
	BFloat16                 // bf16
	F8E4M3                   // f8e4m3
	F8E5M2                   // f8e5m2

	NumDataTypes = iota
)

// dataTypes holds the properties of each DataType. Long names are those of
// nccl-tests (-d) and NCCL's constants without their prefix.
var dataTypes = [NumDataTypes]struct {
	size          int
	signed, float bool
	long          string
}{
	Int8:     {1, true, false, "int8"},
	Uint8:    {1, false, false, "uint8"},
	Int32:    {4, true, false, "int32"},
	Uint32:   {4, false, false, "uint32"},
	Int64:    {8, true, false, "int64"},
	Uint64:   {8, false, false, "uint64"},
	Float16:  {2, true, true, "half"},
	Float32:  {4, true, true, "float"},
	Float64:  {8, true, true, "double"},
	BFloat16: {2, true, true, "bfloat16"},
	F8E4M3:   {1, true, true, "f8e4m3"},
	F8E5M2:   {1, true, true, "f8e5m2"},
}

// dataTypeAliases are further spellings that users of NCCL, CUDA and PyTorch
// write.
var dataTypeAliases = map[string]DataType{
	"char": Int8, "int": Int32,
	"float16": Float16, "float32": Float32, "float64": Float64,
	"fp16": Float16, "fp32": Float32, "fp64": Float64,
	"fp8e4m3": F8E4M3, "fp8e5m2": F8E5M2, "float8e4m3": F8E4M3, "float8e5m2": F8E5M2,
}

// Size returns the bytes of one element.
func (t DataType) Size() int { return dataTypes[t].size }

// Float reports whether t is a floating-point type.
func (t DataType) Float() bool { return dataTypes[t].float }

// Signed reports whether t has negative values.
func (t DataType) Signed() bool { return dataTypes[t].signed }

// ReduceSM returns the least compute capability, times 10, that reductions of t
// need, 0 for any: those of 8-bit floats are conversions that sm_90 has (NCCL
// v2.30 src/device/generate.py, required_cuda, which asks for the same).
func (t DataType) ReduceSM() int {
	if t == F8E4M3 || t == F8E5M2 {
		return 90
	}
	return 0
}

// LongName returns nccl-tests' name of t ("float" for Float32).
func (t DataType) LongName() string { return dataTypes[t].long }

// Unsigned returns the unsigned integer of t's width if t is a signed integer,
// else t.
func (t DataType) Unsigned() DataType {
	switch t {
	case Int8:
		return Uint8
	case Int32:
		return Uint32
	case Int64:
		return Uint64
	}
	return t
}

// ParseDataType returns the DataType whose long name, short name or alias is s,
// in any case. The names that a [ParseError] lists are the long ones, which are
// nccl-tests', then the short ones.
func ParseDataType(s string) (DataType, error) {
	folded := fold(s)
	if t, ok := dataTypeAliases[folded]; ok {
		return t, nil
	}
	for t, p := range dataTypes {
		if p.long == folded {
			return DataType(t), nil
		}
	}
	return parse[DataType]("type", s, NumDataTypes, longNames()...)
}

func longNames() []string {
	names := make([]string, 0, 2*NumDataTypes) // the short ones follow
	for _, p := range dataTypes {
		names = append(names, p.long)
	}
	return names
}
