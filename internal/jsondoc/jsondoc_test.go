package jsondoc

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecode(t *testing.T) {
	type document struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	full := `{"format":"a"}`
	for _, tt := range []struct{ text, says string }{
		{full + strings.Repeat(" ", 1<<20-len(full)), ""},
		{full + strings.Repeat(" ", 1<<20-len(full)+1), "it is larger than 1 MiB"},
		{`{"format":"a","version":1}`, ""},
		{"{\"format\":\"a\"}\n", ""},
		{"", "it is empty"},
		{" \n", "it is empty"},
		{`{"format":"a`, "it is cut short"},
		{`{"form":"a"}`, `unknown field "form"`},
		{`{"version":"a"}`, "cannot unmarshal string"},
		{`{} {}`, "something follows the JSON object"},
		{`{} x`, "something follows the JSON object"},
		{`{"format":"` + strings.Repeat("a", 2<<20) + `"}`, "it is larger than 1 MiB"},
	} {
		var d document
		err := Decode(strings.NewReader(tt.text), 1<<20, &d)
		if tt.says == "" {
			require.NoError(t, err, tt.text)
			require.Equal(t, "a", d.Format)
			continue
		}
		require.ErrorContains(t, err, tt.says)
	}
}

func TestCheck(t *testing.T) {
	require.NoError(t, Check("a", 1, "a", 1))
	require.EqualError(t, Check("a", 2, "a", 1), `it is "a", version 2; "a", version 1 is read`)
	require.Error(t, Check("b", 1, "a", 1))
}
