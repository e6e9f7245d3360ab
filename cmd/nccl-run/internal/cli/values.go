package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
)

// value is a flag's value: parse reads text into wherever the flag keeps it.
// It implements pflag.Value.
type value struct {
	text  string
	parse func(text string) error
	kind  string // names the value in the help text
}

// Set reads text.
func (v *value) Set(text string) error {
	if err := v.parse(text); err != nil {
		return err
	}
	v.text = text
	return nil
}

// String returns what was given; empty if nothing was.
func (v *value) String() string { return v.text }

// Type returns the word for the value in the help text.
func (v *value) Type() string { return v.kind }

// integer reads a whole number from lo to hi, decimal, or hexadecimal after 0x,
// as nccl-tests does.
func integer(p *int, lo, hi int) *value {
	return &value{kind: "n", parse: func(text string) error {
		n, err := strconv.ParseInt(text, 0, 64)
		switch {
		case errors.Is(err, strconv.ErrRange), err == nil && (n < int64(lo) || n > int64(hi)):
			// Beyond 64 bits n is the nearest that there is.
			switch {
			case hi == anyCount && n < int64(lo):
				return fmt.Errorf("%s is out of range; the smallest is %d", text, lo)
			case hi == anyCount:
				return fmt.Errorf("%s is out of range; the largest is %d", text, hi)
			}
			return fmt.Errorf("%s is out of range; allowed are %d to %d", text, lo, hi)
		case err != nil:
			return fmt.Errorf("%q is not a whole number", text)
		}
		*p = int(n)
		return nil
	}}
}

// boolean reads what may be left out: a flag alone is true.
func boolean(p *bool) *value {
	return &value{kind: "bool", parse: func(text string) error {
		b, err := strconv.ParseBool(text)
		if err != nil {
			return unknown("value", text, []string{"true", "false"})
		}
		*p = b
		return nil
	}}
}

func seed(p *uint64) *value {
	return &value{kind: "n", parse: func(text string) error {
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number from 0 to 2^64-1", text)
		}
		*p = n
		return nil
	}}
}

var sizeText = regexp.MustCompile(`^([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?:([KMGkmg])(?:[iI]?[bB])?)?$`)

// size reads bytes: a number, which may have a fraction, and K, M or G for
// powers of 1024. Fractions of a byte are cut off.
func size(p *int64) *value {
	return &value{kind: "size", parse: func(text string) error {
		m := sizeText.FindStringSubmatch(text)
		if m == nil {
			return fmt.Errorf("%q is not a size; a size reads like 4, 64K, 1.5M or 2G (powers of 1024)", text)
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return fmt.Errorf("%q is not a size: %w", text, err)
		}
		if m[2] != "" {
			n *= float64(int64(1) << (10 * (1 + strings.Index("KMG", strings.ToUpper(m[2])))))
		}
		if n > maxSize {
			return fmt.Errorf("%s is too large; the largest size is %dG", text, int64(maxSize)>>30)
		}
		*p = int64(n)
		return nil
	}}
}

// maxSize is the largest size accepted, in bytes: beyond any GPU's memory, and
// far from overflow.
const maxSize = 1 << 50

// all is the name that stands for every value of a vocabulary.
const all = "all"

// names reads one name of a vocabulary, or "all" for each of its values. known has
// a name of each value.
func names[E any](p *[]E, kind, what string, known []string, parse func(string) (E, error)) *value {
	return &value{kind: kind, parse: func(text string) error {
		if strings.EqualFold(text, all) {
			*p = nil
			for _, name := range known {
				v, err := parse(name)
				if err != nil {
					return err
				}
				*p = append(*p, v)
			}
			return nil
		}
		v, err := parse(text)
		if err != nil {
			return unknown(what, text, append(allowed(err, known), all))
		}
		*p = []E{v}
		return nil
	}}
}

// allowed returns the names that a parser says it accepts, or else those known.
func allowed(err error, known []string) []string {
	var e *coll.ParseError
	if errors.As(err, &e) {
		known = e.Allowed
	}
	return slices.Clone(known)
}

// choice reads one of a few words.
func choice(p *string, kind, what string, known ...string) *value {
	return &value{kind: kind, parse: func(text string) error {
		for _, name := range known {
			if strings.EqualFold(text, name) {
				*p = name
				return nil
			}
		}
		return unknown(what, text, known)
	}}
}

func unknown(what, given string, allowed []string) error {
	return &coll.ParseError{What: what, Given: given, Allowed: allowed, Nearest: coll.Nearest(given, allowed)}
}

// absent stands for a flag of nccl-tests that this build lacks. Its default
// asks for nothing and is accepted, so that command lines which spell it out
// work.
func absent(neutral, what string) *value {
	return &value{kind: "n", parse: func(text string) error {
		if text == neutral {
			return nil
		}
		if neutral == "" {
			return fmt.Errorf("%s: not in this build; leave the flag out", what)
		}
		return fmt.Errorf("%s: not in this build; only the default, %s, is accepted", what, neutral)
	}}
}

// text reads any text but the empty one.
func text(p *string, kind string) *value {
	return &value{kind: kind, parse: func(text string) error {
		if text == "" {
			return errors.New("nothing given")
		}
		*p = text
		return nil
	}}
}
