package nccl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/sim"
)

// patient makes the machine wait for the host before it calls anything stuck.
func patient(c *sim.Config) { c.StuckGrace = time.Minute }

// without is a group that has j on all ranks but one.
func without(j *job, missing int) func(*Calls) error {
	return func(g *Calls) error {
		for rank, c := range j.comms {
			if rank == missing {
				continue
			}
			if err := g.AllReduce(c, j.send[rank], j.recv[rank], uint64(j.count), j.typ, j.ops[rank], j.streams[rank]); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestAbort aborts while ranks wait for one that never comes: everybody leaves,
// and the reports say who waited for whom.
func TestAbort(t *testing.T) { onEngines(t, testAbort) }

func testAbort(t *testing.T, e engine) {
	for _, proto := range e.protos(t, 3) {
		t.Run(proto.String(), func(t *testing.T) {
			cfg := e.config(t, 3, patient)
			cfg.Protos = []coll.Proto{proto}
			comms := mustInit(t, cfg)
			const missing = 2
			j := newJob(t, comms, streamsOf(t, comms), coll.Float32, coll.OpSum, 500, false)
			require.NoError(t, Group(without(j, missing)))

			// Somebody waits while the abort comes.
			waiting := make(chan error)
			go func() { waiting <- j.streams[0].Synchronize(context.Background()) }()
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			err := comms[1].Finalize(ctx)
			require.ErrorIs(t, err, ErrTimeout)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.EqualError(t, err, "Finalize: rank 1: operations are still running; a rank may be missing: Abort releases them: context deadline exceeded")
			require.NoError(t, comms[1].AsyncError(), "waiting is no failure")

			require.NoError(t, comms[1].Abort())
			require.NoError(t, <-waiting)
			for _, s := range j.streams {
				require.NoError(t, s.Synchronize(context.Background()))
			}

			var aborted *AbortedError
			err = comms[0].AsyncError()
			require.ErrorIs(t, err, ErrInvalidUsage)
			require.ErrorAs(t, err, &aborted)
			require.False(t, aborted.Running)
			waitedFor := map[int]bool{}
			for _, r := range aborted.Reports {
				require.NotEqual(t, missing, r.Rank)
				require.NotEqual(t, r.Rank, r.Peer)
				require.Zero(t, r.Op)
				waitedFor[r.Peer] = true
			}
			require.True(t, waitedFor[missing], "%v", err)
			require.ErrorContains(t, err, "waited for")
			for _, c := range comms {
				require.NoError(t, c.Close())
			}
		})
	}
}

// TestAbortAtAnyTime aborts while goroutines enqueue and wait: nobody is left
// waiting, whatever state the ranks are in.
func TestAbortAtAnyTime(t *testing.T) { onEngines(t, testAbortAtAnyTime) }

func testAbortAtAnyTime(t *testing.T, e engine) {
	for round := range 8 {
		cfg := e.config(t, 2, patient)
		comms, err := InitAll(context.Background(), cfg)
		require.NoError(t, err)
		j := newJob(t, comms, streamsOf(t, comms), coll.Float32, coll.OpSum, 200, true)
		var wg sync.WaitGroup
		for rank, c := range comms {
			wg.Go(func() {
				for {
					err := c.AllReduce(j.send[rank], j.recv[rank], uint64(j.count), j.typ, j.ops[rank], j.streams[rank])
					if err != nil {
						var aborted *AbortedError
						if !errors.As(err, &aborted) {
							t.Errorf("rank %d: %v", rank, err)
						}
						return
					}
					if err := j.streams[rank].Synchronize(context.Background()); err != nil {
						t.Errorf("rank %d: %v", rank, err)
					}
				}
			})
		}
		time.Sleep(time.Duration(round) * time.Millisecond)
		for _, c := range comms {
			wg.Go(func() { _ = c.Abort() })
		}
		wg.Wait()
		for _, c := range comms {
			wg.Go(func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// TestAbortWhileClosing aborts while one rank's Close waits for an operation that
// never ends and the others are closed already.
func TestAbortWhileClosing(t *testing.T) { onEngines(t, testAbortWhileClosing) }

func testAbortWhileClosing(t *testing.T, e engine) {
	cfg := e.config(t, 3, patient)
	comms, err := InitAll(context.Background(), cfg)
	require.NoError(t, err)
	j := newJob(t, comms, streamsOf(t, comms), coll.Float32, coll.OpSum, 500, false)
	require.NoError(t, comms[0].AllReduce(j.send[0], j.recv[0], 500, j.typ, j.ops[0], j.streams[0]))
	closed := make(chan error, len(comms))
	go func() { closed <- comms[0].Close() }()
	time.Sleep(20 * time.Millisecond) // it waits by now
	for _, c := range comms[1:] {
		go func() { closed <- c.Close() }()
		require.NoError(t, <-closed)
	}
	require.NoError(t, comms[0].AsyncError())
	require.NoError(t, comms[1].Abort())
	require.NoError(t, <-closed)
}

// TestStuck plants a hang, a rank that never launches: the machine says at once
// who waits for what.
func TestStuck(t *testing.T) {
	for _, proto := range everyProto {
		t.Run(proto.String(), func(t *testing.T) {
			_, cfg := machine(t, 3)
			cfg.Protos = []coll.Proto{proto}
			comms := mustInit(t, cfg)
			j := newJob(t, comms, streamsOf(t, comms), coll.Float32, coll.OpSum, 500, false)
			require.NoError(t, Group(without(j, 2)))
			err := j.streams[0].Synchronize(context.Background())
			requireStuck(t, err)

			err = comms[1].AsyncError()
			require.ErrorIs(t, err, ErrUnhandledCUDA)
			requireStuck(t, err)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, []int{1}, e.Ranks)

			err = comms[1].AllReduce(j.send[1], j.recv[1], 1, j.typ, j.ops[1], j.streams[1])
			require.ErrorIs(t, err, ErrUnhandledCUDA)
			requireStuck(t, err)
			require.ErrorContains(t, err, "AllReduce: rank 1: the device failed, for good: ")
			err = comms[1].Finalize(context.Background())
			requireStuck(t, err)
			require.ErrorContains(t, err, "Finalize: rank 1: the device failed, for good: ")
			require.NoError(t, comms[0].Abort())
			for rank, c := range comms {
				err = c.Close()
				requireStuck(t, err)
				require.Equal(t, 1, strings.Count(err.Error(), "on the PTX machine, close the driver and make a new machine"), "%v", err)
				require.True(t, strings.HasPrefix(err.Error(), fmt.Sprintf("Close: rank %d: the device failed, for good: ", rank)), "%v", err)
			}
		})
	}
}

// requireStuck requires a fault that names rank, channel, line and address.
func requireStuck(t *testing.T, err error) {
	t.Helper()
	var fault *device.Fault
	require.ErrorAs(t, err, &fault)
	require.Equal(t, device.Stuck, fault.Kind)
	text := fault.Error()
	require.Contains(t, text, "rank 0 ch 0")
	require.Regexp(t, `AllReduce_Sum_f32_RING_(LL|LL128|SIMPLE)\.ptx:\d+`, text)
	require.Regexp(t, `address 0x[0-9a-f]+ \(rank \d ch \d `, text)
	require.Regexp(t, `\(rank 0 ch 0 (LL recv from|LL128 recv from|tail of) 2\b`, text, "rank 0 waits for rank 2, which did not come")
}
