package topo

// checkUnique refuses files in which CPUs or PCIe switches of a host share an
// address. It looks at all of them, also at those that no rank uses.
func (d *Document) checkUnique() error {
	type place struct {
		name string
		host uint64
		id   uint64
	}
	seen := map[place]bool{}
	var check func(e *Element, host uint64) error
	check = func(e *Element, host uint64) error {
		if at, isSwitch := e.BusID("busid"), e.isSwitch(); isSwitch {
			if seen[place{ElemPCI, host, uint64(at)}] {
				return d.errorAt(e, "one switch an address and host is allowed", "busid=%q again", e.Text("busid"))
			}
			seen[place{ElemPCI, host, uint64(at)}] = true
		}
		for _, child := range e.Children {
			if err := check(child, host); err != nil {
				return err
			}
		}
		return nil
	}
	for _, cpu := range d.Root.Children {
		at := place{ElemCPU, cpu.Hex("host_hash"), uint64(int64(cpu.Int("numaid", 0)))}
		if seen[at] {
			return d.errorAt(cpu, "one <cpu> a NUMA node and host is allowed", "numaid=\"%d\" again", cpu.Int("numaid", 0))
		}
		seen[at] = true
		if err := check(cpu, at.host); err != nil {
			return err
		}
	}
	return nil
}

// isSwitch reports whether e is a pci element that becomes a switch.
func (e *Element) isSwitch() bool {
	if e.Name != ElemPCI || classOf(e.Text("class")) != classSwitch {
		return false
	}
	for _, child := range e.Children {
		if child.Name == ElemGPU || child.Name == ElemNIC {
			return false
		}
	}
	return true
}
