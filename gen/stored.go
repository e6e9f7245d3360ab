package gen

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/archive"
	"github.com/ncclgo/ncclgo/internal/kernel"
)

// readStored returns the kernels that generated/ has, by module name; none if it
// has neither archive nor manifest. The archive must be the one that the
// manifest describes.
func readStored(root fs.FS) (map[string]*made, error) {
	file := path.Join(outputDir, archiveFile)
	text, err := fs.ReadFile(root, path.Join(outputDir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, missing := fs.Stat(root, file); errors.Is(missing, fs.ErrNotExist) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	record, err := kernel.DecodeManifest(text)
	if err != nil {
		return nil, &Error{File: path.Join(outputDir, manifestFile), Err: err}
	}
	data, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, err
	}
	a, err := archive.Open(data)
	if err != nil {
		return nil, &Error{File: file, Err: err}
	}
	if hash(data) != record.Archive.SHA256 || a.Len() != len(record.Kernels) {
		return nil, &Error{File: file, Err: fmt.Errorf("is not the archive that %s describes", manifestFile)}
	}

	stored := map[string]*made{}
	for i, k := range record.Kernels {
		m := &made{build: record.Builds[k.Build], source: k.Source}
		if m.variant, err = coll.ParseVariant(k.Symbol); err != nil {
			return nil, &Error{File: path.Join(outputDir, manifestFile), Err: err}
		}
		if m.ptx, err = a.Module(i); err != nil {
			return nil, &Error{File: file, Err: err}
		}
		if a.Name(i) != m.name() || hash(m.ptx) != k.PTXSHA256 {
			return nil, &Error{File: file, Key: k.Symbol, Err: fmt.Errorf("module %d is not the one that %s describes", i, manifestFile)}
		}
		stored[m.name()] = m
	}
	return stored, nil
}
