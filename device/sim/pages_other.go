//go:build !linux && !darwin

package sim

import "errors"

const canMap = false

func mapPages(int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmapPages([]byte) {}
