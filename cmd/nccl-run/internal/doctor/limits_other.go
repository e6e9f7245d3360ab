//go:build !linux

package doctor

// limits knows nothing here.
func limits() Limits { return Limits{Memlock: -1, SharedBytes: -1} }
