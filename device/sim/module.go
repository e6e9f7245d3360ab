package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/ptx"
)

// module is a PTX module loaded on one GPU. It implements [device.Module].
type module struct {
	gpu       *gpu
	file      string
	functions map[string]*function
	globals   map[*ptx.Var]*alloc

	unloaded bool // guarded by gpu.m.mu
}

// function is a kernel of a module. It implements [device.Function].
type function struct {
	module *module
	gpu    *gpu
	prog   *program
	// consts are the constant rows of prog, with addresses of module variables
	// filled in.
	consts []constant
}

func (g *gpu) LoadModule(name string, text []byte) (device.Module, error) {
	m := g.m
	if err := m.lock(); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	t := modules.translation(name, text)
	parsed, err := t.decoded()
	if err != nil {
		return nil, err
	}
	if parsed.SM > g.info.SM {
		return nil, fmt.Errorf("sim: load %s: it is for %s and GPU %d is sm_%d", name, parsed.TargetText, g.index, g.info.SM)
	}
	lowered := t.sequential
	if m.weak != nil {
		lowered = t.weak
	}
	programs, err := lowered()
	if err != nil {
		return nil, err
	}
	mod := &module{gpu: g, file: name, functions: map[string]*function{}, globals: map[*ptx.Var]*alloc{}}
	for _, v := range parsed.Globals {
		if v.Space != ptx.Global && v.Space != ptx.Const {
			continue
		}
		a, err := m.allocate(g.mem, int64(max(v.Size, 1)), v.Name)
		if err != nil {
			mod.release()
			return nil, fmt.Errorf("sim: load %s: %w", name, err)
		}
		copy(a.data, v.Init)
		a.readOnly = v.Space == ptx.Const
		mod.globals[v] = a
	}
	mod.fillAddresses()
	for _, p := range programs {
		f := &function{module: mod, gpu: g, prog: p, consts: slices.Clone(p.consts)}
		for i, c := range f.consts {
			if c.global != nil {
				f.consts[i].value += mod.globals[c.global].base
			}
		}
		mod.functions[p.name] = f
	}
	return mod, nil
}

// fillAddresses writes the addresses in variables' initial contents.
func (m *module) fillAddresses() {
	for v, a := range m.globals {
		for _, addr := range v.Addrs {
			base := uint64(addr.Var.Offset)
			if g := m.globals[addr.Var]; g != nil {
				base = g.base
			} else if addr.Generic {
				base += window(addr.Var.Space)
			}
			le.PutUint64(a.data[addr.At:], base+uint64(addr.Off))
		}
	}
}

func (m *module) Function(name string) (device.Function, error) {
	if err := m.gpu.m.lock(); err != nil {
		return nil, err
	}
	defer m.gpu.m.mu.Unlock()
	if m.unloaded {
		return nil, fmt.Errorf("sim: %s: function %s: the module is unloaded", m.file, name)
	}
	f := m.functions[name]
	if f == nil {
		names := make([]string, 0, len(m.functions))
		for n := range m.functions {
			names = append(names, n)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("sim: %s: no kernel is called %q; it has %s", m.file, name, strings.Join(names, ", "))
	}
	return f, nil
}

func (m *module) Unload() error {
	if err := m.gpu.m.lock(); err != nil {
		return err
	}
	defer m.gpu.m.mu.Unlock()
	for _, k := range m.gpu.m.running {
		if k.fn.module == m {
			return fmt.Errorf("sim: unload %s: its kernel %s is running", m.file, k.fn.prog.name)
		}
	}
	m.release()
	return nil
}

// release frees the module's variables.
func (m *module) release() {
	if !m.unloaded {
		for _, a := range m.globals {
			m.gpu.m.release(m.gpu.mem, a)
		}
	}
	m.unloaded = true
}

func (f *function) Name() string { return f.prog.name }

func (f *function) MaxThreads() int {
	n := f.gpu.info.MaxThreadsPerCTA
	for _, bound := range []int{product(f.prog.entry.MaxNTID), product(f.prog.entry.ReqNTID)} {
		if bound > 0 {
			n = min(n, bound)
		}
	}
	return n
}

func (f *function) Occupancy(threads int) (int, error) {
	if threads < 1 || threads > f.MaxThreads() {
		return 0, fmt.Errorf("sim: occupancy of %s: %d threads in a CTA; allowed are 1 to %d", f.prog.name, threads, f.MaxThreads())
	}
	return f.gpu.occupancy(threads, f.prog), nil
}
