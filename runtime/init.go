package nccl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/generated"
	"github.com/ncclgo/ncclgo/internal/result"
	"github.com/ncclgo/ncclgo/planner"
	"github.com/ncclgo/ncclgo/runtime/internal/devcomm"
	"github.com/ncclgo/ncclgo/runtime/internal/launch"
	"github.com/ncclgo/ncclgo/topo"
)

const opInit = "InitAll"

// serials numbers the communicators of the process.
var serials atomic.Uint64

// InitAll makes the communicators of all ranks, in this process: rank i on
// cfg.Devices[i]. It loads kernels and allocates device memory, and may wait for
// the devices; ctx ends it early. On an error nothing is left behind.
func InitAll(ctx context.Context, cfg Config) ([]*Comm, error) {
	if ctx == nil {
		return nil, result.New(result.InvalidArgument, opInit, "%w", errNilContext)
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	i := initializer{ctx: ctx, cfg: &cfg, shared: &shared{log: cfg.Logger, observe: cfg.OnLaunch}}
	for _, step := range []func() error{i.find, i.place, i.load, i.model, i.allocate, i.queues} {
		code, err := result.Timeout, ctx.Err()
		if err == nil {
			code, err = result.UnhandledCUDAError, step()
		}
		if err != nil {
			return nil, result.Wrap(code, opInit, errors.Join(err, i.shared.free()))
		}
	}
	i.shared.open.Store(int32(len(i.shared.comms)))
	i.report()
	return slices.Clone(i.shared.comms), nil
}

// initializer is InitAll under way, in the order of its methods.
type initializer struct {
	ctx    context.Context
	cfg    *Config
	shared *shared

	variants []coll.Variant // canonical ones that all devices have a kernel of
}

// find finds the machine, if nobody gave it.
func (i *initializer) find() error {
	if i.cfg.System != nil {
		return nil
	}
	system, err := i.cfg.detect()
	i.cfg.System = system
	return result.Wrap(result.InvalidArgument, "Config.System", err)
}

// place finds the GPU of each rank in the system, and the channels.
func (i *initializer) place() error {
	buses := make([]topo.BusID, len(i.cfg.Devices))
	for rank, dev := range i.cfg.Devices {
		bus, err := i.busOf(dev)
		if err != nil {
			return err.At(rank)
		}
		buses[rank] = bus
	}
	system, err := i.cfg.System.Place(buses)
	if err != nil {
		return result.New(result.InvalidArgument, "Config.System", "%w", err)
	}
	if err := i.sameSM(system); err != nil {
		return err
	}
	if err := i.cfg.dump(system); err != nil {
		return err
	}
	layout, err := topo.ConnectHost(system, !i.cfg.NCCLChannels)
	if err != nil {
		return result.New(result.InvalidArgument, "Config.System", "%w", err)
	}
	i.shared.system, i.shared.layout, i.shared.ring = system, layout, layout.Graphs(0)[topo.GraphRing]
	sharing := map[device.Device]*gpuRanks{}
	for dev, n := range ranksByDevice(i.cfg.Devices) {
		if n == 1 {
			continue
		}
		if err := enoughQueues(dev, n); err != nil {
			return err
		}
		sharing[dev] = newGPURanks(i.cfg.Devices, dev)
	}
	for rank, dev := range i.cfg.Devices {
		i.shared.comms = append(i.shared.comms, &Comm{
			rank: rank, device: dev, shared: i.shared, serial: serials.Add(1),
			gpuRanks: sharing[dev],
		})
	}
	return nil
}

// sameSM refuses a device of another compute capability than the system says its
// GPU has: bandwidths and times would be those of another machine.
func (i *initializer) sameSM(system *topo.System) error {
	for rank, dev := range i.cfg.Devices {
		gpu, sm := system.RankGPU(rank).GPU, dev.Info().SM
		if gpu.SM != 0 && gpu.SM != sm {
			return result.New(result.InvalidArgument, "Config.System",
				"%s says sm_%d of GPU %v, but the device is sm_%d; give the description of the machine that the devices are in",
				system.Name, gpu.SM, gpu.BusID, sm).At(rank)
		}
	}
	return nil
}

// enoughQueues refuses more ranks on a device than can run side by side there.
func enoughQueues(dev device.Device, ranks int) error {
	limited, ok := dev.(device.QueueLimiter)
	if !ok {
		return nil
	}
	n, more := limited.HardwareQueues()
	if ranks <= n {
		return nil
	}
	return result.New(result.InvalidArgument, "Config.Devices",
		"%d ranks on GPU %d, which has %d hardware queues; a kernel that waits for one behind it in its queue never ends: %s, or use fewer ranks on a GPU",
		ranks, dev.Ordinal(), n, more)
}

// busOf returns the address of a device's GPU in the system.
func (i *initializer) busOf(dev device.Device) (topo.BusID, *result.Error) {
	if text := dev.Info().BusID; text != "" {
		bus, err := topo.ParseBusID(text)
		if err != nil {
			return 0, result.New(result.InvalidArgument, "Config.Devices", "GPU %d: %w", dev.Ordinal(), err)
		}
		return bus, nil
	}
	for _, gpu := range i.cfg.System.Nodes[topo.NodeDEV] {
		if gpu.GPU.Dev == dev.Ordinal() {
			return gpu.GPU.BusID, nil
		}
	}
	return 0, result.New(result.InvalidArgument, "Config.System", "%s has no GPU %d; it has %d GPUs",
		i.cfg.System.Name, dev.Ordinal(), len(i.cfg.System.Nodes[topo.NodeDEV]))
}

// load loads the kernels that may be asked for on every device.
func (i *initializer) load() error {
	if i.cfg.Kernels == nil {
		for _, k := range generated.Kernels() {
			if k.SM <= i.oldest().Info().SM {
				i.want(k.Variant)
			}
		}
	}
	for _, v := range i.cfg.Kernels {
		k, err := i.lookup(v)
		if err != nil {
			return result.Wrap(result.InvalidArgument, "Config.Kernels", err)
		}
		i.want(k.Variant)
	}
	p := loading{cfg: i.cfg, said: time.Now()}
	for dev := range ranksByDevice(i.cfg.Devices) {
		p.total += len(i.kernelsOf(dev))
	}
	seen := map[device.Device]bool{}
	for _, c := range i.shared.comms {
		kernels := i.kernelsOf(c.device)
		var err error
		if c.kernels, err = launch.Load(i.ctx, c.device, kernels, p.progress); err != nil {
			return err
		}
		if !seen[c.device] {
			seen[c.device] = true
			p.before += len(kernels)
		}
	}
	return nil
}

// kernelsOf returns the kernels to load on a device, the best it has of each
// variant: of those that Config names, or of all it can run, also where older
// devices of this communicator cannot, since a later one may have none of them.
func (i *initializer) kernelsOf(dev device.Device) []*generated.Kernel {
	var kernels []*generated.Kernel
	for n := range generated.Kernels() {
		k := &generated.Kernels()[n]
		best, err := generated.Lookup(k.Variant, dev.Info().SM)
		if err == nil && k == best && (i.cfg.Kernels == nil || slices.Contains(i.variants, k.Variant)) {
			kernels = append(kernels, k)
		}
	}
	return kernels
}

// loading tells how far the loading of kernels is.
type loading struct {
	cfg    *Config
	before int // kernels of the devices before
	total  int
	said   time.Time // when the log had the last line
}

// loadingLine is how often the log has a line about loading. What takes less
// has none.
const loadingLine = time.Second

func (l *loading) progress(done, _ int) {
	if l.cfg.OnLoad != nil {
		l.cfg.OnLoad(l.before+done, l.total)
	}
	if now := time.Now(); now.Sub(l.said) >= loadingLine {
		l.said = now
		l.cfg.Logger.Info("loading kernels", "subsys", "INIT", "done", l.before+done, "of", l.total)
	}
}

// ranksByDevice returns how many ranks each device has.
func ranksByDevice(devices []device.Device) map[device.Device]int {
	ranks := map[device.Device]int{}
	for _, dev := range devices {
		ranks[dev]++
	}
	return ranks
}

// want adds the kernels of a canonical variant, which all devices can run, once.
func (i *initializer) want(v coll.Variant) {
	if !slices.Contains(i.variants, v) {
		i.variants = append(i.variants, v)
	}
}

// oldest returns the first device of the lowest compute capability.
func (i *initializer) oldest() device.Device {
	return slices.MinFunc(i.cfg.Devices, func(a, b device.Device) int { return a.Info().SM - b.Info().SM })
}

// lookup returns the kernel of v for the oldest device. If it has one, all have.
func (i *initializer) lookup(v coll.Variant) (*generated.Kernel, error) {
	dev := i.oldest()
	k, err := generated.Lookup(v, dev.Info().SM)
	var old *generated.SMError
	if errors.As(err, &old) {
		old.GPU = fmt.Sprintf("GPU %d", dev.Ordinal())
	}
	return k, err
}

// model makes the planner's model from what the devices can hold.
func (i *initializer) model() error {
	limits := i.cfg.limits()
	i.shared.options = i.cfg.options()
	c := planner.Config{Facts: planner.FactsOf(i.shared.layout), Settings: i.cfg.settings, Tuning: i.cfg.Tuning, Limits: limits, Kernel: i.kernel}
	for rank, comm := range i.shared.comms {
		n, err := comm.kernels.Occupancy(limits.MaxThreads)
		if err != nil {
			return err
		}
		sms := comm.device.Info().NumSMs
		if rank == 0 {
			c.NumSMs, c.CTAsPerSM = sms, n
		}
		c.NumSMs, c.CTAsPerSM = min(c.NumSMs, sms), min(c.CTAsPerSM, n)
	}
	var err error
	if i.shared.model, err = planner.New(&c); err != nil {
		return err
	}
	for op := range coll.RedOp(coll.NumRedOps) {
		for t := range coll.DataType(coll.NumDataTypes) {
			call := planner.Call{Func: coll.AllReduce, Op: op, Type: t, Count: 1}
			_, err := i.shared.model.Choose(call, i.shared.options)
			if errors.As(err, &i.shared.refused[op][t]) {
				if why := i.missing(call); why != nil {
					i.shared.refused[op][t] = why
				}
			}
		}
	}
	return nil
}

// missing says why a call is impossible that newer GPUs, or more in
// Config.Kernels, would make possible; nil if neither would.
func (i *initializer) missing(call planner.Call) *result.Error {
	v := coll.Variant{Func: call.Func, Op: call.Op, Type: call.Type}
	for v.Algo = range coll.Algo(coll.NumAlgos) {
		for v.Proto = range coll.Proto(coll.NumProtos) {
			if o, s := &i.shared.options, &i.cfg.settings; !o.Algos.Has(v.Algo) || !o.Protos.Has(v.Proto) ||
				!s.Algos[v.Func].Has(v.Algo) || !s.Protos[v.Func].Has(v.Proto) {
				continue
			}
			k, err := i.lookup(v)
			var old *generated.SMError
			switch {
			case errors.As(err, &old):
				return result.New(result.InvalidArgument, opInit, "%w", old)
			case err == nil && !slices.Contains(i.variants, k.Variant):
				return result.New(result.InvalidUsage, opInit,
					"the kernels for %v of %v are not among Config.Kernels; name one there", call.Op, call.Type)
			}
		}
	}
	return nil
}

// kernel returns nil if the kernels of v will be loaded, else why not.
func (i *initializer) kernel(v coll.Variant) error {
	k, err := i.lookup(v)
	if err == nil && !slices.Contains(i.variants, k.Variant) {
		err = result.New(result.InvalidUsage, "find kernel", "%s is not among Config.Kernels", v)
	}
	return err
}

// allocate makes the communicator's memory on the devices.
func (i *initializer) allocate() error {
	s := i.shared
	c := devcomm.Config{FirstStep: i.cfg.FirstStep}
	for ch := range s.model.Channels() {
		c.Rings = append(c.Rings, s.ring.Ring(ch))
	}
	limits, facts := i.cfg.limits(), planner.FactsOf(s.layout)
	for _, v := range i.variants {
		// A protocol that must not be used here needs no memory.
		if p := v.Proto; planner.Unsafe(p, &facts) == "" {
			c.BufferBytes[p] = int64(limits.BufferBytes[p])
		}
	}
	var err error
	s.memory, err = devcomm.New(i.cfg.Devices, c)
	return err
}

// queues makes each rank ready to launch.
func (i *initializer) queues() error {
	for rank, c := range i.shared.comms {
		var err error
		c.queue, err = launch.NewQueue(c.device, device.Ptr(i.shared.memory.Comm(rank)), i.shared.model.Channels(), fmt.Sprintf("rank %d", rank), !i.cfg.NoGraphMixing)
		if err != nil {
			return err
		}
	}
	return nil
}

// report logs what was made.
func (i *initializer) report() {
	s := i.shared
	s.log.Info("communicator made", "subsys", "INIT", "ranks", len(s.comms), "channels", s.model.Channels(), "kernels", len(i.variants))
	for _, n := range i.cfg.System.Notes {
		s.log.Info("topology", "subsys", "GRAPH", "system", i.cfg.System.Name, "line", n.Line, "column", n.Column, "note", n.Text)
	}
	if s.ring.Instead > 0 {
		s.log.Info("better channels", "subsys", "GRAPH", "GB/s", s.ring.BW(), "NCCL", s.ring.Instead)
	}
	for ch := range s.ring.Channels {
		s.log.Info("ring", "subsys", "GRAPH", "channel", ch, "ranks", s.ring.Channels[ch].Ranks)
	}
}
