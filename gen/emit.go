package gen

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/kernel"
)

const (
	modulePath = "github.com/ncclgo/ncclgo"
	collPath   = modulePath + "/coll"
	kernelPath = modulePath + "/internal/kernel"
)

// emit returns everything that generated/ holds, by name.
func (p product) emit(s *sources) (map[string][]byte, error) {
	data, manifest, positions, err := p.pack()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		abiFile:      s.files[path.Join(outputDir, abiFile)],
		archiveFile:  data,
		manifestFile: manifest,
	}
	for name, file := range map[string]*jen.File{
		"zdoc.go":      docFile(),
		"zdispatch.go": p.dispatchFile(),
		"zkernels.go":  p.kernelsFile(positions),
		"zarchive.go":  archiveGoFile(),
	} {
		var out bytes.Buffer
		if err := file.Render(&out); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", outputDir, name, err)
		}
		files[name] = out.Bytes()
	}
	return files, nil
}

func newFile() *jen.File {
	f := jen.NewFilePath(modulePath + "/" + outputDir)
	f.HeaderComment(header)
	f.ImportName(collPath, "coll")
	f.ImportName(kernelPath, "kernel")
	return f
}

func docFile() *jen.File {
	f := newFile()
	f.PackageComment(`Package generated is what nccl-gen wrote: the compiled kernels, in an archive
that is embedded, and the tables by which a program finds the kernel of a
variant. It is data only; what the data does is in package kernel.

Start reading at [Lookup]. Everything is immutable and safe for concurrent use.
manifest.json tells how each kernel was made; abi.h is the header that the
kernels share with package abi.`)
	return f
}

// archiveGoFile embeds the archive and the manifest.
func archiveGoFile() *jen.File {
	f := newFile()
	f.Anon("embed")
	f.Comment("//go:embed " + archiveFile)
	f.Var().Id("archiveData").Index().Byte()
	f.Line()
	f.Comment("//go:embed " + manifestFile)
	f.Var().Id("manifestData").Index().Byte()
	f.Line()
	f.Comment("Manifest tells how each kernel was made.")
	f.Func().Id("Manifest").Params().Params(jen.Op("*").Qual(kernelPath, "Manifest"), jen.Error()).Block(
		jen.Return(jen.Qual(kernelPath, "DecodeManifest").Call(jen.Id("manifestData"))),
	)
	return f
}

// kernelsFile lists what is known of each kernel.
func (p product) kernelsFile(positions []int) *jen.File {
	f := newFile()
	f.Comment("Kernel is one compiled kernel. Its method PTX returns its module.")
	f.Type().Id("Kernel").Op("=").Qual(kernelPath, "Kernel")
	f.Line()
	f.Comment("SMError says that a variant has kernels, but none for a GPU that old.")
	f.Type().Id("SMError").Op("=").Qual(kernelPath, "SMError")
	f.Line()
	f.Comment("Kernels returns every kernel of this build, by ID of its variant, then by target.")
	f.Comment("The slice is shared and not to be changed.")
	f.Func().Id("Kernels").Params().Index().Id("Kernel").Block(jen.Return(jen.Id("table").Dot("Kernels").Call()))
	f.Line()
	f.Var().Id("kernels").Op("=").Index().Id("Kernel").ValuesFunc(func(g *jen.Group) {
		for i, m := range p {
			g.Line().Values(
				jen.Id("Variant").Op(":").Qual(collPath, "Variant").Values(variantFields(m.variant)...),
				jen.Id("Symbol").Op(":").Lit(m.variant.String()),
				jen.Id("SM").Op(":").Lit(m.build.SM),
				jen.Id("PTXVersion").Op(":").Lit(m.facts.ptxVersion),
				jen.Id("MaxThreads").Op(":").Lit(m.facts.maxThreads),
				jen.Id("SharedBytes").Op(":").Lit(m.facts.sharedBytes),
				jen.Id("Module").Op(":").Lit(positions[i]),
			)
		}
		if len(p) > 0 {
			g.Line()
		}
	})
	return f
}

// goTypes are the names of the constants of coll.DataType, whose String is
// NCCL's short name.
var goTypes = [coll.NumDataTypes]string{
	"Int8", "Uint8", "Int32", "Uint32", "Int64", "Uint64",
	"Float16", "Float32", "Float64", "BFloat16", "F8E4M3", "F8E5M2",
}

