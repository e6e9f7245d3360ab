package cubin

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// trouble collects what a store reports.
type trouble []string

func (p *trouble) report(err error) { *p = append(*p, err.Error()) }

func keyOf(n int) Key {
	r := Recipe{PTX: fmt.Append(nil, n), Driver: "580.159", GPU: "sm_90"}
	return r.Key()
}

// cubinOf is an entry of 1,000 bytes that names its key.
func cubinOf(n int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%010d", n), 100) }

func TestPutAndGet(t *testing.T) {
	var seen trouble
	dir := filepath.Join(t.TempDir(), "a", "b")
	cfg := Config{Dir: dir, Report: seen.report}
	s := Open(cfg)
	require.NoDirExists(t, dir, "nothing is made before there is something to keep")
	_, ok := s.Get(keyOf(1))
	require.False(t, ok)

	s.Put(keyOf(1), cubinOf(1))
	s.Put(keyOf(2), nil)
	for range 2 {
		got, ok := s.Get(keyOf(1))
		require.True(t, ok)
		require.Equal(t, cubinOf(1), got)
		got, ok = s.Get(keyOf(2))
		require.True(t, ok)
		require.Empty(t, got)
		_, ok = s.Get(keyOf(3))
		require.False(t, ok)
		s = Open(cfg)
	}
	s.Put(keyOf(1), cubinOf(7))
	got, _ := s.Get(keyOf(1))
	require.Equal(t, cubinOf(7), got, "replaced")

	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.EqualValues(t, 0o700, info.Mode().Perm())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 2, "nothing is left over")
	u, err := s.Usage()
	require.NoError(t, err)
	require.Equal(t, Usage{Dir: dir, Entries: 2, Bytes: 2*headerSize + 1000, MaxBytes: DefaultMaxBytes}, u)
	require.NoError(t, s.Problem())
	require.Empty(t, seen)
}

func TestNilStore(t *testing.T) {
	var s *Store
	s.Put(keyOf(1), cubinOf(1))
	_, ok := s.Get(keyOf(1))
	require.False(t, ok)
	u, err := s.Usage()
	require.NoError(t, err)
	require.Zero(t, u)
	require.ErrorContains(t, s.Problem(), "off")
}

// Every part of a recipe matters, and its parts do not run together.
func TestKey(t *testing.T) {
	seen := map[Key]Recipe{}
	for _, r := range []Recipe{
		{},
		{PTX: []byte("a")},
		{PTX: []byte("b")},
		{PTX: []byte("a"), Driver: "1"},
		{PTX: []byte("a"), Driver: "2"},
		{PTX: []byte("a"), GPU: "1"},
		{PTX: []byte("a"), How: "1"},
		{PTX: []byte("a"), Driver: "11"},
		{PTX: []byte("a"), Driver: "1", GPU: "1"},
		{PTX: []byte("1a")},
	} {
		require.NotContains(t, seen, r.Key(), "%+v", r)
		seen[r.Key()] = r
		again := r
		require.Equal(t, r.Key(), again.Key())
	}
}

func TestDirectory(t *testing.T) {
	for _, test := range []struct {
		name, dir string
		env       map[string]string
		want, err string
	}{
		{"given", "/given", map[string]string{"XDG_CACHE_HOME": "/cache"}, "/given", ""},
		{"XDG", "", map[string]string{"XDG_CACHE_HOME": "/cache", "HOME": "/home/a"}, "/cache/ncclgo", ""},
		{"relative XDG", "", map[string]string{"XDG_CACHE_HOME": "cache", "HOME": "/home/a"}, "/home/a/.cache/ncclgo", ""},
		{"home", "", map[string]string{"HOME": "/home/a"}, "/home/a/.cache/ncclgo", ""},
		{"relative home", "", map[string]string{"HOME": "a"}, "", "neither XDG_CACHE_HOME nor HOME"},
		{"none", "", nil, "", "neither XDG_CACHE_HOME nor HOME"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var seen trouble
			s := Open(Config{Dir: test.dir, Report: seen.report, Getenv: func(name string) (string, bool) {
				value, ok := test.env[name]
				return value, ok
			}})
			require.Equal(t, test.want, s.dir)
			if test.err == "" {
				require.Empty(t, seen)
				return
			}
			require.Len(t, seen, 1)
			require.Contains(t, seen[0], test.err)
			s.Put(keyOf(1), cubinOf(1))
			_, ok := s.Get(keyOf(1))
			require.False(t, ok)
			require.Len(t, seen, 1, "reported once")
		})
	}
}

func TestDirectoryThatIsNoPlaceForEntries(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	open := filepath.Join(base, "open")
	require.NoError(t, os.Mkdir(open, 0o700))
	require.NoError(t, os.Chmod(open, 0o770))
	for _, test := range []struct{ name, dir, want string }{
		{"file", file, "is no directory; remove it"},
		{"below a file", filepath.Join(file, "cache"), "not a directory"},
		{"others may write", open, "mode 0770"},
		{"cannot be made", "/proc/ncclgo", "/proc/ncclgo"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var seen trouble
			s := Open(Config{Dir: test.dir, Report: seen.report})
			for range 2 {
				s.Put(keyOf(1), cubinOf(1))
				_, ok := s.Get(keyOf(1))
				require.False(t, ok)
			}
			require.Len(t, seen, 1)
			require.Contains(t, seen[0], test.want)
			require.NotContains(t, seen[0], "\n")
			require.EqualError(t, s.Problem(), seen[0])
		})
	}
}

