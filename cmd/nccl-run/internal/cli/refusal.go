package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ncclgo/ncclgo/coll"
)

// refused is a command line that cannot be served: exit status 2.
type refused struct{ err error }

func (r refused) Error() string { return r.err.Error() }

func refusef(format string, args ...any) error { return refused{fmt.Errorf(format, args...)} }

// flagError turns pflag's errors into one line that names the flag and what
// would be accepted.
func flagError(known *flagSet, err error) error {
	var (
		invalid *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
		absent  *pflag.NotExistError
	)
	switch {
	case errors.As(err, &invalid):
		return refusef("%s: %w", flagName(invalid.GetFlag()), errors.Unwrap(invalid))
	case errors.As(err, &missing):
		return refusef("%s: needs a value", flagName(missing.GetFlag()))
	case errors.As(err, &absent):
		return known.unknownFlag(absent)
	}
	return refused{err}
}

func flagName(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return "--" + f.Name
	}
	return fmt.Sprintf("-%s (--%s)", f.Shorthand, f.Name)
}

func (f *flagSet) unknownFlag(e *pflag.NotExistError) error {
	var long, short []string
	add := func(flag *pflag.Flag) {
		long = append(long, "--"+flag.Name)
		if flag.Shorthand != "" {
			short = append(short, "-"+flag.Shorthand)
		}
	}
	for _, s := range f.sections {
		s.flags.VisitAll(add)
	}
	if f.lacking != nil {
		f.lacking.VisitAll(add)
	}
	name, allowed := "--"+e.GetSpecifiedName(), long
	if group := e.GetSpecifiedShortnames(); group != "" {
		// Only the first letter of what is left of the group is unknown.
		name, allowed = "-"+group[:1], short
		if len(group) > 1 {
			name = "-" + group
			allowed = append(short, long...)
		}
	}
	msg := fmt.Sprintf("unknown flag %s", name)
	if nearest := coll.Nearest(strings.TrimLeft(name, "-"), trimDashes(long)); nearest != "" {
		msg += fmt.Sprintf("; did you mean --%s?", nearest)
	}
	return refusef("%s (allowed: %s)", msg, strings.Join(allowed, " "))
}

func trimDashes(names []string) []string {
	trimmed := make([]string, len(names))
	for i, name := range names {
		trimmed[i] = strings.TrimLeft(name, "-")
	}
	return trimmed
}
