package devicetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func memRows() []*row {
	var rows []*row
	for _, place := range places {
		rows = append(rows, typeRows(place)...)
	}
	rows = append(rows, orderRows()...)
	rows = append(rows, paramRows()...)
	rows = append(rows, variableRows()...)
	rows = append(rows, wideAccessRows()...)
	return append(rows, addressRows()...)
}

// place is memory of 32 bytes that a thread owns: how its kernel declares it,
// the code that puts its address into r0, and the space that accesses name.
type place struct {
	name  string
	space string // ".global", or "" for a generic address
	decl  string
	setup string
}

const (
	sharedDecl = ".shared .align 16 .b8 sm[4096];"
	localDecl  = ".local .align 16 .b8 lm[32];"
	sharedAddr = "mov.u64 r0, sm;\nmad.wide.u32 r0, t, 32, r0;\n"
	localAddr  = "mov.u64 r0, lm;\n"
)

// places lists all writable spaces. The thread's output record serves as its
// global memory until the results are stored there; it is large enough, since
// every element has a slot.
var places = []place{
	{"global", ".global", "", "mov.u64 r0, aout;\n"},
	{"shared", ".shared", sharedDecl, sharedAddr},
	{"local", ".local", localDecl, localAddr},
	{"generic.global", "", "", "cvta.global.u64 r0, aout;\n"},
	{"generic.shared", "", sharedDecl, sharedAddr + "cvta.shared.u64 r0, r0;\n"},
	{"generic.local", "", localDecl, localAddr + "cvta.local.u64 r0, r0;\n"},
}

// accessKinds are the types of ld and st.
var accessKinds = []*kind{b8, u8, s8, b16, u16, s16, b32, u32, s32, single, b64, u64, s64, double}

