// Package check makes the inputs of a collective and says what every element
// of its output must be, without looking at how a kernel computes it: the
// reference folds integers on the host and rounds nothing.
//
// It knows no device, no communicator and no kernel. Inputs depend on (seed,
// rank, index) alone and are chosen so that every order of combining them
// gives the same bits:
//
//   - integers: any bits; sums and products wrap around;
//   - floating-point sums: integers times one power of two per element, small
//     enough that every partial sum is exact;
//   - floating-point products: powers of two, and one full significand per
//     element;
//   - minimum and maximum: any finite value but -0, which PTX orders below +0
//     and IEEE 754 does not.
//
// So a comparison of bytes is the whole check. After a prime number of elements,
// about a million, data repeats ([Data]). Start reading at [Case]. Values
// are immutable and safe for concurrent use.
package check
