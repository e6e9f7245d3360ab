package ptx

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// constant is a numeric constant as written.
type constant struct {
	kind  constantKind
	bits  uint64 // constInt: the magnitude; constFloat32: the bits
	float float64
	minus bool
}

type constantKind uint8

const (
	constInt     constantKind = iota
	constFloat32              // 0fXXXXXXXX: exactly these bits
	constFloat64              // 0dXXXXXXXXXXXXXXXX, or with a point or an exponent
)

// parseConstant reads the text of a number token.
//
// Source: PTX ISA, "Constants".
func parseConstant(text string) (constant, error) {
	malformed := fmt.Errorf("malformed constant %s", text)
	if len(text) > 1 && text[0] == '0' {
		switch text[1] {
		case 'f', 'F':
			v, err := strconv.ParseUint(text[2:], 16, 32)
			if err != nil || len(text) != 10 {
				return constant{}, fmt.Errorf("%w: 0f takes 8 hexadecimal digits", malformed)
			}
			return constant{kind: constFloat32, bits: v}, nil
		case 'd', 'D':
			v, err := strconv.ParseUint(text[2:], 16, 64)
			if err != nil || len(text) != 18 {
				return constant{}, fmt.Errorf("%w: 0d takes 16 hexadecimal digits", malformed)
			}
			return constant{kind: constFloat64, float: math.Float64frombits(v)}, nil
		}
	}
	digits, base := strings.TrimSuffix(text, "U"), 10
	switch {
	case strings.HasPrefix(digits, "0x"), strings.HasPrefix(digits, "0X"):
		digits, base = digits[2:], 16
	case strings.HasPrefix(digits, "0b"), strings.HasPrefix(digits, "0B"):
		digits, base = digits[2:], 2
	case strings.ContainsAny(digits, ".eE"):
		v, err := strconv.ParseFloat(digits, 64)
		if err != nil || strings.ContainsRune(digits, '_') || len(digits) < len(text) {
			return constant{}, malformed
		}
		return constant{kind: constFloat64, float: v}, nil
	case len(digits) > 1 && digits[0] == '0':
		digits, base = digits[1:], 8
	}
	v, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return constant{}, malformed
	}
	return constant{bits: v}, nil
}

// as returns the constant's bits as a value of type t.
func (c constant) as(t Type) (uint64, error) {
	switch {
	case t == Pred:
		if c.kind != constInt {
			return 0, fmt.Errorf("a predicate constant is an integer")
		}
		return min(c.bits, 1), nil
	case t == F32 || t == F64:
		return c.asFloat(t)
	case t.isBits() && c.kind != constInt:
		// Untyped bits take a float of their own size.
		if t == B32 && c.kind == constFloat32 || t == B64 && c.kind == constFloat64 {
			return c.asFloat(map[Type]Type{B32: F32, B64: F64}[t])
		}
		return 0, fmt.Errorf("a floating-point constant does not fit .%s", t)
	case t.isBits() && t != B128 || t.isInt():
		return c.asInt(t)
	}
	return 0, fmt.Errorf(".%s operands are registers, not constants", t)
}

func (c constant) asFloat(t Type) (uint64, error) {
	if c.kind == constInt {
		return 0, fmt.Errorf("an integer constant does not fit .%s", t)
	}
	if c.kind == constFloat32 {
		bits := uint32(c.bits)
		if c.minus {
			bits ^= 1 << 31
		}
		if t == F32 {
			return uint64(bits), nil
		}
		return math.Float64bits(float64(math.Float32frombits(bits))), nil
	}
	v := c.float
	if c.minus {
		v = -v
	}
	if t == F32 {
		return uint64(math.Float32bits(float32(v))), nil
	}
	return math.Float64bits(v), nil
}

func (c constant) asInt(t Type) (uint64, error) {
	if c.kind != constInt {
		return 0, fmt.Errorf("a floating-point constant does not fit .%s", t)
	}
	width := 8 * t.Size()
	limit := uint64(math.MaxUint64) >> (64 - width)
	v := c.bits
	if c.minus {
		limit = 1 << (width - 1)
		v = -v
	}
	if c.bits > limit {
		return 0, fmt.Errorf("constant does not fit the %d bits of .%s", width, t)
	}
	return v & (math.MaxUint64 >> (64 - width)), nil
}

// int64 returns the constant as a byte offset.
func (c constant) int64() (int64, error) {
	v, err := c.asInt(S64)
	return int64(v), err
}