// list writes "a0" or "{a0, a1}".
func list(name string, n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprintf("%s%d", name, i))
	}
	if n == 1 {
		return parts[0]
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func vector(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(".v%d", n)
}

// loaded is the kind of a register that shows how a load of k extends: 64 bits
// for integers; floating point has no extension.
func loaded(k *kind) *kind {
	if k.format != nil {
		return bitsOf(k)
	}
	return b64
}

// extended is what such a register holds after a load of x.
func extended(k *kind, x uint64) uint64 {
	return wrapBig(bigOf(x, k.bits, k.signed), loaded(k).bits)
}

// typeRows store and load every type and vector in one place.
func typeRows(p place) []*row {
	var rows []*row
	for _, k := range accessKinds {
		for _, n := range []int{1, 2, 4} {
			if n*k.bits > 128 {
				continue
			}
			rows = append(rows, &row{
				name: fmt.Sprintf("st+ld.%s%s/%s", p.name, vector(n), k.name),
				decl: p.decl,
				code: p.setup + fmt.Sprintf("st%s%s.%s [r0], %s;\nld%s%s.%s %s, [r0];",
					p.space, vector(n), k.name, list("a", n), p.space, vector(n), k.name, list("d", n)),
				in:  repeat(k, n),
				out: repeat(loaded(k), n),
				ref: each(func(a, d []uint64) {
					for i := range d {
						d[i] = extended(k, a[i])
					}
				}),
			})
		}
		rows = append(rows, neighbourRow(p, k))
	}
	return rows
}

// neighbourRow stores one element into a word of ones: bytes beside it stay.
func neighbourRow(p place, k *kind) *row {
	at := 8 - k.bits/8
	return &row{
		name: fmt.Sprintf("st.%s.neighbours/%s", p.name, k.name),
		decl: p.decl,
		code: p.setup + fmt.Sprintf("mov.u64 r1, -1;\nst%s.u64 [r0], r1;\nst%s.%s [r0+%d], a0;\nld%s.u64 d0, [r0];",
			p.space, p.space, k.name, at, p.space),
		in:  []*kind{k},
		out: []*kind{b64},
		ref: one(func(a []uint64) uint64 {
			keep := bitwise(64, func(i int) uint64 { return truth(i < 8*at) })
			return keep | mask(a[0], k.bits)<<(8*at)
		}),
	}
}

var scopes = []string{".cta", ".gpu", ".sys"}

// qualified returns the orderings of ld or st with what each needs.
func qualified(strong string) map[string]isa {
	all := map[string]isa{"": baseline, ".weak": baseline, ".volatile": baseline}
	for _, sem := range []string{".relaxed", strong} {
		for _, scope := range scopes {
			all[sem+scope] = baseline
		}
		all[sem+".cluster"] = hopper
	}
	return all
}

// access spells ld or st with an ordering or a cache operator; the latter
// comes after the space.
func access(op, qualifier, space string, cached bool) string {
	if cached {
		return op + space + qualifier
	}
	return op + qualifier + space
}

// orderRows run every ordering in every space that threads share. Alone in its
// memory, a thread must read what it wrote under each of them.
func orderRows() []*row {
	loads, stores := qualified(".acquire"), qualified(".release")
	loadCaches := []string{".ca", ".cg", ".cs", ".lu", ".cv"}
	storeCaches := []string{".wb", ".cg", ".cs", ".wt"}
	var rows []*row
	for _, p := range places {
		if strings.Contains(p.name, "local") {
			continue
		}
		for _, v := range []struct {
			k *kind
			n int
		}{{b8, 1}, {b16, 1}, {u32, 1}, {u64, 1}, {b32, 2}, {u64, 2}, {u32, 4}, {single, 4}} {
			add := func(op, q string, is isa, st, ld string) {
				rows = append(rows, &row{
					name: fmt.Sprintf("%s%s.%s%s/%s", op, q, p.name, vector(v.n), v.k.name),
					decl: p.decl,
					isa:  is,
					code: p.setup + fmt.Sprintf("%s%s.%s [r0], %s;\n%s%s.%s %s, [r0];",
						st, vector(v.n), v.k.name, list("a", v.n), ld, vector(v.n), v.k.name, list("d", v.n)),
					in:  repeat(v.k, v.n),
					out: repeat(bitsOf(v.k), v.n),
					ref: each(func(a, d []uint64) {
						for i := range d {
							d[i] = mask(a[i], v.k.bits)
						}
					}),
					threads: ctaThreads,
				})
			}
			for _, q := range slices.Sorted(maps.Keys(loads)) {
				add("ld", q, loads[q], "st"+p.space, access("ld", q, p.space, false))
			}
			for _, q := range slices.Sorted(maps.Keys(stores)) {
				add("st", q, stores[q], access("st", q, p.space, false), "ld"+p.space)
			}
			if p.space == ".shared" {
				continue // cache operators are for global memory
			}
			for _, q := range loadCaches {
				add("ld", q, baseline, "st"+p.space, access("ld", q, p.space, true))
			}
			for _, q := range storeCaches {
				add("st", q, baseline, access("st", q, p.space, true), "ld"+p.space)
			}
		}
	}
	// Read-only and device-register accesses exist for global memory alone.
	for _, v := range []struct {
		k *kind
		n int
	}{{u8, 1}, {s16, 1}, {u32, 1}, {single, 1}, {u64, 1}, {double, 2}, {u32, 4}} {
		rows = append(rows, &row{
			name: fmt.Sprintf("ld.nc.global%s/%s", vector(v.n), v.k.name),
			code: fmt.Sprintf("ld.global.nc%s.%s %s, [ain];", vector(v.n), v.k.name, list("d", v.n)),
			in:   repeat(b64, 2),
			out:  repeat(loaded(v.k), v.n),
			ref: each(func(a, d []uint64) {
				for i := range d {
					at := i * v.k.bits
					d[i] = extended(v.k, mask(a[at/64]>>(at%64), v.k.bits))
				}
			}),
		})
	}
	for _, space := range []string{"", ".global"} {
		for _, k := range []*kind{u32, u64} {
			rows = append(rows, &row{
				name: "st+ld.mmio.relaxed.sys" + space + "/" + k.name,
				isa:  volta82,
				code: fmt.Sprintf("st.mmio.relaxed.sys%s.%s [aout], a0;\nld.mmio.relaxed.sys%s.%s d0, [aout];",
					space, k.name, space, k.name),
				in:  []*kind{k},
				out: []*kind{k},
				ref: one(func(a []uint64) uint64 { return a[0] }),
			})
		}
	}
	return rows
}

// wideAccessRows move 16 bytes in one register.
func wideAccessRows() []*row {
	var rows []*row
	for _, p := range places {
		for _, q := range []struct {
			ld, st string
			isa    isa
		}{
			{"", "", volta83},
			{".relaxed.gpu", ".relaxed.gpu", volta83},
			{".acquire.cta", ".release.cta", volta83},
			{".volatile", ".volatile", volta84},
			{".relaxed.sys", ".relaxed.sys", volta84},
			{".acquire.sys", ".release.sys", volta84},
		} {
			if q.ld != "" && strings.Contains(p.name, "local") {
				continue
			}
			rows = append(rows, &row{
				name: fmt.Sprintf("st%s+ld%s.%s/b128", q.st, q.ld, p.name),
				isa:  q.isa,
				decl: p.decl + " .reg .b128 x, y;",
				code: p.setup + fmt.Sprintf("mov.b128 x, {a0, a1};\nst%s%s.b128 [r0], x;\nld%s%s.b128 y, [r0];\nmov.b128 {d0, d1}, y;",
					q.st, p.space, q.ld, p.space),
				in:  repeat(b64, 2),
				out: repeat(b64, 2),
				ref: each(func(a, d []uint64) { copy(d, a) }),
			})
		}
	}
	return rows
}
