//go:build cgo && linux && (amd64 || arm64) && !nodl

package nvml_test

import (
	"testing"

	"github.com/ncclgo/ncclgo/internal/nvml"
)

func TestTopologiesCgo(t *testing.T) { nvml.VisitCgo(t, sees(t)) }
