//go:build !unix

package detect

import "os"

func makePipe(name string) error { return os.Mkdir(name, 0o755) }
