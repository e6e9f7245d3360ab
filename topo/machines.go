package topo

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
)

//go:embed machines/*.xml
var machines embed.FS

// Builtins returns the names of the built-in machine descriptions, sorted.
func Builtins() []string {
	// The folder is embedded, so reading it does not fail.
	entries, _ := fs.ReadDir(machines, "machines")
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".xml"))
	}
	return names
}

// Builtin returns a built-in machine description. The error of an unknown name
// is a [*coll.ParseError].
func Builtin(name string) (*System, error) {
	data, err := machines.ReadFile(path.Join("machines", name+".xml"))
	if err != nil {
		names := Builtins()
		return nil, &coll.ParseError{What: "topology", Given: name, Allowed: names, Nearest: coll.Nearest(name, names)}
	}
	return parseSystem(name, data)
}

// Load returns the system of a built-in description or of a file, with numbers as
// [Document.Renumber] gives them. readFile is how files are read (os.ReadFile).
// What holds a slash or ends in .xml is a file, and so is what is no built-in name
// but can be read. What is wrong in a file is a [*FileError], an unknown name a
// [*coll.ParseError].
func Load(nameOrFile string, readFile func(name string) ([]byte, error)) (*System, error) {
	isFile := strings.Contains(nameOrFile, "/") || strings.HasSuffix(nameOrFile, ".xml")
	if !isFile {
		s, err := Builtin(nameOrFile)
		if err == nil {
			return s, nil
		}
		data, readErr := readFile(nameOrFile)
		switch {
		case errors.Is(readErr, fs.ErrNotExist):
			return nil, fmt.Errorf("%w, and there is no file of that name", err)
		case readErr != nil:
			return nil, fmt.Errorf("read topology: %w", readErr)
		}
		return parseSystem(nameOrFile, data)
	}
	data, err := readFile(nameOrFile)
	if err != nil {
		return nil, fmt.Errorf("read topology: %w", err)
	}
	return parseSystem(nameOrFile, data)
}

func parseSystem(name string, data []byte) (*System, error) {
	doc, err := Parse(name, data)
	if err != nil {
		return nil, err
	}
	doc.Renumber()
	return NewSystem(doc)
}
