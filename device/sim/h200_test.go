package sim_test

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

//go:embed testdata/h200.txt
var h200Text string

// Where the PTX ISA leaves a result open, the machine gives a real GPU's.
func TestOpenResultsAreAnH200s(t *testing.T) {
	var body strings.Builder
	var code []string
	var want []uint64
	for line := range strings.Lines(h200Text) {
		text, result, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			continue
		}
		v, err := strconv.ParseUint(result, 0, 64)
		require.NoError(t, err)
		fmt.Fprintf(&body, "%s st.global.u64 [out+%d], r0;\n", text, 8*len(code))
		code, want = append(code, text), append(want, v)
	}
	require.Greater(t, len(code), 200)
	l := newLab(t, sim.Config{Devices: []device.Info{sim.H200()}})
	mod, err := l.devs[0].LoadModule("h200.ptx", []byte(`.version 8.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 P)
{
.reg .b16 h0, h1, h2; .reg .b32 w0, w1, w2, w3; .reg .f32 f0, f1, f2; .reg .f64 d0, d1, d2, d3; .reg .b64 r0, r1, r2, out, p, s;
.shared .align 8 .b8 sm[64];
ld.param.u64 out, [P]; mov.u64 s, sm; add.u64 p, out, 8192;
`+body.String()+"ret;\n}\n"))
	require.NoError(t, err)
	f, err := mod.Function("k")
	require.NoError(t, err)
	require.NoError(t, l.streams[0].Launch(&device.Launch{Function: f, Grid: 1, Threads: 32,
		Args: binary.LittleEndian.AppendUint64(nil, uint64(l.out))}))
	require.NoError(t, l.streams[0].Synchronize(context.Background()))
	got := make([]byte, 8*len(code))
	require.NoError(t, l.devs[0].CopyOut(got, l.out))
	for i, c := range code {
		require.Equalf(t, want[i], binary.LittleEndian.Uint64(got[8*i:]), "%s", c)
	}
}
