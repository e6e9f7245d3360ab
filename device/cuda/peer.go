package cuda

import (
	"fmt"
	"unsafe"
)

// CanAccessPeer reports whether GPU i can be given access to the memory of GPU j,
// another one. It makes no context and enables nothing.
func (d *Driver) CanAccessPeer(i, j int) (bool, error) {
	var handles [2]int32
	for k, gpu := range []int{i, j} {
		if gpu < 0 || gpu >= len(d.infos) {
			return false, fmt.Errorf("cuda: peer access of GPU %d: there are %d, numbered from 0", gpu, len(d.infos))
		}
		var err error
		if handles[k], err = d.lib.handle(gpu); err != nil {
			return false, err
		}
	}
	var can int32
	rc := d.lib.deviceCanAccessPeer.Call(uintptr(unsafe.Pointer(&can)), uintptr(handles[0]), uintptr(handles[1]))
	return can != 0, d.lib.check("cuDeviceCanAccessPeer", rc, "GPU %d, of GPU %d", i, j)
}
