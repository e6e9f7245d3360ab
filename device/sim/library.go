package sim

import (
	"sync"

	"github.com/ncclgo/ncclgo/device/ptx"
)

// modules are those that machines of the process have loaded: a program, or a
// test, that makes one machine after another loads the same kernels into each.
var modules library

// maxLibrary is how much PTX a library keeps, in bytes: a few times what the kernels
// of this module are. Beyond that it starts anew, so that who loads ever new
// modules does not fill the memory.
const maxLibrary = 16 << 20

// library keeps what modules became, by what they were made from.
type library struct {
	mu    sync.Mutex
	kept  map[source]*translation
	bytes int // of PTX
}

// source is what a module is made from. Its errors name the file.
type source struct{ file, text string }

// translation is a module as the machine needs it, made when it is asked for, by
// whoever asks first. It does not change: machines and GPUs share it.
type translation struct {
	decoded func() (*ptx.Module, error)
	// The module's kernels, in order, for each memory model.
	sequential, weak func() ([]*program, error)
}

// translation returns what a module's text becomes.
func (l *library) translation(file string, text []byte) *translation {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.kept[source{file, string(text)}]; t != nil {
		return t
	}
	if l.bytes += len(text); l.kept == nil || l.bytes > maxLibrary {
		l.kept, l.bytes = map[source]*translation{}, len(text)
	}
	s := source{file, string(text)}
	l.kept[s] = newTranslation(s)
	return l.kept[s]
}

func newTranslation(s source) *translation {
	t := &translation{decoded: sync.OnceValues(func() (*ptx.Module, error) { return ptx.Parse(s.file, []byte(s.text)) })}
	lowered := func(model *memoryModel) func() ([]*program, error) {
		return sync.OnceValues(func() ([]*program, error) {
			m, err := t.decoded()
			if err != nil {
				return nil, err
			}
			programs := make([]*program, len(m.Entries))
			for i, e := range m.Entries {
				if programs[i], err = lower(m, e, model); err != nil {
					return nil, err
				}
			}
			return programs, nil
		})
	}
	t.sequential, t.weak = lowered(&sequential), lowered(&weakly)
	return t
}
