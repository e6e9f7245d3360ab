package gen

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
)

const (
	archiveFile  = "kernels.archive"
	manifestFile = "manifest.json"

	// tempPattern matches files on their way to their place.
	tempPattern = ".nccl-gen-*"
)

// writeFiles makes generated/ below root hold the given files: those that differ
// are replaced as a whole, and with prune set those that gen wrote earlier and
// would not write now are removed. It returns the names of what changed.
func writeFiles(root string, files map[string][]byte, prune bool) ([]string, error) {
	dir := filepath.Join(root, outputDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(dir, name)
		old, err := os.ReadFile(file)
		if err == nil && bytes.Equal(old, files[name]) {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return changed, err
		}
		if err := replaceFile(file, files[name]); err != nil {
			return changed, fmt.Errorf("write %s/%s: %w", outputDir, name, err)
		}
		changed = append(changed, name)
	}
	if !prune {
		return changed, nil
	}
	stale, err := staleFiles(os.DirFS(root), files)
	if err != nil {
		return changed, err
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return changed, err
		}
	}
	return append(changed, stale...), nil
}

// replaceFile writes a file beside its place and moves it there, so that nobody
// ever reads half of it.
func replaceFile(file string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(file), tempPattern)
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // gone if it was renamed
	if _, err := temp.Write(data); err != nil {
		temp.Close()
		return err
	}
	if err := temp.Chmod(0o644); err != nil {
		temp.Close()
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}

// staleFiles returns the files in generated/ that gen wrote, by their first
// line, and that are not among files, and those that a killed run left half
// written.
func staleFiles(root fs.FS, files map[string][]byte) ([]string, error) {
	entries, err := fs.ReadDir(root, outputDir)
	if err != nil {
		return nil, err
	}
	var stale []string
	for _, entry := range entries {
		if _, ok := files[entry.Name()]; ok || !entry.Type().IsRegular() {
			continue
		}
		if temp, _ := path.Match(tempPattern, entry.Name()); temp {
			stale = append(stale, entry.Name())
			continue
		}
		data, err := fs.ReadFile(root, path.Join(outputDir, entry.Name()))
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(data, []byte(header+"\n")) {
			stale = append(stale, entry.Name())
		}
	}
	return stale, nil
}

// sameFiles returns the names of the files in generated/ that differ from files,
// or that gen wrote earlier and would not write now.
func sameFiles(root fs.FS, files map[string][]byte) ([]string, error) {
	differ, err := staleFiles(root, files)
	if err != nil {
		return nil, err
	}
	for name, data := range files {
		old, err := fs.ReadFile(root, path.Join(outputDir, name))
		if err != nil || !bytes.Equal(old, data) {
			differ = append(differ, name)
		}
	}
	slices.Sort(differ)
	return differ, nil
}
