package gen

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// abiDir is where the structs that cross to the GPU are declared, from the
// module's root.
const abiDir = "internal/abi"

// RenderABI renders abi.h from the Go package internal/abi of the module in
// root: its exported constants and structs with their comments, and for each
// struct static assertions of its size and of every field's offset.
//
// It reads the source, not the package linked into the generator, because
// comments and constants are not there at run time, and because one tree must
// give one result whichever generator runs on it.
func RenderABI(root fs.FS) ([]byte, error) {
	p, err := parseABI(root)
	if err != nil {
		return nil, err
	}
	p.printf("%s\n", header)
	p.printf(`//
// What crosses from the host to the GPU: the declarations of %s. Types and
// constants keep the spelling they have in Go; a field starts in lower case, with
// an underscore behind if it would be a keyword; padding is called padN.
#ifndef NCCL_ABI_H_
#define NCCL_ABI_H_

#include "device.cuh"

namespace abi {
`, abiDir)
	for _, decl := range p.decls() {
		if decl.Tok == token.CONST {
			p.constants(decl)
		}
	}
	for _, decl := range p.decls() {
		if decl.Tok != token.TYPE {
			continue
		}
		for _, spec := range decl.Specs {
			if err := p.declare(spec.(*ast.TypeSpec).Name.Name); err != nil {
				return nil, err
			}
		}
	}
	p.printf("\n}  // namespace abi\n\n#endif  // NCCL_ABI_H_\n")
	return p.out.Bytes(), nil
}

// abiPrinter holds the parsed package and what has been written of it.
type abiPrinter struct {
	fset  *token.FileSet
	files []*ast.File
	pkg   *types.Package
	sizes types.Sizes
	docs  map[string]*ast.TypeSpec // by type name
	done  map[string]bool          // types written
	out   bytes.Buffer
}

func parseABI(root fs.FS) (*abiPrinter, error) {
	names, err := fs.Glob(root, path.Join(abiDir, "*.go"))
	if err != nil {
		return nil, err
	}
	p := &abiPrinter{
		fset: token.NewFileSet(),
		// gc lays out amd64 and arm64 alike, and both as C does on a GPU.
		sizes: types.SizesFor("gc", "amd64"),
		docs:  map[string]*ast.TypeSpec{},
		done:  map[string]bool{},
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(p.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, file)
	}
	if len(p.files) == 0 {
		return nil, fmt.Errorf("%s: no Go files there", abiDir)
	}
	config := types.Config{Sizes: p.sizes}
	if p.pkg, err = config.Check(abiDir, p.fset, p.files, nil); err != nil {
		return nil, err
	}
	for _, decl := range p.decls() {
		for _, spec := range decl.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok {
				p.docs[spec.Name.Name] = spec
				if spec.Doc == nil {
					spec.Doc = decl.Doc
				}
			}
		}
	}
	return p, nil
}

// decls returns the declarations of constants and types in source order.
func (p *abiPrinter) decls() []*ast.GenDecl {
	var decls []*ast.GenDecl
	for _, file := range p.files {
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok && (decl.Tok == token.CONST || decl.Tok == token.TYPE) {
				decls = append(decls, decl)
			}
		}
	}
	return decls
}

