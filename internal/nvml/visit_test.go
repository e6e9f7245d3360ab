package nvml

// Visitor is shown nodes that an adapter says of what a snapshot says: how tests
// outside of this package get to see them.
type Visitor func(adapter, machine string, api API, want *Snapshot)

// Machine is a node that every adapter is asked about.
type Machine struct {
	Name     string
	Snapshot *Snapshot
}

// Machines returns the nodes.
func Machines() []Machine {
	var all []Machine
	for _, m := range testMachines() {
		all = append(all, Machine{m.name, m.snapshot})
	}
	return all
}
