package ptx

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// header is of a target that has everything in the table.
const header = ".version 9.0\n.target sm_120\n.address_size 64\n"

// wrap makes a kernel of statements, with a register or two of each type and
// variables in each space.
func wrap(body string) string {
	return header + `.global .align 16 .b8 g[64];
.const .u32 c = 7;
.shared .align 16 .b8 sm[64];
.visible .entry k(.param .u64 a, .param .u32 n)
{
	.reg .pred %p<4>;
	.reg .b16 %h<6>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<5>;
	.reg .b128 %q<4>;
	.reg .f32 %f<5>;
	.reg .f64 %d<5>;
	.local .align 16 .b8 loc[64];
` + body + "\n\tret;\n}\n"
}

// kernel parses a kernel of statements.
func kernel(t *testing.T, body string) *Entry {
	t.Helper()
	m, err := Parse("k.ptx", []byte(wrap(body)))
	require.NoError(t, err)
	require.Len(t, m.Entries, 1)
	return m.Entries[0]
}

// one parses one instruction.
func one(t *testing.T, text string) (*Entry, *Instr) {
	t.Helper()
	e := kernel(t, "\t"+text)
	require.Len(t, e.Code, 2)
	return e, &e.Code[0]
}

// printed returns what Print writes.
func printed(t testing.TB, m *Module) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, m.Print(&b))
	return b.String()
}

// requireFixpoint checks that a module's print parses to a module that prints
// the same.
func requireFixpoint(t testing.TB, m *Module) {
	t.Helper()
	first := printed(t, m)
	again, err := Parse("printed.ptx", []byte(first))
	require.NoError(t, err, first)
	require.Equal(t, first, printed(t, again))
	require.Len(t, again.Entries, len(m.Entries))
	for i, e := range m.Entries {
		require.Equal(t, e.Regs, again.Entries[i].Regs)
		require.Equal(t, e.Labels, again.Entries[i].Labels)
		require.Len(t, again.Entries[i].Code, len(e.Code))
	}
}
