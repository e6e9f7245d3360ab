//go:build linux && (amd64 || arm64) && !nodl

package nvml

import "testing"

// VisitDL shows the nodes of a compiled library without cgo.
func VisitDL(t *testing.T, visit Visitor) { visitFake(t, "purego", loadDL, visit) }

func visitFake(t *testing.T, adapter string, load func(string) (library, error), visit Visitor) {
	t.Helper()
	f := buildFake(t, "full")
	for i, m := range testMachines() {
		f.choose(t, i)
		api := f.opener(t, load)()
		visit(adapter, m.name, api, m.snapshot)
		if err := api.Close(); err != nil {
			t.Error(err)
		}
	}
}
