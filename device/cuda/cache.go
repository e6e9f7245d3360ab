package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/internal/cubin"
)

// CacheConfig says where assembled kernels are kept. The zero value is a good
// choice.
type CacheConfig struct {
	// Off keeps nothing on disk.
	Off bool
	// Dir is the directory; empty means ncclgo below $XDG_CACHE_HOME or, without
	// it, $HOME/.cache. It is made, for its user alone, when there is something to
	// keep.
	Dir string
	// MaxBytes is the most that it takes on disk; 0 means 256 MiB.
	MaxBytes int64
	// Getenv looks up a variable; nil means os.LookupEnv.
	Getenv func(name string) (value string, ok bool)
}

// Cache is what is known of the kernels on disk.
type Cache struct {
	Dir      string // empty if there is none
	Entries  int
	Bytes    int64
	MaxBytes int64
	// Problem is why kernels are not kept, or not read; nil if nothing is known to
	// be wrong.
	Problem error
}

// InspectCache looks at the kernels on disk. It needs no driver and changes
// nothing.
func InspectCache(cfg CacheConfig) Cache { return inspect(cfg.open(nil)) }

// Cache looks at the kernels on disk.
func (d *Driver) Cache() Cache { return inspect(d.store) }

func inspect(s *cubin.Store) Cache {
	usage, err := s.Usage()
	c := Cache{Dir: usage.Dir, Entries: usage.Entries, Bytes: usage.Bytes, MaxBytes: usage.MaxBytes, Problem: s.Problem()}
	if c.Problem == nil {
		c.Problem = err
	}
	return c
}

// open returns the store that cfg names, nil if it is off.
func (cfg *CacheConfig) open(report func(error)) *cubin.Store {
	if cfg.Off {
		return nil
	}
	return cubin.Open(cubin.Config{Dir: cfg.Dir, MaxBytes: cfg.MaxBytes, Getenv: cfg.Getenv, Report: report})
}

// assembler names what turns PTX into cubins: the driver's CUDA version, and
// which of the builds that share it this is.
func (l *library) assembler() string { return "CUDA " + versionText(l.version) + " " + l.build() }

// build tells builds of the driver apart, by the name of the file that was
// loaded, which carries the release ("libcuda.so.580.159.03"), and its size,
// where all are called the same. It is empty where that cannot be learned.
func (l *library) build() string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return ""
	}
	path := mappedFile(string(maps), uint64(l.driverGetVersion))
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s of %d bytes", filepath.Base(path), info.Size())
}

// mappedFile returns the file that is mapped at an address, or "".
//
// Source: proc_pid_maps(5).
func mappedFile(maps string, address uint64) string {
	for line := range strings.Lines(maps) {
		bounds, rest, _ := strings.Cut(line, " ")
		from, to, _ := strings.Cut(bounds, "-")
		low, err1 := strconv.ParseUint(from, 16, 64)
		high, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil || address < low || address >= high {
			continue
		}
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			return strings.TrimSuffix(rest[i:], "\n")
		}
	}
	return ""
}
