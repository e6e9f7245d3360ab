// Package picture draws machines and their channels as SVG: text that browsers,
// editors and version control can show, with no font or script from elsewhere,
// readable on light and dark ground. The same input gives the same bytes.
//
// It must not know where a machine or a graph comes from, or how it was found.
//
// Start reading at [Machine] and [Channels]; what SVG they are made of is in
// svg.go, the colours in style.go.
package picture
