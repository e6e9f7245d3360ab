package cli

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// shut are files that can be looked at only.
type shut struct{ fstest.MapFS }

func (shut) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

func TestBelow(t *testing.T) {
	files := fstest.MapFS{
		"class/net/eth0/speed": {Data: []byte("1000")},
		"class/net/eth1":       {Data: []byte("eth0"), Mode: fs.ModeSymlink},
		"pipe":                 {Mode: fs.ModeNamedPipe},
	}
	b := below{"sys", files}
	data, err := fs.ReadFile(b, "sys/class/net/eth0/speed")
	require.NoError(t, err)
	require.Equal(t, "1000", string(data))
	to, err := fs.ReadLink(b, "sys/class/net/eth1")
	require.NoError(t, err)
	require.Equal(t, "eth0", to)
	info, err := fs.Lstat(b, "sys/class/net/eth1")
	require.NoError(t, err)
	require.Equal(t, fs.ModeSymlink, info.Mode().Type())
	_, err = fs.Stat(b, "proc/cpuinfo")
	require.ErrorIs(t, err, fs.ErrNotExist)

	info, err = fs.Stat(below{"sys", shut{files}}, "sys/pipe")
	require.NoError(t, err, "looked at without opening it")
	require.Equal(t, fs.ModeNamedPipe, info.Mode().Type())
}
