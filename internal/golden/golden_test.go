package golden

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder is a testing.TB that keeps what a failing check says.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper()                      {}
func (r *recorder) Name() string                 { return "TestX" }
func (r *recorder) Errorf(f string, args ...any) { r.said = append(r.said, fmt.Sprintf(f, args...)) }
func (r *recorder) Fatalf(f string, args ...any) { r.Errorf(f, args...) }

func TestCheck(t *testing.T) {
	if *update {
		t.Skip("skipped: -update rewrites the file that this test compares with")
	}
	r := &recorder{TB: t}
	Check(r, "golden/sample.txt", []byte("one\ntwo\n"))
	require.Empty(t, r.said)
	Check(r, "golden/sample.txt", []byte("one\nthree\n"))
	require.Len(t, r.said, 1)
	require.True(t, strings.Contains(r.said[0], "-two") && strings.Contains(r.said[0], "+three") &&
		strings.Contains(r.said[0], "-update"), r.said[0])
}
