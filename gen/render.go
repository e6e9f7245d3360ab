package gen

import (
	"bytes"
	"fmt"
	"text/template"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/abi"
)

// cppProtos are the protocols as the headers spell them. Types and operators are
// spelled as coll does.
var cppProtos = [coll.NumProtos]string{coll.LL: "ProtoLL", coll.LL128: "ProtoLL128", coll.Simple: "ProtoSimple"}

// instance is what the template of a unit is filled with.
type instance struct {
	Header    string // first line
	Include   string
	Symbol    string
	Algorithm string
	Type      string
	Op        string
	Proto     string
	Threads   int
}

// render returns the source of a unit: an include and one instantiation in
// which everything that tells this kernel from its siblings is a literal.
func (s *sources) render(u Unit) ([]byte, error) {
	t, err := template.New(unitTemplate).Option("missingkey=error").Parse(string(s.template))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", templateDir, err)
	}
	var out bytes.Buffer
	err = t.Execute(&out, instance{
		Header:    header,
		Include:   u.family.Header,
		Symbol:    u.Variant.String(),
		Algorithm: u.family.Algorithm,
		Type:      u.Variant.Type.String(),
		Op:        u.Variant.Op.String(),
		Proto:     cppProtos[u.Variant.Proto],
		Threads:   abi.MaxThreads,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", templateDir, err)
	}
	return out.Bytes(), nil
}
