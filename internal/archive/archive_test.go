package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// sample returns groups of compressible modules, one of them empty.
func sample() [][]Module {
	text := func(seed uint64, lines int) []byte {
		r := rand.New(rand.NewPCG(seed, 1))
		var b bytes.Buffer
		for range lines {
			fmt.Fprintf(&b, "\tadd.s32 \t%%r%d, %%r%d, %d;\n", r.IntN(100), r.IntN(100), r.IntN(10))
		}
		return b.Bytes()
	}
	return [][]Module{
		{{"a.sm_70", text(1, 200)}, {"b.sm_70", text(2, 300)}},
		{{"empty", nil}},
		{{"c.sm_90", text(3, 10)}},
	}
}

func mustBuild(t testing.TB, groups [][]Module) []byte {
	data, err := Build(groups)
	require.NoError(t, err)
	return data
}

func TestRoundTrip(t *testing.T) {
	for _, groups := range [][][]Module{sample(), nil, {{}}} {
		a, err := Open(mustBuild(t, groups))
		require.NoError(t, err)
		i := 0
		for g, modules := range groups {
			for _, m := range modules {
				require.Equal(t, m.Name, a.Name(i))
				require.Equal(t, g, a.modules[i].group)
				data, err := a.Module(i)
				require.NoError(t, err)
				require.Equal(t, string(m.Data), string(data))
				i++
			}
		}
		require.Equal(t, i, a.Len())
	}
}

func TestBuildIsDeterministic(t *testing.T) {
	require.Equal(t, mustBuild(t, sample()), mustBuild(t, sample()))
}

// A module cannot grow into its neighbour.
func TestModuleIsCapped(t *testing.T) {
	a, err := Open(mustBuild(t, sample()))
	require.NoError(t, err)
	first, err := a.Module(0)
	require.NoError(t, err)
	_ = append(first, "spill"...)
	second, err := a.Module(1)
	require.NoError(t, err)
	require.Equal(t, sample()[0][1].Data, second)
}

func TestModuleConcurrently(t *testing.T) {
	a, err := Open(mustBuild(t, sample()))
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range a.Len() {
				if _, err := a.Module(i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// Every shorter archive is refused, wherever it ends.
func TestTruncated(t *testing.T) {
	data := mustBuild(t, sample())
	for n := range len(data) {
		_, err := Open(data[:n])
		var format *FormatError
		require.ErrorAs(t, err, &format, "%d of %d bytes", n, len(data))
	}
}

// Every flipped bit is found when the archive is opened.
func TestAltered(t *testing.T) {
	data := mustBuild(t, sample())
	for i := range data {
		altered := bytes.Clone(data)
		altered[i] ^= 1 << (i % 8)
		_, err := Open(altered)
		var format *FormatError
		require.ErrorAs(t, err, &format, "byte %d", i)
		require.NotContains(t, err.Error(), "\n")
	}
}

// reseal corrects the checksum of an archive that a test has changed.
func reseal(data []byte) []byte {
	copy(data[sumOffset:headerSize], make([]byte, sha256.Size))
	copy(data[sumOffset:], sum(data))
	return data
}

// What another writer might do wrong is refused too, with its own words.
func TestInconsistent(t *testing.T) {
	le := binary.LittleEndian
	indexGroup := func(g int) int { return headerSize + g*groupEntry }
	indexModule := func(m int) int { return headerSize + 3*groupEntry + m*moduleEntry }
	for _, test := range []struct {
		name    string
		change  func(data []byte) []byte
		message string
	}{
		{"magic", func(d []byte) []byte { d[0] = 'X'; return d }, `starts with "XCCLGOKA"`},
		{"version", func(d []byte) []byte { le.PutUint32(d[8:], 2); return d }, "has version 2; this program reads version 1"},
		{"longer", func(d []byte) []byte { return append(d, 0) }, "bytes, its header says"},
		{"sum", func(d []byte) []byte { d[sumOffset]++; return d }, "altered"},
		{"groups", func(d []byte) []byte { le.PutUint32(d[12:], 1<<31); return reseal(d) }, "too few for an index"},
		{"packed", func(d []byte) []byte { d[indexGroup(1)]++; return reseal(d) }, "its groups end at byte"},
		{"unpacked", func(d []byte) []byte { d[indexGroup(0)+4]++; return reseal(d) }, "its modules have"},
		{"module's group", func(d []byte) []byte { d[indexModule(0)] = 9; return reseal(d) }, "module 0 does not fit"},
		{"module's size", func(d []byte) []byte { le.PutUint32(d[indexModule(0)+4:], 1<<30); return reseal(d) }, "module 0 does not fit"},
		{"name", func(d []byte) []byte { le.PutUint32(d[indexModule(3)+8:], 1<<30); return reseal(d) }, "module 3 does not fit"},
		{"names", func(d []byte) []byte { d[indexModule(3)+8]--; return reseal(d) }, "belong to no module"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Open(test.change(mustBuild(t, sample())))
			require.ErrorContains(t, err, test.message)
			require.True(t, strings.HasPrefix(err.Error(), "kernel archive: "))
		})
	}
}

// A frame that does not unpack to what the index says is refused when its group
// is read.
func TestInconsistentGroup(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(data []byte)
	}{
		{"frame", func(d []byte) { d[len(d)-3] ^= 0xff }},
		{"crc", func(d []byte) { d[headerSize+2*groupEntry+8]++ }},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := mustBuild(t, sample())
			test.change(data)
			a, err := Open(reseal(data))
			require.NoError(t, err)
			_, err = a.Module(3)
			var format *FormatError
			require.ErrorAs(t, err, &format)
			require.ErrorContains(t, err, "group 2")
			_, err = a.Module(0)
			require.NoError(t, err, "other groups are untouched")
		})
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(mustBuild(f, sample()))
	f.Add(mustBuild(f, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= headerSize {
			reseal(data) // or every change would end at the checksum
		}
		a, err := Open(data)
		if err != nil {
			return
		}
		for i := range a.Len() {
			_, _ = a.Module(i)
		}
	})
}
