// Package softfloat computes floating point operations bit by bit: one exact
// result, one rounding, in any of the formats and rounding modes of PTX.
//
// It knows no instruction and no device. It is the slow and exact side of the
// PTX machine's arithmetic: what the host's own float32 and float64 give is
// used there where it is provably the same.
//
// Start reading at [Format], then [FMA]. Values are bit patterns in the low
// bits of a uint64. All functions are pure.
package softfloat
