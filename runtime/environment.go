package nccl

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/result"
)

// environment reads NCCL_* variables. The first bad value is kept in err, and
// every read after it is skipped.
type environment struct {
	getenv func(string) (string, bool)
	err    error
}

// lookup returns the value of the first of names that is set and not empty, and
// its name.
func (e *environment) lookup(names ...string) (name, value string, ok bool) {
	if e.getenv == nil || e.err != nil {
		return "", "", false
	}
	for _, name := range names {
		if value, ok := e.getenv(name); ok && strings.TrimSpace(value) != "" {
			return name, strings.TrimSpace(value), true
		}
	}
	return "", "", false
}

func (e *environment) refuse(name, value, format string, args ...any) {
	e.err = result.New(result.InvalidArgument, opInit, "%s=%s: %w", name, value, fmt.Errorf(format, args...))
}

// integer overwrites *field with the first set variable of names, which must be
// a multiple of unit between lo and hi. As in NCCL, the number may be hexadecimal
// or octal.
func (e *environment) integer(field *int, lo, hi, unit int, names ...string) {
	name, value, ok := e.lookup(names...)
	if !ok {
		return
	}
	n, err := strconv.ParseInt(value, 0, 64)
	switch {
	case err != nil:
		e.refuse(name, value, "not a whole number")
	case n < int64(lo) || n > int64(hi):
		e.refuse(name, value, "allowed are %d to %d", lo, hi)
	case n%int64(unit) != 0:
		e.refuse(name, value, "not a multiple of %d", unit)
	default:
		*field = int(n)
	}
}

// logger returns the logger that NCCL_DEBUG asks for, or one that discards.
func (e *environment) logger() *slog.Logger {
	name, value, ok := e.lookup("NCCL_DEBUG")
	if !ok {
		return slog.New(slog.DiscardHandler)
	}
	// NCCL's levels in its order (NCCL v2.30 src/include/nccl_common.h): each
	// lets through what those before it do.
	levels := map[string]slog.Level{
		"VERSION": slog.LevelWarn, "WARN": slog.LevelWarn,
		"INFO": slog.LevelInfo, "ABORT": slog.LevelInfo,
		"TRACE": slog.LevelDebug,
	}
	level, ok := levels[strings.ToUpper(value)]
	if !ok {
		e.refuse(name, value, "allowed are VERSION, WARN, INFO, ABORT and TRACE")
		return nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// channelBounds reads how many channels there are at least and at most.
func (e *environment) channelBounds(cfg *Config) {
	least := []string{"NCCL_MIN_CTAS", "NCCL_MIN_NCHANNELS", "NCCL_MIN_NRINGS"}
	most := []string{"NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS", "NCCL_MAX_NRINGS"}
	e.integer(&cfg.MinChannels, 1, MaxChannels, 1, least...)
	e.integer(&cfg.MaxChannels, 1, MaxChannels, 1, most...)
	if cfg.MaxChannels == 0 || cfg.MinChannels <= cfg.MaxChannels {
		return
	}
	// Where neither is set, Config is refused for what it says.
	name, value, ok := e.lookup(most...)
	if ok {
		bound, _, ok := e.lookup(least...)
		if !ok {
			bound = "Config.MinChannels"
		}
		e.refuse(name, value, "less than %s, which is %d", bound, cfg.MinChannels)
	} else if name, value, ok := e.lookup(least...); ok {
		e.refuse(name, value, "more than Config.MaxChannels, which is %d", cfg.MaxChannels)
	}
}

// apply overwrites the fields of cfg that a variable speaks of.
func (e *environment) apply(cfg *Config) {
	e.channelBounds(cfg)
	e.integer(&cfg.BufferBytes[coll.LL], bufferUnit, maxBufferBytes, bufferUnit, "NCCL_LL_BUFFSIZE")
	e.integer(&cfg.BufferBytes[coll.LL128], ll128BufferUnit, maxBufferBytes, ll128BufferUnit, "NCCL_LL128_BUFFSIZE")
	e.integer(&cfg.BufferBytes[coll.Simple], bufferUnit, maxBufferBytes, bufferUnit, "NCCL_BUFFSIZE")
	e.decisions(&cfg.settings)
	cfg.NCCLChannels = !e.betterChannels(!cfg.NCCLChannels)
	mixing := 1
	if cfg.NoGraphMixing {
		mixing = 0
	}
	e.integer(&mixing, 0, 1, 1, "NCCL_GRAPH_MIXING_SUPPORT")
	cfg.NoGraphMixing = mixing == 0
	e.topology(&cfg.topology)
	if cfg.Logger == nil {
		cfg.Logger = e.logger()
	}
}
