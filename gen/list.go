package gen

import "github.com/ncclgo/ncclgo/coll"

// Listed is a row of the space that was asked for.
type Listed struct {
	Row
	Number int // of the row in the space
	// Built: a kernel that has sources serves the variant.
	Built bool
}

// List returns the rows of the space that Options.Only names, with builtOnly only
// those that a kernel serves. If that leaves none it is a [*UsageError] that says
// why, as for [Generate].
func List(o Options, builtOnly bool) ([]Listed, error) {
	built := map[coll.Variant]bool{}
	for _, u := range Units() {
		built[u.Variant] = true
	}
	var rows []Listed
	for i, row := range Space() {
		served := row.Reason == nil && built[row.Canonical]
		if o.Only != nil && !o.Only.Match(row.Variant) || builtOnly && !served {
			continue
		}
		rows = append(rows, Listed{row, i, served})
	}
	if rows == nil {
		return nil, o.nothing()
	}
	return rows, nil
}
