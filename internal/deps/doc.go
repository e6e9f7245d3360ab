// Package deps holds the import graph as a policy, in policy.txt, and the test
// that keeps the code to it. It has no code of its own: start reading at
// policy.txt, which is the architecture in import order.
package deps
