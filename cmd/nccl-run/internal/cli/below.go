package cli

import (
	"io/fs"
	"strings"
)

// below are files in a folder of that name.
type below struct {
	dir string
	fs.FS
}

// inside returns the name of a file as the files in the folder have it.
func (b below) inside(op, name string) (string, error) {
	if name == b.dir {
		return ".", nil
	}
	if rest, ok := strings.CutPrefix(name, b.dir+"/"); ok {
		return rest, nil
	}
	return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// Open opens a file.
func (b below) Open(name string) (fs.File, error) {
	inside, err := b.inside("open", name)
	if err != nil {
		return nil, err
	}
	return b.FS.Open(inside)
}

// Stat says what a file is. Without it fs.Stat would open the file, and wait if it is
// a pipe.
func (b below) Stat(name string) (fs.FileInfo, error) {
	inside, err := b.inside("stat", name)
	if err != nil {
		return nil, err
	}
	return fs.Stat(b.FS, inside)
}

// ReadLink returns where a symbolic link leads.
func (b below) ReadLink(name string) (string, error) {
	inside, err := b.inside("readlink", name)
	if err != nil {
		return "", err
	}
	return fs.ReadLink(b.FS, inside)
}

// Lstat says what a file is.
func (b below) Lstat(name string) (fs.FileInfo, error) {
	inside, err := b.inside("lstat", name)
	if err != nil {
		return nil, err
	}
	return fs.Lstat(b.FS, inside)
}
