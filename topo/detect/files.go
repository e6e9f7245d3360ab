package detect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// files is what is asked of a machine's file system. Names are as those of fs.FS,
// relative to the root: "sys/class/net". [Capture] is one without a disk.
type files interface {
	// readLink returns where a symbolic link leads; errNoLink if it is none.
	readLink(name string) (string, error)
	// read returns up to maxBytes of a regular file.
	read(name string, maxBytes int) ([]byte, error)
	// list returns the names in a folder, sorted.
	list(name string) ([]string, error)
}

var errNoLink = errors.New("no symbolic link")

// What a file may be instead of what is looked for.
var (
	errNoFile   = errors.New("it is no regular file")
	errNoFolder = errors.New("it is no folder")
	errEmpty    = errors.New("the file is empty")
	errNoText   = errors.New("it holds no line of text")
	errTooLong  = fmt.Errorf("it holds %d bytes or more", attrBytes)
)

// Bounds on what a file system may be, so that one that lies costs no time.
const (
	maxEntries = 4096    // of a folder
	maxHops    = 40      // symbolic links on the way to a file, as in Linux
	maxParts   = 64      // parts of a path
	attrBytes  = 4096    // of an attribute in sysfs: a page, as in Linux
	cpuBytes   = 1 << 14 // of /proc/cpuinfo: the first CPUs, which are as all
	topoBytes  = 4 << 20 // of a topology file: 640 GPUs take a tenth
)

// system is the files of an fs.FS.
type system struct{ fs.FS }

func (s system) readLink(name string) (string, error) {
	to, err := fs.ReadLink(s.FS, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return "", errNoLink
	}
	return to, err
}

func (s system) read(name string, maxBytes int) ([]byte, error) {
	info, err := fs.Stat(s.FS, name)
	if err != nil {
		return nil, err
	}
	// Opening a pipe waits for who writes to it.
	if !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	f, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	// It was only read: closing it has nothing to report.
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, int64(maxBytes)))
}

func (s system) list(name string) ([]string, error) {
	info, err := fs.Stat(s.FS, name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errNoFolder
	}
	f, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, errNoFolder
	}
	entries, err := dir.ReadDir(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names, nil
}

// tree finds its way through files and their symbolic links.
type tree struct {
	files
	real map[string]string // paths that were resolved
}

func newTree(f files) *tree { return &tree{f, map[string]string{}} }

// resolve returns the path of a file without symbolic links in it.
func (t *tree) resolve(name string) (string, error) {
	hops := 0
	return t.follow(name, &hops)
}

func (t *tree) follow(name string, hops *int) (string, error) {
	if known, ok := t.real[name]; ok {
		return known, nil
	}
	at := "."
	parts := strings.Split(name, "/")
	if len(parts) > maxParts {
		return "", fmt.Errorf("%s: more than %d folders deep", name, maxParts)
	}
	for _, part := range parts {
		switch part {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		if known, ok := t.real[next]; ok {
			at = known
			continue
		}
		to, err := t.readLink(next)
		switch {
		case errors.Is(err, errNoLink):
			t.real[next] = next
			at = next
			continue
		case err != nil:
			return "", err
		}
		if *hops++; *hops > maxHops {
			return "", fmt.Errorf("%s: more than %d symbolic links on the way", name, maxHops)
		}
		if !path.IsAbs(to) {
			to = path.Join(at, to)
		}
		if at, err = t.follow(strings.TrimPrefix(path.Clean("/"+to), "/"), hops); err != nil {
			return "", err
		}
		t.real[next] = at
	}
	return at, nil
}

// text returns the line of text in a small file, without white space around it, or
// why there is none. It is printable: it goes into files and onto terminals.
func (t *tree) text(name string) (string, error) {
	at, err := t.resolve(name)
	if err != nil {
		return "", err
	}
	b, err := t.read(at, attrBytes)
	if err != nil {
		return "", err
	}
	s := strings.TrimSpace(string(b))
	switch {
	case s == "":
		return "", errEmpty
	case !printable(s):
		return "", errNoText
	case len(b) == attrBytes:
		return "", errTooLong
	}
	return s, nil
}

// printable reports whether a text is UTF-8 and shows as it is.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// integer returns the number in a small file.
func (t *tree) integer(name string) (int, error) {
	s, err := t.text(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(s, 0, 32)
	if err != nil {
		return 0, fmt.Errorf("%s is no number", shown(s))
	}
	return int(n), nil
}

// exists reports whether there is such a file.
func (t *tree) exists(name string) bool {
	_, err := t.resolve(name)
	return err == nil
}

// entries returns the names in a folder, for the caller to keep, without those that
// cannot be shown, which the kernel gives to nothing.
func (t *tree) entries(name string) ([]string, error) {
	at, err := t.resolve(name)
	if err != nil {
		return nil, err
	}
	names, err := t.list(at)
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !printable(n) }), err
}

// reason says in few words why a file told nothing.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// shown returns text of a file for a message: short, and printable.
func shown(s string) string {
	const most = 40
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return strconv.Quote(s)
}
