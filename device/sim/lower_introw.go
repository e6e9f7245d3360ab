package sim

import "github.com/ncclgo/ncclgo/device/ptx"

// lowerIntRow returns a row function for integer arithmetic that kernels do all
// the time, or nil.
func (l *lowering) lowerIntRow() exec {
	in := l.in
	if in.Sat || in.Relu {
		return nil
	}
	switch {
	case in.Type.Size() == 4 && in.Op == ptx.OpMul && in.Mode == ptx.Wide:
		f := mulWideU
		if in.Type.IsSigned() {
			f = mulWideS
		}
		return rows64from32x2(l.d64(), l.src32(0), l.src32(1), f)
	case in.Mode == ptx.Wide || in.Mode == ptx.Hi:
		return nil
	case in.Type.Size() == 4:
		if f := orderRows32(in); f != nil {
			return rows32x2(l.d32(), l.src32(0), l.src32(1), f)
		}
		if f := intRows32[in.Op]; f != nil {
			return rows32x2(l.d32(), l.src32(0), l.src32(1), f)
		}
		if in.Op == ptx.OpMad {
			return rows32x3(l.d32(), l.src32(0), l.src32(1), l.src32(2), mad32)
		}
	case in.Type.Size() == 8:
		if in.Op == ptx.OpMin && !in.Type.IsSigned() {
			return rows64x2(l.d64(), l.src64(0), l.src64(1), minU64)
		}
		if f := intRows64[in.Op]; f != nil {
			return rows64x2(l.d64(), l.src64(0), l.src64(1), f)
		}
	}
	return nil
}

var intRows32 = map[ptx.Op]func(d, a, b *row32){
	ptx.OpAdd: func(d, a, b *row32) {
		for l := range d {
			d[l] = a[l] + b[l]
		}
	},
	ptx.OpSub: func(d, a, b *row32) {
		for l := range d {
			d[l] = a[l] - b[l]
		}
	},
	ptx.OpMul: func(d, a, b *row32) {
		for l := range d {
			d[l] = a[l] * b[l]
		}
	},
}

var intRows64 = map[ptx.Op]func(d, a, b *row64){
	ptx.OpAdd: func(d, a, b *row64) {
		for l := range d {
			d[l] = a[l] + b[l]
		}
	},
	ptx.OpSub: func(d, a, b *row64) {
		for l := range d {
			d[l] = a[l] - b[l]
		}
	},
	ptx.OpMul: func(d, a, b *row64) {
		for l := range d {
			d[l] = a[l] * b[l]
		}
	},
}

func mad32(d, a, b, c *row32) {
	for l := range d {
		d[l] = a[l]*b[l] + c[l]
	}
}

func mulWideU(d *row64, a, b *row32) {
	for l := range d {
		d[l] = uint64(a[l]) * uint64(b[l])
	}
}

func mulWideS(d *row64, a, b *row32) {
	for l := range d {
		d[l] = uint64(int64(int32(a[l])) * int64(int32(b[l])))
	}
}

func minU64(d, a, b *row64) {
	for l := range d {
		d[l] = min(a[l], b[l])
	}
}

// orderRows32 returns min or max of words, or nil.
func orderRows32(in *ptx.Instr) func(d, a, b *row32) {
	signed := in.Type.IsSigned()
	switch {
	case in.Op == ptx.OpMin && signed:
		return func(d, a, b *row32) {
			for l := range d {
				d[l] = uint32(min(int32(a[l]), int32(b[l])))
			}
		}
	case in.Op == ptx.OpMin:
		return func(d, a, b *row32) {
			for l := range d {
				d[l] = min(a[l], b[l])
			}
		}
	case in.Op == ptx.OpMax && signed:
		return func(d, a, b *row32) {
			for l := range d {
				d[l] = uint32(max(int32(a[l]), int32(b[l])))
			}
		}
	case in.Op == ptx.OpMax:
		return func(d, a, b *row32) {
			for l := range d {
				d[l] = max(a[l], b[l])
			}
		}
	}
	return nil
}
