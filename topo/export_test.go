package topo

// RandomSystem is what tests outside of the package make random machines with.
var RandomSystem = randomSystem