// Whatever is wrong with a file, it is a miss, and Put mends it.
func TestDamagedEntry(t *testing.T) {
	k := keyOf(1)
	whole := encode(k, cubinOf(1))
	flipped := func(i int) []byte {
		b := bytes.Clone(whole)
		b[i] ^= 1
		return b
	}
	cases := map[string][]byte{
		"empty":            {},
		"no entry":         []byte(strings.Repeat("x", 2000)),
		"longer":           append(bytes.Clone(whole), 0),
		"another's":        encode(keyOf(2), cubinOf(1)),
		"cubin only":       cubinOf(1),
		"header only":      whole[:headerSize],
		"without its end":  whole[:len(whole)-1],
		"first half":       whole[:len(whole)/2],
		"zeros, as a hole": make([]byte, len(whole)),
	}
	for i := range headerSize + 4 {
		cases[fmt.Sprintf("byte %d changed", i)] = flipped(i)
	}
	for name, file := range cases {
		t.Run(name, func(t *testing.T) {
			var seen trouble
			s := Open(Config{Dir: t.TempDir(), Report: seen.report})
			require.NoError(t, os.Chmod(s.dir, 0o700))
			require.NoError(t, os.WriteFile(s.path(k), file, 0o600))
			for range 2 {
				_, ok := s.Get(k)
				require.False(t, ok)
			}
			require.Len(t, seen, 1)
			require.Contains(t, seen[0], s.path(k))
			s.Put(k, cubinOf(1))
			got, ok := s.Get(k)
			require.True(t, ok)
			require.Equal(t, cubinOf(1), got)
			require.NoError(t, s.Problem())
		})
	}
}

func TestEntryThatIsNoFile(t *testing.T) {
	var seen trouble
	s := Open(Config{Dir: filepath.Join(t.TempDir(), "c"), Report: seen.report})
	require.NoError(t, os.MkdirAll(s.path(keyOf(1)), 0o700))
	_, ok := s.Get(keyOf(1))
	require.False(t, ok)
	require.Len(t, seen, 1)
	require.Contains(t, seen[0], "is no regular file")
	s.Put(keyOf(1), cubinOf(1))
	require.Len(t, seen, 2)
	require.Contains(t, seen[1], "without being kept")
	files, err := os.ReadDir(s.dir)
	require.NoError(t, err)
	require.Len(t, files, 1, "what was written aside is removed")
}

// The directory may vanish at any moment.
func TestDirectoryRemoved(t *testing.T) {
	s := Open(Config{Dir: filepath.Join(t.TempDir(), "c")})
	s.Put(keyOf(1), cubinOf(1))
	require.NoError(t, os.RemoveAll(s.dir))
	_, ok := s.Get(keyOf(1))
	require.False(t, ok)
	u, err := s.Usage()
	require.NoError(t, err)
	require.Zero(t, u.Entries)
	s.Put(keyOf(1), cubinOf(1))
	_, ok = s.Get(keyOf(1))
	require.True(t, ok)
}

const fileBytes = headerSize + 1000

func TestBound(t *testing.T) {
	s := Open(Config{Dir: filepath.Join(t.TempDir(), "c"), MaxBytes: 40 * fileBytes})
	for i := range 100 {
		s.Put(keyOf(i), cubinOf(i))
		u, err := s.Usage()
		require.NoError(t, err)
		require.LessOrEqual(t, u.Bytes, s.maxBytes)
		_, ok := s.Get(keyOf(i))
		require.True(t, ok, "the newest stays")
	}
	u, err := s.Usage()
	require.NoError(t, err)
	require.GreaterOrEqual(t, u.Bytes, s.maxBytes/2, "no more than needed is removed")

	s.Put(keyOf(1000), make([]byte, s.maxBytes))
	_, ok := s.Get(keyOf(1000))
	require.False(t, ok, "larger than the store")
	after, err := s.Usage()
	require.NoError(t, err)
	require.Equal(t, u, after)
	require.NoError(t, s.Problem())
}

// What was used last stays, whoever wrote it first; what is not ours stays too.
func TestLeastRecentlyUsedGivesWay(t *testing.T) {
	s := Open(Config{Dir: filepath.Join(t.TempDir(), "c")})
	age := func(name string, hours int) {
		at := time.Now().Add(-time.Duration(hours) * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(s.dir, name), at, at))
	}
	for i := range 16 {
		s.Put(keyOf(i), cubinOf(i))
		age(keyOf(i).String()+suffix, 100-i)
	}
	for _, name := range []string{"notes.txt", "x.cubin", strings.Repeat("g", 64) + suffix, scratch + "old", scratch + "new"} {
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), make([]byte, 5000), 0o600))
		age(name, 1000)
	}
	age(scratch+"new", 0)
	_, ok := s.Get(keyOf(0))
	require.True(t, ok)

	small := Open(Config{Dir: s.dir, MaxBytes: 16 * fileBytes})
	small.Put(keyOf(99), cubinOf(99)) // 17 entries; 12 may stay
	var left []int
	for i := range 100 {
		if _, ok := small.Get(keyOf(i)); ok {
			left = append(left, i)
		}
	}
	require.Equal(t, []int{0, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 99}, left)
	for _, name := range []string{"notes.txt", "x.cubin", strings.Repeat("g", 64) + suffix, scratch + "new"} {
		require.FileExists(t, filepath.Join(s.dir, name))
	}
	require.NoFileExists(t, filepath.Join(s.dir, scratch+"old"), "left behind by a process that died")
}

func BenchmarkGet(b *testing.B) {
	s := Open(Config{Dir: filepath.Join(b.TempDir(), "c")})
	cubin := make([]byte, 30<<10)
	s.Put(keyOf(1), cubin)
	b.SetBytes(int64(len(cubin)))
	for b.Loop() {
		if _, ok := s.Get(keyOf(1)); !ok {
			b.Fatal("it is gone")
		}
	}
}
