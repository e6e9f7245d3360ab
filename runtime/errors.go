package nccl

import (
	"fmt"
	"strings"

	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/runtime/internal/devcomm"
)

// Error is the one error type of this package: what was being done, the ranks
// it concerns, and the cause.
type Error = result.Error

// Code is NCCL's ncclResult_t.
type Code = result.Code

// The result codes, with NCCL's values.
const (
	Success            = result.Success
	UnhandledCUDAError = result.UnhandledCUDAError
	SystemError        = result.SystemError
	InternalError      = result.InternalError
	InvalidArgument    = result.InvalidArgument
	InvalidUsage       = result.InvalidUsage
	RemoteError        = result.RemoteError
	InProgress         = result.InProgress
	Timeout            = result.Timeout
)

// NoPeer is the Peer of an Error that concerns no other rank.
const NoPeer = result.NoPeer

// The sentinels: errors.Is(err, ErrX) asks what kind of failure err is.
var (
	ErrUnhandledCUDA   = result.ErrUnhandledCUDA
	ErrSystem          = result.ErrSystem
	ErrInternal        = result.ErrInternal
	ErrInvalidArgument = result.ErrInvalidArgument
	ErrInvalidUsage    = result.ErrInvalidUsage
	ErrRemote          = result.ErrRemote
	ErrTimeout         = result.ErrTimeout
	// ErrNotBuilt: the variant is valid but this build has no kernel for it. It
	// is also ErrInvalidUsage.
	ErrNotBuilt = result.ErrNotBuilt
)

// CodeOf returns the result code of err: Success for nil, InternalError for an
// error that carries none.
func CodeOf(err error) Code { return result.CodeOf(err) }

// Report says where a channel of a rank was when an abort made it leave.
type Report = devcomm.Report

// AbortedError is the cause of every error of a communicator that was aborted.
type AbortedError struct {
	// Reports says what each channel of each rank of this process was waiting for
	// when its kernel left. Those that waited for nothing are absent.
	Reports []Report
	// Running reports that a kernel of the rank had not left yet, so that Reports
	// may lack some.
	Running bool
}

// shownReports is how many reports an error's text has.
const shownReports = 4

// Error returns what the first channels waited for.
func (e *AbortedError) Error() string {
	var b strings.Builder
	b.WriteString("the communicator was aborted; close it and make a new one")
	for i, r := range e.Reports {
		if i == shownReports {
			fmt.Fprintf(&b, "; and %d more channels", len(e.Reports)-i)
			break
		}
		b.WriteString("; " + r.String())
	}
	if e.Running {
		b.WriteString("; a kernel has not left yet")
	}
	return b.String()
}
