package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// file is a file that a run writes when it ends. It is opened before the run
// begins; what it held stays until it is replaced.
type file struct {
	*os.File
	created bool
}

func openFile(name string) (*file, error) {
	_, err := os.Stat(name)
	created := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, refusef("--json: %w", err)
	}
	return &file{f, created}, nil
}

// replace closes the file with what write writes.
func (f *file) replace(write func(io.Writer) error) error {
	// A device or a pipe holds nothing and cannot be truncated.
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		if err := f.Truncate(0); err != nil {
			_ = f.Close() // the first error says more
			return err
		}
	}
	if err := write(f); err != nil {
		_ = f.Close() // the first error says more
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return f.Close()
}

// discard closes the file, which is to be as it was. A nil f is no file.
func (f *file) discard() error {
	if f == nil {
		return nil
	}
	err := f.Close()
	if f.created {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
