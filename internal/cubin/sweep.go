package cubin

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A store looks at its directory after it has written 1/sweepShare of its bound,
// for others may write there too. If entries then take more than the bound less
// 2/sweepShare, it removes the oldest down to the bound less 4/sweepShare. So one
// process stays below the bound, and each further one that writes at the same
// moment may add 1/sweepShare.
const sweepShare = 16

// staleAfter is the age at which a file that is being written counts as left
// behind by a process that died.
const staleAfter = time.Hour

// listed is a file of the directory.
type listed struct {
	name string
	size int64
	used time.Time
}

// list returns the entries, those used last at the end, and the files that are
// being written. Files that vanish meanwhile are left out, and so is what is not
// of this package.
func (s *Store) list() (entries, scratches []listed, err error) {
	all, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for _, d := range all {
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		f := listed{d.Name(), info.Size(), info.ModTime()}
		switch hex, isEntry := strings.CutSuffix(f.name, suffix); {
		case isEntry && len(hex) == 2*len(Key{}) && strings.Trim(hex, "0123456789abcdef") == "":
			entries = append(entries, f)
		case strings.HasPrefix(f.name, scratch):
			scratches = append(scratches, f)
		}
	}
	slices.SortFunc(entries, func(a, b listed) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name))
	})
	return entries, scratches, nil
}

// sweep makes room.
func (s *Store) sweep() error {
	entries, scratches, err := s.list()
	if err != nil {
		return err
	}
	remove := func(f listed) error {
		err := os.Remove(filepath.Join(s.dir, f.name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another process sweeps too
		}
		return err
	}
	for _, f := range scratches {
		if time.Since(f.used) > staleAfter {
			if err := remove(f); err != nil {
				return err
			}
		}
	}
	total := totalBytes(entries)
	if total <= s.maxBytes-2*s.maxBytes/sweepShare {
		return nil
	}
	for _, f := range entries {
		if total <= s.maxBytes-4*s.maxBytes/sweepShare {
			break
		}
		if err := remove(f); err != nil {
			return err
		}
		total -= f.size
	}
	return nil
}

func totalBytes(files []listed) int64 {
	total := int64(0)
	for _, f := range files {
		total += f.size
	}
	return total
}

// Usage is what a store holds.
type Usage struct {
	Dir      string // empty if there is none
	Entries  int
	Bytes    int64
	MaxBytes int64
}

// Usage looks at what is there.
func (s *Store) Usage() (Usage, error) {
	if s == nil {
		return Usage{}, nil
	}
	u := Usage{Dir: s.dir, MaxBytes: s.maxBytes}
	if s.dir == "" {
		return u, nil
	}
	entries, _, err := s.list()
	u.Entries, u.Bytes = len(entries), totalBytes(entries)
	return u, err
}
