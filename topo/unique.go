package topo

import "fmt"

// checkUnique refuses files in which CPUs or PCI devices of a host share an
// address. It looks at all of them, also at those that no rank uses. The ports of
// a network card may be listed apart, and so may the ranks on a GPU.
func (d *Document) checkUnique() error {
	type place struct{ host, id uint64 }
	cpus, devices := map[place]bool{}, map[place]string{}
	var check func(e *Element, host uint64) error
	check = func(e *Element, host uint64) error {
		if e.Name == ElemPCI {
			at, kind := place{host, uint64(e.BusID("busid"))}, e.deviceKind()
			switch other := devices[at]; {
			case other == "":
				devices[at] = kind
			case other != kind || kind == deviceSwitch:
				return d.errorAt(e, "one device an address and host is allowed", "busid=%q again", e.Text("busid"))
			}
		}
		for _, child := range e.Children {
			if err := check(child, host); err != nil {
				return err
			}
		}
		return nil
	}
	for _, cpu := range d.Root.Children {
		at := place{cpu.Hex("host_hash"), uint64(int64(cpu.Int("numaid", 0)))}
		if cpus[at] {
			return d.errorAt(cpu, "one <cpu> a NUMA node and host is allowed", "numaid=\"%d\" again", cpu.Int("numaid", 0))
		}
		cpus[at] = true
		if err := check(cpu, at.host); err != nil {
			return err
		}
	}
	return nil
}

// checkSize refuses more GPUs and hosts than a system may have. Paths lead from each
// GPU to each, so what more would take grows with their square.
func (d *Document) checkSize() error {
	const want = "%d are allowed; describe one host, and how many there are apart from the file"
	ranks, hosts := 0, map[int]bool{}
	for _, p := range d.find(ElemGPU) {
		if !p.element().Has("rank") {
			continue
		}
		if ranks++; ranks > MaxGPUs {
			return d.errorAt(p.element(), fmt.Sprintf(want, MaxGPUs), "GPU %d", ranks)
		}
		if hosts[p.host] = true; len(hosts) > maxHosts {
			return d.errorAt(p.path[1], fmt.Sprintf(want, maxHosts), "host %d with a GPU", len(hosts))
		}
	}
	return nil
}

const deviceSwitch = "switch"

// deviceKind says what becomes of a pci element.
func (e *Element) deviceKind() string {
	for _, child := range e.Children {
		if child.Name == ElemGPU || child.Name == ElemNIC {
			return child.Name
		}
	}
	if classOf(e.Text("class")) == classSwitch {
		return deviceSwitch
	}
	return "unused"
}
