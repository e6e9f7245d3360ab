package cluster

import "fmt"

// Wrong is what a kernel that ended left as it must not be. The list is closed.
type Wrong string

const (
	Result Wrong = "result" // an element of the output
	Input  Wrong = "input"  // an element of an input that is not the output too
	Guard  Wrong = "guard"  // memory beside a buffer
	State  Wrong = "state"  // a connection: its steps, its counters, its flags
)

// Mismatch says what a kernel that ended left wrong.
type Mismatch struct {
	What   Wrong
	Rank   int
	Detail string
}

// Error returns "wrong result on rank 2: ...".
func (m *Mismatch) Error() string {
	return fmt.Sprintf("wrong %s on rank %d: %s", m.What, m.Rank, m.Detail)
}