// variantFields spells the fields that v's function has.
func variantFields(v coll.Variant) []jen.Code {
	field := func(name, value string) jen.Code { return jen.Id(name).Op(":").Qual(collPath, value) }
	fields := []jen.Code{field("Func", v.Func.String())}
	if v.Func.Reduces() {
		fields = append(fields, field("Op", v.Op.String()), field("Type", goTypes[v.Type]))
	}
	if v.Func.HasAlgo() {
		fields = append(fields, field("Algo", v.Algo.String()), field("Proto", v.Proto.String()))
	}
	return fields
}

// dispatchFile maps every ID to a kernel or a reason.
func (p product) dispatchFile() *jen.File {
	entries, reasons := p.dispatch()
	f := newFile()
	f.Comment("Lookup returns the kernel that serves v best on a GPU of compute capability sm, times")
	f.Comment("10, without allocating. Without one the error is a result.ErrNotBuilt, if v is valid")
	f.Comment("but this build has no kernel for it, or a result.ErrInvalidArgument that names the rule")
	f.Comment("by which v is not valid or the GPU too old.")
	f.Func().Id("Lookup").Params(jen.Id("v").Qual(collPath, "Variant"), jen.Id("sm").Int()).
		Params(jen.Op("*").Id("Kernel"), jen.Error()).
		Block(jen.Return(jen.Id("table").Dot("Lookup").Call(jen.Id("v"), jen.Id("sm"))))
	f.Line()
	f.Var().Id("table").Op("=").Qual(kernelPath, "NewTable").
		Call(jen.Id("dispatch").Index(jen.Op(":")), jen.Id("reasons"), jen.Id("kernels"), jen.Id("archiveData"))
	f.Line()
	f.Comment("If this does not compile, package coll has other variants than when the tables")
	f.Comment("were written: run nccl-gen.")
	f.Var().Id("_").Index(jen.Lit(0)).Struct().Op("=").
		Index(jen.Len(jen.Id("dispatch")).Op("-").Qual(collPath, "NumIDs")).Struct().Values()
	f.Line()
	f.Comment("reasons are the rules that exclude variants.")
	f.Var().Id("reasons").Op("=").Index().String().ValuesFunc(func(g *jen.Group) {
		for i, reason := range reasons {
			g.Line().Comment(fmt.Sprintf("/* %d */", kernel.Excluded(i))).Lit(reason)
		}
		g.Line()
	})
	f.Line()
	f.Comment("dispatch has an entry for each coll.ID: the index of the first kernel that serves the")
	f.Comment(fmt.Sprintf("variant, %d if it is valid but not built, or below that the rule that excludes it.", kernel.NotBuilt))
	f.Comment("The columns of a line are, each with the protocols " + names[coll.Proto](coll.NumProtos) + ":")
	f.Comment(names[coll.Algo](coll.NumAlgos) + ".")
	f.Var().Id("dispatch").Op("=").Index(jen.Op("...")).Int16().ValuesFunc(func(g *jen.Group) {
		rowStart := -1
		for id := range coll.ID(coll.NumIDs) {
			v := id.Variant()
			if row := int(id) - int(v.Algo)*coll.NumProtos - int(v.Proto); row != rowStart {
				rowStart = row
				label := v.Func.String()
				if v.Func.Reduces() {
					label += " " + v.Op.String() + " " + v.Type.String()
				}
				g.Line().Comment(label).Line().Lit(int(entries[id]))
				continue
			}
			g.Lit(int(entries[id]))
		}
		g.Line()
	})
	return f
}

// names lists the names of an enumeration.
func names[E interface {
	~uint8
	String() string
}](n int) string {
	list := make([]string, n)
	for i := range n {
		list[i] = E(i).String()
	}
	return strings.Join(list, " ")
}

// dispatch returns the entry of every ID and the reasons that entries refer to.
func (p product) dispatch() (entries []int16, reasons []string) {
	first := map[coll.Variant]int16{} // kernel of the lowest target
	for i, m := range p {
		if _, ok := first[m.variant]; !ok {
			first[m.variant] = int16(i)
		}
	}
	entries = make([]int16, coll.NumIDs)
	for id := range entries {
		v := coll.ID(id).Variant()
		if reason := Excluded(v); reason != nil {
			i := slices.Index(reasons, reason.Text)
			if i < 0 {
				i = len(reasons)
				reasons = append(reasons, reason.Text)
			}
			entries[id] = kernel.Excluded(i)
		} else if i, ok := first[Canonical(v)]; ok {
			entries[id] = i
		} else {
			entries[id] = kernel.NotBuilt
		}
	}
	return entries, reasons
}
