package cuda

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
)

// The number of hardware queues of a context, and what they may be.
//
// Source: CUDA C++ Programming Guide, "CUDA Environment Variables",
// CUDA_DEVICE_MAX_CONNECTIONS.
const (
	connectionsVariable = "CUDA_DEVICE_MAX_CONNECTIONS"
	defaultConnections  = 8
	mostConnections     = 32

	loadingVariable = "CUDA_MODULE_LOADING"
)

// setEnvironment sets the variables that the driver reads when it starts and
// returns the number of hardware queues that it will use. os.Setenv reaches the
// C library's environment, which is the driver's.
func setEnvironment(cfg Config) (connections int, err error) {
	if cfg.MaxConnections < 0 || cfg.MaxConnections > mostConnections {
		return 0, fmt.Errorf("cuda: Config.MaxConnections is %d; allowed are 0, for the default, to %d", cfg.MaxConnections, mostConnections)
	}
	connections = defaultConnections
	if text := os.Getenv(connectionsVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostConnections {
			return 0, fmt.Errorf("cuda: %s is %q; allowed are 1 to %d", connectionsVariable, text, mostConnections)
		}
		connections = n
	}
	if cfg.MaxConnections > connections {
		connections = cfg.MaxConnections
		if err := os.Setenv(connectionsVariable, strconv.Itoa(connections)); err != nil {
			return 0, fmt.Errorf("cuda: set %s: %w", connectionsVariable, err)
		}
	}
	if err := os.Setenv(loadingVariable, cmp.Or(os.Getenv(loadingVariable), "EAGER")); err != nil {
		return 0, fmt.Errorf("cuda: set %s: %w", loadingVariable, err)
	}
	return connections, nil
}
