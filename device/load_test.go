package device_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/device"
)

// oneByOne is a Device that loads a module at a time; text "bad" is refused.
type oneByOne struct {
	device.Device
	asked, loaded int
}

type oneModule struct {
	device.Module
	dev  *oneByOne
	name string
}

func (d *oneByOne) LoadModule(name string, text []byte) (device.Module, error) {
	d.asked++
	if string(text) == "bad" {
		return nil, errors.New(name + " is bad")
	}
	d.loaded++
	return &oneModule{dev: d, name: name}, nil
}

func (m *oneModule) Unload() error {
	m.dev.loaded--
	return nil
}

func sources(texts ...string) []device.Source {
	var all []device.Source
	for i, text := range texts {
		all = append(all, device.Source{Name: string(rune('a' + i)), PTX: []byte(text)})
	}
	return all
}

func TestLoadModulesOneByOne(t *testing.T) {
	d := &oneByOne{}
	var steps [][2]int
	modules, err := device.LoadModules(t.Context(), d, sources("1", "2", "3"), func(done, total int) {
		steps = append(steps, [2]int{done, total})
	})
	require.NoError(t, err)
	require.Len(t, modules, 3)
	for i, m := range modules {
		require.Equal(t, string(rune('a'+i)), m.(*oneModule).name)
	}
	require.Equal(t, [][2]int{{1, 3}, {2, 3}, {3, 3}}, steps)

	modules, err = device.LoadModules(t.Context(), d, nil, nil)
	require.NoError(t, err)
	require.Empty(t, modules)
}

func TestLoadModulesAllOrNone(t *testing.T) {
	d := &oneByOne{}
	modules, err := device.LoadModules(t.Context(), d, sources("1", "bad", "2", "bad"), nil)
	require.Nil(t, modules)
	require.EqualError(t, err, "b is bad\nd is bad")
	require.Equal(t, 4, d.asked)
	require.Zero(t, d.loaded)
}

func TestLoadModulesIsCancelled(t *testing.T) {
	d := &oneByOne{}
	ctx, cancel := context.WithCancel(t.Context())
	modules, err := device.LoadModules(ctx, d, sources("1", "2", "3"), func(int, int) { cancel() })
	require.Nil(t, modules)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, d.asked)
	require.Zero(t, d.loaded)
}

// all is a Device that loads modules together.
type all struct {
	device.Device
	got int
}

func (d *all) LoadModules(_ context.Context, sources []device.Source, progress device.Progress) ([]device.Module, error) {
	d.got = len(sources)
	progress(1, 1)
	return make([]device.Module, len(sources)), nil
}

func TestLoadModulesTogether(t *testing.T) {
	d, told := &all{}, false
	modules, err := device.LoadModules(t.Context(), d, sources("1", "2"), func(int, int) { told = true })
	require.NoError(t, err)
	require.Len(t, modules, 2)
	require.Equal(t, 2, d.got)
	require.True(t, told)
}
