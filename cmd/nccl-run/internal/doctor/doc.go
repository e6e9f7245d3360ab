// Package doctor looks at a machine as ncclgo would use it: what was found, what
// is missing, and what to do about it.
//
// It changes nothing, and knows no command line and no collective. Start reading
// at [Examine], which gathers a [Report], then advice.go, the rules that turn
// facts into advice. A Report is written as text or as JSON, of which [Decode]
// reads back what this version writes and nothing else.
package doctor
