//go:build !(cgo && linux && (amd64 || arm64)) || nodl

package nvml

// loadLibrary loads NVML with the adapter of this build.
func loadLibrary(name string) (library, error) { return loadDL(name) }
