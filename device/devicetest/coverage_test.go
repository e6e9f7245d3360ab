package devicetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device/ptx"
)

// exempt lists what no row exercises, with the reason: an opcode, or the start
// of an opcode with modifiers.
var exempt = map[string]string{
	"brkpt":         "ends the program or does nothing, as a debugger pleases",
	"trap":          "Faults has a test for it: the kernel fails",
	"ldu":           "the same as ld.global.nc, and deprecated",
	"multimem":      "needs multicast memory, which package device cannot make",
	"mbarrier":      "serves bulk copies, which no kernel uses",
	"cp.async.bulk": "no kernel uses it",
}

// byOpcode lists the opcodes whose forms differ only in how modifiers combine:
// for them each type and each modifier of the opcode counts, for the others
// those of each form.
var byOpcode = []ptx.Op{ptx.OpSet, ptx.OpLd, ptx.OpSt, ptx.OpAtom, ptx.OpRed}

// hint reports whether a modifier advises caches and has no other meaning.
func hint(word string) bool { return strings.Contains(word, "L1::") || strings.Contains(word, "L2::") }

// typeWords are the names of types among modifiers.
var typeWords = func() map[string]bool {
	m := map[string]bool{"b128": true, "pred": true}
	for _, k := range append(slices.Clone(accessKinds), half, half2, bfloat, bfloat2, fp8e4m3, fp8e5m2, tfloat32, u16x2, s16x2) {
		m[k.name] = true
	}
	return m
}()

// spelled splits an opcode with modifiers into its modifiers and its types.
func spelled(f *ptx.Form, text string) (words []string, types string) {
	var list []string
	for _, w := range strings.Split(strings.TrimPrefix(text, f.Op.String()), ".") {
		switch {
		case typeWords[w]:
			list = append(list, w)
		case w != "":
			words = append(words, w)
		}
	}
	return words, strings.Join(list, ".")
}

// operations are the modifiers of atom and red that must meet every type.
var operations = []string{"and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max"}

// whats returns what a spelling exercises: its types, its modifiers, and
// operations with their type.
func whats(op ptx.Op, words []string, types string) []string {
	all := []string{types}
	for _, w := range words {
		if hint(w) {
			continue
		}
		all = append(all, w)
		if (op == ptx.OpAtom || op == ptx.OpRed) && slices.Contains(operations, w) {
			all = append(all, w+" "+types)
		}
	}
	return all
}

// TestCoverage parses every kernel of the spec table and compares what they use
// with the opcode table: each form must be exercised with each of its types and
// each of its modifiers.
func TestCoverage(t *testing.T) {
	type use struct {
		op   ptx.Op
		form *ptx.Form // nil for those of byOpcode
		what string
	}
	key := func(f *ptx.Form, what string) use {
		if slices.Contains(byOpcode, f.Op) {
			return use{f.Op, nil, what}
		}
		return use{f.Op, f, what}
	}
	used := map[use]bool{}
	for _, fam := range families() {
		for _, batch := range batches(fam.rows()) {
			text, _ := module(batch)
			m, err := ptx.Parse("spec.ptx", []byte(text))
			if err != nil {
				for _, r := range batch {
					if _, err := ptx.Parse("spec.ptx", []byte(rowText(r))); err != nil {
						t.Errorf("%s/%s: %v", fam.name, r.name, err)
					}
				}
				continue
			}
			for _, e := range m.Entries {
				for i := range e.Code {
					in := &e.Code[i]
					f := in.Form()
					opcode, _, _ := strings.Cut(in.Text, " ")
					words, types := spelled(f, strings.TrimSuffix(opcode, ";"))
					for _, what := range whats(f.Op, words, types) {
						used[key(f, what)] = true
					}
				}
			}
		}
	}
	require.NotEmpty(t, used)
	wanted := map[string]bool{}
	for _, f := range ptx.Forms() {
		missing := map[string]string{}
		for text := range f.Spellings() {
			words, types := spelled(f, text)
			for _, what := range whats(f.Op, words, types) {
				if !used[key(f, what)] && missing[what] == "" {
					missing[what] = text
				}
			}
		}
		for what, example := range missing {
			if reason := exemption(example, wanted); reason == "" {
				t.Errorf("no row exercises %q of %s%s (%s)", what, f.Op, f.Syntax, example)
			}
		}
	}
	for text := range exempt {
		require.True(t, wanted[text], "the exemption %q is not needed", text)
	}
}

// exemption returns the reason why text needs no row, and notes which entry
// gave it.
func exemption(text string, wanted map[string]bool) string {
	for prefix, reason := range exempt {
		if text == prefix || strings.HasPrefix(text, prefix+".") {
			wanted[prefix] = true
			return reason
		}
	}
	return ""
}

// TestTable checks the table itself: names are unique, records fit.
func TestTable(t *testing.T) {
	for _, fam := range families() {
		names := map[string]bool{}
		for _, r := range fam.rows() {
			require.False(t, names[r.name], "two rows are called %s/%s", fam.name, r.name)
			names[r.name] = true
			require.LessOrEqual(t, len(r.in), maxOperands, r.name)
			require.LessOrEqual(t, len(r.out), maxOperands, r.name)
			require.True(t, (r.ref == nil) != (r.check == nil), "%s needs either a reference or a check", r.name)
			require.LessOrEqual(t, r.threads, rowThreads, r.name)
			require.Zero(t, r.threads%ctaThreads, r.name)
			require.Contains(t, r.name, "/")
		}
	}
}
