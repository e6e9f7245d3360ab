package gen

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
)

const (
	templateDir  = "templates/cuda"
	unitTemplate = "unit.cu.tmpl"
	outputDir    = "generated"
	abiFile      = "abi.h"
)

// includePath is where headers are looked for, in order, from the module's
// root.
var includePath = []string{templateDir, outputDir}

// sources is a snapshot of everything a kernel is compiled from, by path from
// the module's root. What is hashed is what is compiled, whatever happens to
// the files meanwhile.
type sources struct {
	files    map[string][]byte
	template []byte // of units
}

// readSources reads the headers and renders abi.h.
func readSources(root fs.FS) (*sources, error) {
	s := &sources{files: map[string][]byte{}}
	headers, err := fs.Glob(root, path.Join(templateDir, "*.cuh"))
	if err != nil {
		return nil, err
	}
	for _, name := range headers {
		if s.files[name], err = fs.ReadFile(root, name); err != nil {
			return nil, err
		}
	}
	if s.template, err = fs.ReadFile(root, path.Join(templateDir, unitTemplate)); err != nil {
		return nil, err
	}
	if s.files[path.Join(outputDir, abiFile)], err = RenderABI(root); err != nil {
		return nil, err
	}
	return s, nil
}

// lay writes the snapshot below dir.
func (s *sources) lay(dir string) error {
	for name, data := range s.files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// includeLine matches both forms of the directive: the compilers look for either
// in includePath.
var includeLine = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]`)

// closure returns the paths of the headers that text includes, directly or not,
// sorted.
func (s *sources) closure(text []byte) []string {
	seen := map[string]bool{}
	var visit func([]byte)
	visit = func(text []byte) {
		for _, match := range includeLine.FindAllSubmatch(text, -1) {
			for _, dir := range includePath {
				name := path.Join(dir, string(match[1]))
				data, ok := s.files[name]
				if !ok {
					continue // elsewhere on the path, or the compiler will say that it is missing
				}
				if !seen[name] {
					seen[name] = true
					visit(data)
				}
				break
			}
		}
	}
	visit(text)
	return slices.Sorted(maps.Keys(seen))
}

// hash returns the SHA-256 of a unit's text and of every header it includes,
// in hexadecimal.
func (s *sources) hash(unit []byte) string {
	h := sha256.New()
	add := func(name string, data []byte) {
		fmt.Fprintf(h, "%s %d\n", name, len(data))
		h.Write(data)
	}
	add("unit", unit)
	for _, name := range s.closure(unit) {
		add(name, s.files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}
