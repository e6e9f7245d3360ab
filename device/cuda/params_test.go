//go:build linux && (amd64 || arm64) && !nodl

package cuda

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

// attributes is a list as ptxas writes it, of a kernel with 16 bytes of
// parameters.
var attributes = []byte{
	4, 0x37, 4, 0, 0x82, 0, 0, 0, // EIATTR_CUDA_API_VERSION
	4, 0x0a, 8, 0, 2, 0, 0, 0, 0x10, 2, 0x10, 0, // EIATTR_PARAM_CBANK
	3, 0x19, 0x10, 0, // EIATTR_CBANK_PARAM_SIZE
	3, 0x1b, 0xff, 0, // EIATTR_MAXREG_COUNT
}

// elfFile returns an ELF file with one section besides that of names.
func elfFile(t *testing.T, name string, content []byte) []byte {
	names := "\x00" + name + "\x00.shstrtab\x00"
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: 190, Version: 1, Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 2,
		Shoff: uint64(64 + len(content) + len(names)),
	}
	copy(header.Ident[:], []byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1})
	var b bytes.Buffer
	for _, part := range []any{
		header, content, []byte(names), elf.Section64{},
		elf.Section64{Name: 1, Type: 0x70000000, Off: 64, Size: uint64(len(content))},
		elf.Section64{Name: uint32(2 + len(name)), Type: uint32(elf.SHT_STRTAB), Off: uint64(64 + len(content)), Size: uint64(len(names))},
	} {
		require.NoError(t, binary.Write(&b, binary.LittleEndian, part))
	}
	return b.Bytes()
}

func TestCubinParams(t *testing.T) {
	size, ok := cubinParams(elfFile(t, ".nv.info.fill", attributes), "fill")
	require.True(t, ok)
	require.Equal(t, 16, size)
	for name, image := range map[string][]byte{
		"another kernel":      elfFile(t, ".nv.info.fills", attributes),
		"without it":          elfFile(t, ".nv.info.fill", attributes[:20]),
		"cut in a value":      elfFile(t, ".nv.info.fill", attributes[:15]),
		"cut in an attribute": elfFile(t, ".nv.info.fill", attributes[:22]),
		"nothing":             elfFile(t, ".nv.info.fill", nil),
		"no ELF file":         []byte("\x7fELF"),
	} {
		_, ok := cubinParams(image, "fill")
		require.False(t, ok, name)
	}
}

// The driver is not asked for a parameter that is not there if the cubin says how
// many bytes there are, and believed if the cubin rounds up; wrong blocks are
// refused in either case.
func TestParamsAreNotOverrun(t *testing.T) {
	rounded := append([]byte{}, attributes...)
	rounded[22] += 4
	for name, test := range map[string]struct {
		list  []byte
		calls int
	}{
		"exact":      {attributes, 2},
		"rounded up": {rounded, 3},
		"unknown":    {nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			_, dev := openFake(t, f, Config{})
			m, err := dev.LoadModule("fill.cubin", elfFile(t, ".nv.info.fill", test.list))
			require.NoError(t, err)
			fn, err := m.Function("fill")
			require.NoError(t, err)
			require.Equal(t, test.calls, f.calls("cuFuncGetParamInfo"))
			s := newStream(t, dev)
			for _, n := range []int{0, 8, 15, 17, 24} {
				err := s.Launch(&device.Launch{Function: fn, Grid: 1, Threads: 1, Args: make([]byte, n)})
				require.ErrorContains(t, err, "the kernel's has 16", "%d bytes", n)
			}
			require.NoError(t, s.Launch(&device.Launch{Function: fn, Grid: 1, Threads: 1, Args: make([]byte, 16)}))
		})
	}
}
