package devcomm

import (
	"encoding/binary"
	"fmt"
)

// Append appends the device's bytes of v to dst: an integer of fixed size, a
// struct of package abi, or a slice of them. Padding is zero.
//
// It uses reflection: it is for set-up, not for every call.
func Append(dst []byte, v any) []byte {
	dst, err := binary.Append(dst, binary.LittleEndian, v)
	if err != nil {
		panic(fmt.Sprintf("nccl: BUG: %T does not cross to the GPU: %v", v, err))
	}
	return dst
}

// Decode fills v, a pointer to what Append takes, from the device's bytes in
// src, which may be longer.
func Decode(src []byte, v any) error {
	if _, err := binary.Decode(src, binary.LittleEndian, v); err != nil {
		return fmt.Errorf("%d bytes do not hold a %T: %w", len(src), v, err)
	}
	return nil
}

// Size returns the bytes of v on the device.
func Size(v any) int64 { return int64(binary.Size(v)) }
