package ptx

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Version is a PTX ISA version.
type Version struct{ Major, Minor int }

// String returns the version as .version has it.
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Less reports whether v is older than w.
func (v Version) Less(w Version) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

// later returns the newer of two versions.
func later(v, w Version) Version {
	if v.Less(w) {
		return w
	}
	return v
}

// newestMinor holds the last minor version of each PTX ISA version that a text
// may be of. What is older than these has none of the targets below.
//
// Source: PTX ISA, table "PTX Release History"; 9.5 is CUDA 13.5's.
var newestMinor = map[int]int{4: 3, 5: 0, 6: 5, 7: 8, 8: 8, 9: 5}

// known reports whether there is such a version.
func (v Version) known() bool {
	newest, ok := newestMinor[v.Major]
	return ok && 0 <= v.Minor && v.Minor <= newest
}

// knownVersions lists the versions of newestMinor.
func knownVersions() string {
	var list []string
	for _, major := range slices.Sorted(maps.Keys(newestMinor)) {
		first, last := Version{Major: major}, Version{major, newestMinor[major]}
		if first == last {
			list = append(list, first.String())
		} else {
			list = append(list, first.String()+" to "+last.String())
		}
	}
	return strings.Join(list, ", ")
}

// targets holds the version that introduced each target the machine can stand
// for.
//
// Source: PTX ISA, .target, "PTX ISA Notes", and table "PTX Release History".
var targets = map[int]Version{
	50: {4, 0}, 52: {4, 1}, 53: {4, 2},
	60: {5, 0}, 61: {5, 0}, 62: {5, 0},
	70: {6, 0}, 72: {6, 1}, 75: {6, 3},
	80: {7, 0}, 86: {7, 1}, 87: {7, 4}, 88: {9, 0}, 89: {7, 8},
	90:  {7, 8},
	100: {8, 6}, 101: {8, 6}, 103: {8, 8}, 110: {9, 0},
	120: {8, 7}, 121: {8, 8},
}

// knownTargets lists the targets.
func knownTargets() string {
	var list []string
	for _, sm := range slices.Sorted(maps.Keys(targets)) {
		list = append(list, fmt.Sprintf("sm_%d", sm))
	}
	return strings.Join(list, ", ")
}
