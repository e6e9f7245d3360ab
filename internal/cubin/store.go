package cubin

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// DefaultMaxBytes is how much a store keeps unless told otherwise: some
// thousands of kernels.
const DefaultMaxBytes = 256 << 20

// Config says where entries are kept. The zero value is a good choice.
type Config struct {
	// Dir is the directory; empty means ncclgo below the user's directory for
	// caches, which is $XDG_CACHE_HOME or $HOME/.cache. It is made when the first
	// entry is written.
	Dir string
	// MaxBytes is the most that entries take on disk; 0 means DefaultMaxBytes.
	// Those not used for longest give way.
	MaxBytes int64
	// Getenv looks up a variable; nil means os.LookupEnv.
	Getenv func(name string) (value string, ok bool)
	// Report, if not nil, is told of trouble, of each kind once: that entries are
	// not kept, that they cannot be read, that one was damaged.
	Report func(error)
}

// Store is a directory of entries. A nil Store keeps nothing.
type Store struct {
	dir      string
	maxBytes int64
	report   func(error)

	unreadable, damaged sync.Once // what was reported

	mu sync.Mutex
	// What follows is guarded by mu.
	problem error // why nothing is kept
	unswept int64 // bytes written since the last sweep
}

// Open returns the store of a directory. It neither fails nor makes anything: a
// directory that cannot be used is reported, and the store then keeps nothing.
func Open(cfg Config) *Store {
	s := &Store{maxBytes: cmp.Or(cfg.MaxBytes, DefaultMaxBytes), report: cfg.Report}
	if s.report == nil {
		s.report = func(error) {}
	}
	// What is there is not known yet, so the first Put looks.
	s.unswept = s.maxBytes
	getenv := cfg.Getenv
	if getenv == nil {
		getenv = os.LookupEnv
	}
	dir, err := directory(cfg.Dir, getenv)
	if err != nil {
		s.giveUp(err)
		return s
	}
	if err := trusted(dir); err != nil {
		s.giveUp(err)
		return s
	}
	s.dir = dir
	return s
}

// directory returns the absolute path of dir, or of the default if dir is empty.
//
// Source: XDG Base Directory Specification 0.8 (a relative path counts as none).
func directory(dir string, getenv func(string) (string, bool)) (string, error) {
	if dir != "" {
		return filepath.Abs(dir)
	}
	if base, _ := getenv("XDG_CACHE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "ncclgo"), nil
	}
	if home, _ := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "ncclgo"), nil
	}
	return "", errors.New("neither XDG_CACHE_HOME nor HOME is an absolute path; set one of them")
}

// trusted returns why dir must not be used, if it must not: what lies there runs
// on the GPU. A directory that is not there is no reason.
func trusted(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no directory; remove it, or set XDG_CACHE_HOME to another place", dir)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s may be written by others (mode %04o), and what lies there runs on the GPU; chmod go-w it", dir, info.Mode().Perm())
	}
	return nil
}

// giveUp makes s keep nothing from now on, and says so the first time.
func (s *Store) giveUp(err error) {
	err = fmt.Errorf("kernel cache: %w; kernels are assembled without being kept", err)
	s.mu.Lock()
	first := s.problem == nil
	if first {
		s.problem = err
	}
	s.mu.Unlock()
	if first {
		s.report(err)
	}
}

// Problem returns why s keeps nothing, nil if it does or has not been asked to.
func (s *Store) Problem() error {
	if s == nil {
		return errors.New("kernel cache: it is off")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem
}

// suffix ends the names of entries; what stands before is the key.
const suffix = ".cubin"

func (s *Store) path(k Key) string { return filepath.Join(s.dir, k.String()+suffix) }

// touchAfter is how old the record of an entry's last use may become. Writing
// it at each use would make every start write to the disk.
const touchAfter = time.Hour

// Get returns the cubin of k, if it is there and whole.
func (s *Store) Get(k Key) (cubin []byte, ok bool) {
	if s == nil || s.dir == "" {
		return nil, false
	}
	path := s.path(k)
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file; remove it", path)
	}
	var file []byte
	if err == nil {
		file, err = os.ReadFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	if err != nil {
		s.unreadable.Do(func() { s.report(fmt.Errorf("kernel cache: %w; the kernel is assembled again", err)) })
		return nil, false
	}
	if cubin, err = decode(k, file); err != nil {
		s.damaged.Do(func() { s.report(fmt.Errorf("kernel cache: %s: %w; the kernel is assembled again", path, err)) })
		return nil, false
	}
	if now := time.Now(); now.Sub(info.ModTime()) > touchAfter {
		_ = os.Chtimes(path, now, now) // where it cannot be written nothing is evicted either
	}
	return cubin, true
}

// Put keeps a cubin under k, in place of what may be there. After a failure,
// which is reported, the store is only read. A cubin larger than the store is
// left out.
func (s *Store) Put(k Key, cubin []byte) {
	if s == nil || s.Problem() != nil {
		return
	}
	file := encode(k, cubin)
	if int64(len(file)) > s.maxBytes {
		return
	}
	if err := s.write(s.path(k), file); err != nil {
		s.giveUp(err)
		return
	}
	s.mu.Lock()
	s.unswept += int64(len(file))
	due := s.unswept > s.maxBytes/sweepShare
	if due {
		s.unswept = 0
	}
	s.mu.Unlock()
	if due {
		if err := s.sweep(); err != nil {
			s.giveUp(err)
		}
	}
}

// scratch begins the names of files that are being written.
const scratch = "writing-"

// write makes path a file with the given bytes, all of them or none. Nothing is
// flushed to the disk: after a crash the checksum tells.
func (s *Store) write(path string, file []byte) (err error) {
	// Each time, for the user may remove the directory at any moment.
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, scratch+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(file)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what failed first is what matters
	}
	return err
}
