package topo

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ncclgo/ncclgo/internal/result"
)

// Fabric returns n hosts like s whose NVSwitches form one NVLink fabric, as NCCL
// sees them where MNNVL joins them: ranks go on from host to host, and host
// hashes count up from that of s.
func (s *System) Fabric(n int) (*System, error) {
	switch {
	case n < 1:
		return nil, result.New(result.InvalidArgument, "topology", "%d hosts; at least one is needed", n)
	case n > MaxGPUs/s.NRanks():
		return nil, result.New(result.InvalidArgument, "topology", "%d hosts of %d GPUs; a fabric has at most %d GPUs", n, s.NRanks(), MaxGPUs)
	case n > maxHosts:
		return nil, result.New(result.InvalidArgument, "topology", "%d hosts; a fabric has at most %d", n, maxHosts)
	case n == 1:
		return s, nil
	case len(s.Hosts) > 1:
		return nil, result.New(result.InvalidArgument, "topology", "%s has %d hosts already; a fabric repeats a file of one host", s.Name, len(s.Hosts))
	case len(s.Nodes[NodeNVS]) == 0:
		return nil, result.New(result.InvalidArgument, "topology", "%s has no NVSwitch; hosts are joined by theirs", s.Name)
	}
	root := *s.doc.Root
	root.Children = nil
	for host := range n {
		for _, cpu := range s.doc.Root.Children {
			c := cpu.shift(host * s.NRanks())
			c.Set("host_hash", fmt.Sprintf("%#x", cpu.Hex("host_hash")+uint64(host)))
			root.Children = append(root.Children, c)
		}
	}
	return s.derive(&root)
}

// shift returns a copy of e in which all ranks are greater by some number.
func (e *Element) shift(ranks int) *Element {
	c := *e
	c.Attrs = slices.Clone(e.Attrs)
	if rank := e.Int("rank", -1); e.Name == ElemGPU && rank >= 0 {
		c.Set("rank", strconv.Itoa(rank+ranks))
	}
	c.Children = make([]*Element, len(e.Children))
	for i, child := range e.Children {
		c.Children[i] = child.shift(ranks)
	}
	return &c
}
