// Package bound computes how much rings and trees can carry on a machine at
// most, whatever their channels are: a number to hold beside what a search found.
//
// It must not know how anything is searched for. All it looks at is a
// [topo.System.View]: the links that the paths between GPUs and network ports go
// over, each direction for itself, and what traffic costs there. Bandwidths are
// GB/s.
//
// Start reading at [Of]; the links as a flow network are in network.go.
package bound
