//go:build linux && (amd64 || arm64) && !nodl

package nvml_test

import (
	"testing"

	"github.com/ncclgo/ncclgo/internal/nvml"
)

func TestTopologiesDL(t *testing.T) { nvml.VisitDL(t, sees(t)) }
