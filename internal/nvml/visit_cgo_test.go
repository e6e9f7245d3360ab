//go:build cgo && linux && (amd64 || arm64) && !nodl

package nvml

import "testing"

// VisitCgo shows the nodes of a compiled library through go-nvml, and go-nvml's mock
// machines.
func VisitCgo(t *testing.T, visit Visitor) {
	visitFake(t, "cgo", loadCgo, visit)
	mocks := mockMachines()
	for _, m := range testMachines() {
		if mock := mocks[m.name]; mock != nil {
			api, err := start(cgoLibrary{furnish(mock(), m.snapshot)})
			if err != nil {
				t.Fatal(err)
			}
			visit("mock", m.name, api, m.snapshot)
		}
	}
}
