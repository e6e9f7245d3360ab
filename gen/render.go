package gen

import (
	"bytes"
	"fmt"
	"text/template"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/abi"
)

// cppProtos are the protocols as the headers spell them. Operators are spelled as
// coll does, types as structOf says.
var cppProtos = [coll.NumProtos]string{coll.LL: "ProtoLL", coll.LL128: "ProtoLL128", coll.Simple: "ProtoSimple"}

// launchBounds are the most threads of a CTA, by protocol.
var launchBounds = [coll.NumProtos]int{
	coll.LL: abi.MaxThreadsLL, coll.LL128: abi.MaxThreadsLL128, coll.Simple: abi.MaxThreadsSimple,
}

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
	arithmetic, _ := structOf(u.Variant.Type, u.Target)
	if arithmetic == "" {
		return nil, &UsageError{fmt.Errorf("%s has no source for %s: reductions of %s need sm_%d", u.Variant, u.Target, u.Variant.Type, u.Variant.Type.ReduceSM())}
	}
	var out bytes.Buffer
	err = t.Execute(&out, instance{
		Header:    header,
		Include:   u.family.Header,
		Symbol:    u.Variant.String(),
		Algorithm: u.family.Algorithm,
		Type:      arithmetic,
		Op:        u.Variant.Op.String(),
		Proto:     cppProtos[u.Variant.Proto],
		Threads:   launchBounds[u.Variant.Proto],
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", templateDir, err)
	}
	return out.Bytes(), nil
}
