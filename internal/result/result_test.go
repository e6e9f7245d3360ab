package result

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorText(t *testing.T) {
	err := New(RemoteError, "AllReduce", "connection reset: %w", io.ErrUnexpectedEOF).At(3)
	err.Peer = 5
	require.EqualError(t, err, "AllReduce: rank 3: peer 5: connection reset: unexpected EOF")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.EqualError(t, New(Timeout, "Close", "no answer").At(1, 2), "Close: ranks 1 2: no answer")
	require.EqualError(t, &Error{Code: InternalError, Peer: NoPeer}, "internal error")
}

func TestSentinels(t *testing.T) {
	sentinels := map[Code]error{
		UnhandledCUDAError: ErrUnhandledCUDA, SystemError: ErrSystem, InternalError: ErrInternal,
		InvalidArgument: ErrInvalidArgument, InvalidUsage: ErrInvalidUsage, RemoteError: ErrRemote, Timeout: ErrTimeout,
	}
	for code := UnhandledCUDAError; code <= Timeout; code++ {
		err := fmt.Errorf("outer: %w", New(code, "Op", "cause"))
		require.Equal(t, code, CodeOf(err))
		for other, sentinel := range sentinels {
			require.Equal(t, code == other, errors.Is(err, sentinel), "%v is %v", code, other)
		}
	}
	require.ErrorIs(t, New(Timeout, "Op", "cause"), context.DeadlineExceeded)
	require.NotErrorIs(t, New(RemoteError, "Op", "cause"), context.DeadlineExceeded)
}

func TestNotBuiltIsInvalidUsage(t *testing.T) {
	err := New(InvalidUsage, "AllReduce", "AllReduce_Sum_bf16_RING_LL: %w", ErrNotBuilt)
	require.ErrorIs(t, err, ErrNotBuilt)
	require.ErrorIs(t, err, ErrInvalidUsage)
	require.NotErrorIs(t, New(InvalidUsage, "Close", "closed"), ErrNotBuilt)
	require.Equal(t, InvalidUsage, CodeOf(ErrNotBuilt))
}

func TestWrapKeepsTheInnerCode(t *testing.T) {
	require.NoError(t, Wrap(SystemError, "InitAll", nil))
	err := Wrap(InternalError, "InitAll", New(InvalidArgument, "topology", "no GPU"))
	require.Equal(t, InvalidArgument, CodeOf(err))
	require.EqualError(t, err, "InitAll: topology: no GPU")
	require.Equal(t, SystemError, CodeOf(Wrap(SystemError, "InitAll", io.EOF)))
}

func TestCodeOf(t *testing.T) {
	require.Equal(t, Success, CodeOf(nil))
	require.Equal(t, InternalError, CodeOf(io.EOF))
	require.Equal(t, Code(8), Timeout, "ncclTimeout")
}
