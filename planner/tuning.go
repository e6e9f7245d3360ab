package planner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
)

// Tuning is a table of choices that go before those of the model, as a user
// measured or wants them. [ParseTuning] reads one; docs/FORMATS.md has the format.
// It is immutable.
type Tuning struct {
	name string
	rows []tuningRow
}

// tuningRow is a row of the table: for which calls of which communicators it is,
// and what it says of them. 0 stands for what the row leaves open.
type tuningRow struct {
	fn                 coll.Func
	minBytes, maxBytes int64 // both inclusive
	nNodes, nRanks     int
	algos              AlgoSet
	protos             ProtoSet
	channels, threads  int
}

// The format and version of a tuning table, and how many rows it may have: ranges
// of sizes are few.
const (
	tuningFormat  = "ncclgo tuning"
	tuningVersion = 1
	maxTuningRows = 4096
)

// tuningColumns reads each column of a row. The first names of every list are those
// that say which calls a row is for.
var tuningColumns = map[string]func(r *tuningRow, value json.RawMessage) error{
	"func": func(r *tuningRow, v json.RawMessage) (err error) {
		r.fn, err = word(v, parseFunc)
		return err
	},
	"minBytes": func(r *tuningRow, v json.RawMessage) error { return number(v, &r.minBytes, 0, math.MaxInt64) },
	"maxBytes": func(r *tuningRow, v json.RawMessage) error { return number(v, &r.maxBytes, 0, math.MaxInt64) },
	"nNodes":   func(r *tuningRow, v json.RawMessage) error { return number(v, &r.nNodes, 1, 1<<20) },
	"nRanks":   func(r *tuningRow, v json.RawMessage) error { return number(v, &r.nRanks, 1, 1<<20) },
	"algo": func(r *tuningRow, v json.RawMessage) error {
		a, err := word(v, coll.ParseAlgo)
		r.algos = Algos(a)
		return err
	},
	"proto": func(r *tuningRow, v json.RawMessage) error {
		p, err := word(v, coll.ParseProto)
		r.protos = Protos(p)
		return err
	},
	"channels": func(r *tuningRow, v json.RawMessage) error { return number(v, &r.channels, 1, 64) },
	"threads": func(r *tuningRow, v json.RawMessage) error {
		if err := number(v, &r.threads, minThreads, maxThreadsAny); err != nil {
			return err
		}
		if r.threads%warpSize != 0 {
			return fmt.Errorf("%d is no multiple of %d", r.threads, warpSize)
		}
		return nil
	},
}

// word reads a name.
func word[E any](v json.RawMessage, parse func(string) (E, error)) (E, error) {
	var text *string
	if err := json.Unmarshal(v, &text); err != nil || text == nil {
		var none E
		return none, fmt.Errorf("%.40s is not a name in quotes", v)
	}
	return parse(*text)
}

// number reads a whole number from lo to hi.
func number[N int | int64](v json.RawMessage, into *N, lo, hi int64) error {
	var n *int64
	switch err := json.Unmarshal(v, &n); {
	case err != nil || n == nil:
		return fmt.Errorf("%.40s is not a whole number", v)
	case *n < lo && hi == math.MaxInt64:
		return fmt.Errorf("%d is out of range; the smallest is %d", *n, lo)
	case *n < lo || *n > hi:
		return fmt.Errorf("%d is out of range; allowed are %d to %d", *n, lo, hi)
	}
	*into = N(*n)
	return nil
}

// ParseTuning reads a tuning table. name appears in errors. Columns that are none,
// values out of range, and rows of which two could be meant by one call are
// refused.
func ParseTuning(name string, data []byte) (*Tuning, error) {
	t, err := parseTuning(name, data)
	if err != nil {
		return nil, result.New(result.InvalidArgument, "tuning table "+name, "%w", err)
	}
	return t, nil
}

func parseTuning(name string, data []byte) (*Tuning, error) {
	file, err := object(data)
	if err != nil {
		return nil, fmt.Errorf("%w; it is a JSON object with format, version and rows", err)
	}
	fields := []string{"format", "version", "rows"}
	for _, key := range slices.Sorted(maps.Keys(file)) {
		if !slices.Contains(fields, key) {
			return nil, unknownName("field", key, fields)
		}
	}
	var format string
	var version int
	var rows []json.RawMessage
	for i, into := range []any{&format, &version, &rows} {
		said := fmt.Sprintf("%s %.40s", fields[i], file[fields[i]])
		if value := file[fields[i]]; value == nil || string(value) == "null" {
			said = "no " + fields[i]
		} else if json.Unmarshal(value, into) == nil {
			continue
		}
		return nil, fmt.Errorf("%s; it has a format %q, a version %d and a list of rows", said, tuningFormat, tuningVersion)
	}
	if format != tuningFormat || version != tuningVersion {
		return nil, fmt.Errorf("format %q, version %d; %q, version %d is allowed", format, version, tuningFormat, tuningVersion)
	}
	if len(rows) > maxTuningRows {
		return nil, fmt.Errorf("%d rows; at most %d are allowed", len(rows), maxTuningRows)
	}
	t := &Tuning{name: name}
	for i, row := range rows {
		r, err := parseTuningRow(row)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		for j := range t.rows {
			if t.rows[j].overlaps(r) {
				return nil, fmt.Errorf("rows %d and %d are both for %s of %d bytes; give each size to one of them",
					j+1, i+1, r.fn, max(r.minBytes, t.rows[j].minBytes))
			}
		}
		t.rows = append(t.rows, *r)
	}
	return t, nil
}

