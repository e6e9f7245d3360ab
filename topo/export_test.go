package topo

// SearchRing is what tests outside of the package see NCCL's rings of a host with.
var SearchRing = searchRing

// RandomSystem is what tests outside of the package make random machines with.
var RandomSystem = randomSystem
