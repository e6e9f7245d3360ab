// Package check makes the inputs of a collective and says what every element
// of its output must be, by docs/ARITHMETIC.md and without looking at how a kernel
// computes it.
//
// It knows no device, no communicator and no kernel. [Case] is for a check that
// must not depend on the order of reduction: inputs depend on (seed, rank, index)
// alone and are chosen so that every order gives the same bits:
//
//   - integers: any bits; sums and products wrap around;
//   - floating-point sums, mulsum: integers times one power of two per element, small
//     enough that every partial sum is exact;
//   - floating-point products: powers of two, and one full significand per
//     element;
//   - floating-point averages: full significands of two ranks per element, zeros of
//     the others, so products and one sum round, and nothing else;
//   - minimum and maximum: any finite value.
//
// So a comparison of bytes is the whole check. After a prime number of elements,
// about a million, data repeats ([Data]). [Reduction.Fold] is for a check that knows
// the order: it reduces any bits, rounding where the page says.
//
// Start reading at [Case], then arithmetic.go. Values are immutable and safe for
// concurrent use.
package check
