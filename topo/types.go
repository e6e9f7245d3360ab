package topo

import "fmt"

// NodeType is the kind of a [Node].
type NodeType uint8

const (
	NodeGPU NodeType = iota // GPU
	NodeDEV                 // DEV
	NodePCI                 // PCI
	NodeNVS                 // NVS
	NodeCPU                 // CPU
	NodeNIC                 // NIC
	NodeNET                 // NET
	NodeCXB                 // CXB

	// NumNodeTypes is the number of node types.
	NumNodeTypes = iota
)

// LinkType is the kind of a [Link]. Values are those of NCCL's LINK_*, which
// are also the [PathType] of a path of one such link (NCCL v2.30
// src/graph/topo.h).
type LinkType uint8

const (
	LinkLOC LinkType = 0  // LOC
	LinkNVL LinkType = 1  // NVL
	LinkC2C LinkType = 3  // C2C
	LinkPCI LinkType = 4  // PCI
	LinkSYS LinkType = 9  // SYS
	LinkNET LinkType = 10 // NET
)

// PathType is how far apart two nodes are: the worst thing on the path between
// them. A smaller value is a better path. The order is NCCL's PATH_* (NCCL
// v2.30 src/include/graph.h).
type PathType uint8

const (
	PathLOC PathType = iota // the same GPU
	PathNVL                 // NVLink, directly or through a switch
	PathNVB                 // NVLink through another GPU
	PathC2C                 // chip to chip
	PathPIX                 // one PCIe switch at most
	PathPXB                 // several PCIe switches, no CPU
	PathP2C                 // C2C to the CPU, then PCIe
	PathPXN                 // another GPU's network card
	PathPHB                 // PCIe through a CPU
	PathSYS                 // through several CPUs
	PathNET                 // the network
	PathDIS                 // none

	// NumPathTypes is the number of path types.
	NumPathTypes = iota
)

// ParsePathType returns the PathType whose name is s ("NVL").
func ParsePathType(s string) (PathType, error) {
	for t := range PathType(NumPathTypes) {
		if t.String() == s {
			return t, nil
		}
	}
	return 0, fmt.Errorf("unknown path type %q (allowed: LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS NET DIS)", s)
}
