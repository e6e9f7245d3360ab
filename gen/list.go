package gen

import "github.com/ncclgo/ncclgo/coll"

// Listed is a row of the space that was asked for.
type Listed struct {
	Row
	Number int // of the row in the space
	// Targets are those of the kernels that have sources and serve the variant.
	Targets []Target
}

// List returns the rows of the space that Options.Only names, with builtOnly only
// those that a kernel serves. If that leaves none it is a [*UsageError] that says
// why, as for [Generate].
func List(o Options, builtOnly bool) ([]Listed, error) {
	built := map[coll.Variant][]Target{}
	for _, u := range Units() {
		built[u.Variant] = append(built[u.Variant], u.Target)
	}
	var rows []Listed
	for i, row := range Space() {
		var targets []Target
		if row.Reason == nil {
			targets = built[row.Canonical]
		}
		if o.Only != nil && !o.Only.Match(row.Variant) || builtOnly && targets == nil {
			continue
		}
		rows = append(rows, Listed{row, i, targets})
	}
	if rows == nil {
		return nil, o.nothing()
	}
	return rows, nil
}