func (p *abiPrinter) printf(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

// comment writes a comment group at the given indent.
func (p *abiPrinter) comment(group *ast.CommentGroup, indent string) {
	if group == nil {
		return
	}
	for line := range strings.Lines(strings.TrimRight(group.Text(), "\n")) {
		p.printf("%s%s\n", indent, strings.TrimRight("// "+line, " \n"))
	}
}

// trailing returns the comment at the end of a line, with two spaces before it.
func trailing(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	return "  // " + strings.Join(strings.Fields(group.Text()), " ")
}

// constants writes the exported constants of one declaration.
func (p *abiPrinter) constants(decl *ast.GenDecl) {
	p.printf("\n")
	p.comment(decl.Doc, "")
	for _, spec := range decl.Specs {
		spec := spec.(*ast.ValueSpec)
		p.comment(spec.Doc, "")
		for _, name := range spec.Names {
			object, ok := p.pkg.Scope().Lookup(name.Name).(*types.Const)
			if !ok || !name.IsExported() {
				continue
			}
			p.printf("constexpr %s %s = %s;%s\n", constantType(object.Val()), name.Name,
				constant.ToInt(object.Val()).ExactString(), trailing(spec.Comment))
		}
	}
}

// constantType returns the C++ type of an integer constant.
func constantType(v constant.Value) string {
	switch n, exact := constant.Int64Val(constant.ToInt(v)); {
	case exact && n < 0:
		return "int64_t"
	case exact && n>>32 == 0:
		return "uint32_t"
	default:
		return "uint64_t"
	}
}

// declare writes the named type, and before it the structs it contains.
func (p *abiPrinter) declare(name string) error {
	if p.done[name] {
		return nil
	}
	p.done[name] = true
	object := p.pkg.Scope().Lookup(name)
	spec := p.docs[name]
	layout, ok := object.Type().Underlying().(*types.Struct)
	if !ok {
		basic, err := p.cType(object.Type().Underlying(), spec.Pos())
		if err != nil {
			return err
		}
		p.printf("\n")
		p.comment(spec.Doc, "")
		p.printf("using %s = %s;\n", name, basic)
		return nil
	}
	fields := make([]*types.Var, layout.NumFields())
	for i := range fields {
		fields[i] = layout.Field(i)
		if named, ok := elementType(fields[i].Type()).(*types.Named); ok {
			if err := p.declare(named.Obj().Name()); err != nil {
				return err
			}
		}
	}

	p.printf("\n")
	p.comment(spec.Doc, "")
	p.printf("struct %s {\n", name)
	var names []string
	for _, field := range spec.Type.(*ast.StructType).Fields.List {
		p.comment(field.Doc, "  ")
		for range field.Names {
			index := len(names)
			cName := fieldName(fields[index].Name(), index)
			names = append(names, cName)
			dims := ""
			for array, ok := field.Type.(*ast.ArrayType); ok; array, ok = array.Elt.(*ast.ArrayType) {
				dims += "[" + types.ExprString(array.Len) + "]"
			}
			cType, err := p.cType(elementType(fields[index].Type()), field.Pos())
			if err != nil {
				return err
			}
			p.printf("  %s %s%s;%s\n", cType, cName, dims, trailing(field.Comment))
		}
	}
	p.printf("};\n")
	for i, offset := range p.sizes.Offsetsof(fields) {
		p.printf("static_assert(__builtin_offsetof(%s, %s) == %d, \"%s.%s\");\n", name, names[i], offset, name, fields[i].Name())
	}
	p.printf("static_assert(sizeof(%s) == %d && alignof(%s) == %d, \"%s\");\n", name,
		p.sizes.Sizeof(object.Type()), name, p.sizes.Alignof(object.Type()), name)
	return nil
}

// elementType returns what an array of any number of dimensions is made of, and
// any other type itself.
func elementType(t types.Type) types.Type {
	for array, ok := t.Underlying().(*types.Array); ok; array, ok = t.Underlying().(*types.Array) {
		t = array.Elem()
	}
	return t
}

// cppKeywords are the words of C++ that a field's name can become in lower
// case.
var cppKeywords = []string{"default", "delete", "inline", "new", "operator", "private", "public", "register", "this"}

// fieldName returns the C++ name of a field: NumWorks is numWorks, Inline is
// inline_ because inline is a keyword, padding is named by its place.
func fieldName(name string, index int) string {
	if name == "_" {
		return fmt.Sprintf("pad%d", index)
	}
	first, size := utf8.DecodeRuneInString(name)
	name = string(unicode.ToLower(first)) + name[size:]
	if slices.Contains(cppKeywords, name) {
		name += "_"
	}
	return name
}

// cType returns the C++ spelling of an element's type.
func (p *abiPrinter) cType(t types.Type, pos token.Pos) (string, error) {
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name(), nil
	}
	if basic, ok := t.(*types.Basic); ok {
		switch basic.Kind() {
		case types.Uint8, types.Uint16, types.Uint32, types.Uint64, types.Int8, types.Int16, types.Int32, types.Int64:
			return basic.Name() + "_t", nil
		}
	}
	return "", fmt.Errorf("%s: type %s cannot cross to the GPU; use fixed-size integers, arrays and structs of them",
		p.fset.Position(pos), t)
}
