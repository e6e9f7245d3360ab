package kernel

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestManifestRoundTrip(t *testing.T) {
	m := &Manifest{
		Archive: Blob{File: "kernels.archive", Bytes: 7, SHA256: "ab"},
		Builds:  []Build{{Compiler: "clang", Version: "19.1.7", SM: 70, PTX: 78, Flags: []string{"-O3"}}},
		Kernels: []Made{{Symbol: "SendRecv", Build: 0, Source: "cd", PTXBytes: 3, PTXSHA256: "ef"}},
	}
	text, err := m.Encode()
	require.NoError(t, err)
	got, err := DecodeManifest(text)
	require.NoError(t, err)
	require.Equal(t, m, got)
}

func TestManifestRefused(t *testing.T) {
	good, err := (&Manifest{Builds: []Build{{}}, Kernels: []Made{{Symbol: "SendRecv"}}}).Encode()
	require.NoError(t, err)
	for _, test := range []struct{ name, old, new, message string }{
		{"no JSON", "{", "", "kernel manifest: "},
		{"version", `"version": 1`, `"version": 2`, `is "ncclgo kernel manifest", version 2; "ncclgo kernel manifest", version 1 is read`},
		{"format", `"ncclgo kernel manifest"`, `"something"`, `is "something", version 1`},
		{"unknown field", `"builds"`, `"date": 1, "builds"`, `unknown field "date"`},
		{"more", "]\n}\n", "]\n}\n{}\n", "something follows the JSON object"},
		{"build", `"build": 0`, `"build": 1`, "SendRecv: build 1 of 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := DecodeManifest([]byte(strings.Replace(string(good), test.old, test.new, 1)))
			require.ErrorContains(t, err, test.message)
		})
	}
}