// object reads an object in which each name stands once.
func object(data []byte) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		if _, syntax := errors.AsType[*json.SyntaxError](err); syntax {
			return nil, err
		}
		return nil, errors.New("not an object")
	}
	// Unmarshal keeps the last of those that stand twice.
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	for seen := map[json.Token]bool{}; dec.More(); {
		name, err := dec.Token()
		var value json.RawMessage
		if err == nil {
			err = dec.Decode(&value)
		}
		switch {
		case err != nil:
			return nil, err
		case seen[name]:
			return nil, fmt.Errorf("%q stands there twice", name)
		}
		seen[name] = true
	}
	return fields, nil
}

func parseTuningRow(text json.RawMessage) (*tuningRow, error) {
	row, err := object(text)
	if err != nil {
		return nil, err
	}
	r := &tuningRow{maxBytes: math.MaxInt64}
	for _, column := range slices.Sorted(maps.Keys(row)) {
		read, ok := tuningColumns[column]
		if !ok {
			return nil, unknownName("column", column, slices.Sorted(maps.Keys(tuningColumns)))
		}
		if err := read(r, row[column]); err != nil {
			return nil, fmt.Errorf("%s: %w", column, err)
		}
	}
	switch {
	case row["func"] == nil:
		return nil, errors.New("no func; a row says for which function it is")
	case r.minBytes > r.maxBytes:
		return nil, fmt.Errorf("minBytes %d is more than maxBytes %d", r.minBytes, r.maxBytes)
	case r.algos == 0 && r.protos == 0 && r.channels == 0 && r.threads == 0:
		return nil, errors.New("says nothing; give at least one of algo, proto, channels and threads")
	}
	return r, nil
}

func unknownName(what, given string, allowed []string) error {
	return &coll.ParseError{What: what, Given: given, Allowed: allowed, Nearest: coll.Nearest(given, allowed)}
}

// overlaps reports whether there is a call that both rows are for.
func (r *tuningRow) overlaps(o *tuningRow) bool {
	same := func(a, b int) bool { return a == 0 || b == 0 || a == b }
	return r.fn == o.fn && same(r.nNodes, o.nNodes) && same(r.nRanks, o.nRanks) &&
		r.minBytes <= o.maxBytes && o.minBytes <= r.maxBytes
}

// tunedRange is a row that is for the communicator.
type tunedRange struct {
	*tuningRow
	number int // in the table, from 1
}

// setTuning keeps the rows that are for the communicator, by size. A row that names
// what cannot be there is refused; one that settings or builds rule out is not, since
// they may differ from call to call and go before it.
func (m *Model) setTuning(t *Tuning) error {
	if t == nil {
		return nil
	}
	for i := range t.rows {
		r := &t.rows[i]
		if r.nNodes != 0 && r.nNodes != m.facts.NNodes || r.nRanks != 0 && r.nRanks != m.nranks {
			continue
		}
		if why := m.impossible(r); why != "" {
			return result.New(result.InvalidArgument, "tuning table "+t.name, "row %d: %s with %s and %s: %s; correct the row, or say by nNodes and nRanks which communicators it is for",
				i+1, r.fn, r.algos, r.protos, why)
		}
		m.tuned[r.fn] = append(m.tuned[r.fn], tunedRange{r, i + 1})
	}
	for _, ranges := range m.tuned {
		slices.SortFunc(ranges, func(a, b tunedRange) int { return cmp.Compare(a.minBytes, b.minBytes) })
	}
	return nil
}

// impossible returns why nothing that a row names can be there, "" if something can.
func (m *Model) impossible(r *tuningRow) string {
	var why verdict
	for a := range coll.Algo(coll.NumAlgos) {
		for p := range coll.Proto(coll.NumProtos) {
			if !r.algos.Has(a) || !r.protos.Has(p) {
				continue
			}
			c := &m.costs[r.fn][a][p]
			switch c.barrier {
			case open, setting, origin:
				return ""
			}
			why.add(c.out, c.barrier)
		}
	}
	return why.why
}

// tunedRow returns the row for a call of n bytes, nil if there is none.
func (m *Model) tunedRow(f coll.Func, n int64) *tunedRange {
	ranges := m.tuned[f]
	if len(ranges) == 0 {
		return nil
	}
	i, _ := slices.BinarySearchFunc(ranges, n, func(r tunedRange, n int64) int { return cmp.Compare(r.maxBytes, n) })
	if i == len(ranges) || n < ranges[i].minBytes {
		return nil
	}
	return &ranges[i]
}

// String returns what the row says.
func (r *tuningRow) String() string {
	var parts []string
	if r.algos != 0 {
		parts = append(parts, r.algos.String())
	}
	if r.protos != 0 {
		parts = append(parts, r.protos.String())
	}
	if r.channels != 0 {
		parts = append(parts, fmt.Sprintf("%d channels", r.channels))
	}
	if r.threads != 0 {
		parts = append(parts, fmt.Sprintf("%d threads", r.threads))
	}
	return strings.Join(parts, ", ")
}
