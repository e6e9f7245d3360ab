package gen

import (
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/golden"
	"github.com/ncclgo/ncclgo/internal/testenv"
)

// reference is one row of what NCCL 2.30 enumerates.
type reference struct {
	variant   coll.Variant
	valid     bool
	primary   int
	canonical coll.Variant
	need      Need
}

// readReference reads the rows of NCCL's own enumeration.
func readReference(t *testing.T) []reference {
	f, err := os.Open(testenv.Shared(t, "reference/nccl-2.30-func-rows.csv"))
	require.NoError(t, err)
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	column := func(record []string, name string) string { return record[slices.Index(records[0], name)] }
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		return n
	}
	variant := func(record []string, prefix string) coll.Variant {
		var fields []string
		for _, name := range []string{"func", "redop", "type", "algo", "proto"} {
			if field := column(record, prefix+name); field != "" {
				fields = append(fields, field)
			}
		}
		v, err := coll.ParseVariant(strings.Join(fields, "_"))
		require.NoError(t, err)
		return v
	}
	var rows []reference
	for i, record := range records[1:] {
		require.Equal(t, i, number(column(record, "row")))
		r := reference{variant: variant(record, ""), valid: column(record, "valid") == "1", primary: NoPrimary}
		if r.valid {
			r.primary = number(column(record, "primary_id"))
			r.canonical = variant(record, "primary_")
			r.need = Need{CUDA: number(column(record, "min_cudart")), SM: number(column(record, "min_arch")) / 10}
		}
		rows = append(rows, r)
	}
	return rows
}

// The first rows of the space are NCCL's: same variants in the same order, same
// validity, same kernel, same number, same needs.
func TestSpaceAgreesWithNCCL(t *testing.T) {
	want := readReference(t)
	require.Len(t, want, NumNCCLRows)
	space := Space()
	for i, w := range want {
		r := space[i]
		got := reference{r.Variant, r.Reason == nil, r.Primary, r.Canonical, r.Need}
		require.Equal(t, w, got, "row %d: %s", i, w.variant)
	}
}

func TestSpaceCoversEveryVariantOnce(t *testing.T) {
	rows := Space()
	require.Len(t, rows, coll.NumIDs)
	seen := map[coll.ID]bool{}
	for i, row := range rows {
		id := row.Variant.ID()
		require.False(t, seen[id], "%s twice", row.Variant)
		require.Equal(t, row.Variant, id.Variant(), "fields the function lacks are zero")
		seen[id] = true
		isNCCL := i < NumNCCLRows
		if isNCCL && row.Variant.Func.HasAlgo() {
			require.Less(t, int(row.Variant.Algo), coll.NumNCCLAlgos)
		}
		if row.Reason != nil {
			require.NotEmpty(t, row.Reason.Text)
			require.NotEqual(t, RuleNone, row.Reason.Rule)
			require.Equal(t, NoPrimary, row.Primary)
			require.Zero(t, row.Canonical)
			continue
		}
		require.Equal(t, isNCCL, row.Primary != NoPrimary, "%s", row.Variant)
		require.Nil(t, Excluded(row.Canonical), "%s serves %s", row.Canonical, row.Variant)
		require.Equal(t, row.Canonical, Canonical(row.Canonical), "canonical variants represent themselves")
	}
}

// TestSpaceGolden keeps the counts of the space by function, operator and
// algorithm for review, and a sum of all that TestSpaceAgreesWithNCCL compares,
// so that no row changes unseen where the reference is not at hand.
func TestSpaceGolden(t *testing.T) {
	type counts struct{ rows, valid, kernels int }
	var out strings.Builder
	summarise := func(title string, rows []Row, all bool) {
		total := counts{}
		groups := map[string]*counts{}
		seen := map[coll.Variant]bool{}
		var order []string
		for _, row := range rows {
			name := row.Variant.Func.String()
			if row.Variant.Func.Reduces() {
				name += " " + row.Variant.Op.String()
			}
			if row.Variant.Func.HasAlgo() {
				name += " " + row.Variant.Algo.String()
			}
			if groups[name] == nil {
				groups[name] = &counts{}
				order = append(order, name)
			}
			for _, c := range []*counts{&total, groups[name]} {
				c.rows++
				if row.Reason == nil {
					c.valid++
					if !seen[row.Canonical] {
						c.kernels++
					}
				}
			}
			if row.Reason == nil {
				seen[row.Canonical] = true
			}
		}
		fmt.Fprintf(&out, "%s: %d rows, %d valid, %d kernels\n", title, total.rows, total.valid, total.kernels)
		for _, name := range order {
			c := groups[name]
			if c.valid == 0 && !all {
				continue
			}
			fmt.Fprintf(&out, "  %-40s %3d rows %3d valid %3d kernels\n", name, c.rows, c.valid, c.kernels)
		}
	}
	space := Space()
	summarise("NCCL 2.30", space[:NumNCCLRows], true)
	out.WriteString("\n")
	summarise("beyond NCCL, without those that have no valid row", space[NumNCCLRows:], false)

	reasons := map[string]int{}
	for _, row := range space {
		if row.Reason != nil {
			reasons[row.Reason.Text]++
		}
	}
	out.WriteString("\nexcluded\n")
	var lines []string
	for text, n := range reasons {
		lines = append(lines, fmt.Sprintf("%4d  %s\n", n, text))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[6:], b[6:]) })
	out.WriteString(strings.Join(lines, ""))
	rows := sha256.New()
	for _, r := range space[:NumNCCLRows] {
		fmt.Fprintln(rows, r.Variant, r.Reason == nil, r.Primary, r.Canonical, r.Need)
	}
	fmt.Fprintf(&out, "\nSHA-256 of the rows of NCCL 2.30: %x\n", rows.Sum(nil))
	golden.Check(t, "gen/space.txt", []byte(out.String()))
}
