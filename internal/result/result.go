package result

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

//go:generate go tool -modfile=../../tools.mod stringer -type=Code -linecomment -output zcode_string.go

// Code is NCCL's ncclResult_t. It is not an error: [Error] is.
type Code int32

const (
	Success            Code = iota // success
	UnhandledCUDAError             // unhandled CUDA error
	SystemError                    // system error
	InternalError                  // internal error
	InvalidArgument                // invalid argument
	InvalidUsage                   // invalid usage
	RemoteError                    // remote error
	InProgress                     // in progress
	Timeout                        // timeout
)

// Error is a failed operation. It reads "op: rank 3: peer 5: cause".
type Error struct {
	Code  Code
	Op    string // what was being done ("AllReduce", "InitAll")
	Ranks []int  // ranks concerned; nil if none in particular
	Peer  int    // the other rank, or NoPeer
	Err   error  // the cause
}

// NoPeer is the Peer of an Error that concerns no other rank.
const NoPeer = -1

// New returns an Error of the given code and operation whose cause is the
// formatted text, which may wrap another error with %w.
func New(code Code, op, format string, args ...any) *Error {
	return &Error{Code: code, Op: op, Peer: NoPeer, Err: fmt.Errorf(format, args...)}
}

// Wrap returns err as an Error of the given code and operation, or nil if err
// is nil. An Error keeps its own code.
func Wrap(code Code, op string, err error) error {
	if err == nil {
		return nil
	}
	var inner *Error
	if errors.As(err, &inner) {
		code = inner.Code
	}
	return &Error{Code: code, Op: op, Peer: NoPeer, Err: err}
}

// At returns e with the ranks it concerns.
func (e *Error) At(ranks ...int) *Error {
	e.Ranks = slices.Clone(ranks)
	return e
}

// Error returns the operation, the ranks, the peer and the cause.
func (e *Error) Error() string {
	var parts []string
	if e.Op != "" {
		parts = append(parts, e.Op)
	}
	switch len(e.Ranks) {
	case 0:
	case 1:
		parts = append(parts, fmt.Sprintf("rank %d", e.Ranks[0]))
	default:
		parts = append(parts, "ranks "+strings.Trim(fmt.Sprint(e.Ranks), "[]"))
	}
	if e.Peer != NoPeer {
		parts = append(parts, fmt.Sprintf("peer %d", e.Peer))
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	} else {
		parts = append(parts, e.Code.String())
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the sentinel of e's code; a timeout is also
// context.DeadlineExceeded.
func (e *Error) Is(target error) bool {
	if s, ok := target.(*sentinel); ok {
		return s.code == e.Code && s.also == nil
	}
	return e.Code == Timeout && target == context.DeadlineExceeded
}

// sentinel is an error that stands for a code. One that refines another (also)
// matches only where it is wrapped itself.
type sentinel struct {
	code Code
	text string
	also error
}

func (s *sentinel) Error() string { return s.text }
func (s *sentinel) Unwrap() error { return s.also }

// The sentinels: errors.Is(err, ErrX) asks what kind of failure err is.
var (
	ErrUnhandledCUDA   error = &sentinel{code: UnhandledCUDAError, text: UnhandledCUDAError.String()}
	ErrSystem          error = &sentinel{code: SystemError, text: SystemError.String()}
	ErrInternal        error = &sentinel{code: InternalError, text: InternalError.String()}
	ErrInvalidArgument error = &sentinel{code: InvalidArgument, text: InvalidArgument.String()}
	ErrInvalidUsage    error = &sentinel{code: InvalidUsage, text: InvalidUsage.String()}
	ErrRemote          error = &sentinel{code: RemoteError, text: RemoteError.String()}
	ErrTimeout         error = &sentinel{code: Timeout, text: Timeout.String()}

	// ErrNotBuilt: the variant is valid but this build has no kernel for it. It
	// is also ErrInvalidUsage.
	ErrNotBuilt error = &sentinel{code: InvalidUsage, text: "not in this build", also: ErrInvalidUsage}
)

// CodeOf returns the result code of err: Success for nil, that of the outermost
// Error or sentinel, and InternalError for any other.
func CodeOf(err error) Code {
	if err == nil {
		return Success
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	var s *sentinel
	if errors.As(err, &s) {
		return s.code
	}
	return InternalError
}
