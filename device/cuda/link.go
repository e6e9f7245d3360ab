package cuda

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/ncclgo/ncclgo/internal/dl"
)

// Source: CUDA driver API, CU_JIT_ERROR_LOG_BUFFER,
// CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES and CU_JIT_INPUT_PTX.
const (
	jitErrorLog      = 5
	jitErrorLogBytes = 6
	jitInputPTX      = 1
)

const logBytes = 16 << 10

// linkOptions names the options that change what is assembled: none. It is part
// of what kept cubins are found by.
const linkOptions = ""

// linking is what the driver is given and gives while it assembles. It lies on
// the heap and is kept until the link is destroyed, for the driver writes to it
// until then.
type linking struct {
	options [2]uint32
	values  [2]uintptr
	log     [logBytes]byte
	state   uintptr
	cubin   uintptr
	size    uintptr
}

// Assemble turns PTX text into a cubin for the device. name appears in errors in
// place of a file name. It does not wait for the device, and calls from several
// goroutines run side by side.
func (d *Device) Assemble(name string, ptx []byte) ([]byte, error) {
	if len(bytes.TrimSpace(ptx)) == 0 {
		return nil, fmt.Errorf("cuda: GPU %d: assemble %s: the text is empty", d.ordinal, name)
	}
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	l := &linking{}
	defer runtime.KeepAlive(l)
	l.options = [2]uint32{jitErrorLog, jitErrorLogBytes}
	l.values = [2]uintptr{uintptr(unsafe.Pointer(&l.log)), logBytes}
	rc := d.lib.linkCreate.Call(uintptr(len(l.options)), uintptr(unsafe.Pointer(&l.options)),
		uintptr(unsafe.Pointer(&l.values)), uintptr(unsafe.Pointer(&l.state)))
	if err := d.check("cuLinkCreate", rc, "GPU %d, for %s", d.ordinal, name); err != nil {
		return nil, err
	}
	defer d.lib.linkDestroy.Call(l.state)

	text, file := terminated(ptx), terminated([]byte(name))
	rc = d.lib.linkAddData.Call(l.state, jitInputPTX, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)),
		uintptr(unsafe.Pointer(&file[0])), 0, 0, 0)
	if err := d.checkLink("cuLinkAddData", rc, name, l); err != nil {
		return nil, err
	}
	rc = d.lib.linkComplete.Call(l.state, uintptr(unsafe.Pointer(&l.cubin)), uintptr(unsafe.Pointer(&l.size)))
	if err := d.checkLink("cuLinkComplete", rc, name, l); err != nil {
		return nil, err
	}
	return bytes.Clone(dl.Bytes(l.cubin, int(l.size))), nil
}

// checkLink is check with the assembler's log.
func (d *Device) checkLink(call string, rc uintptr, name string, l *linking) error {
	err := d.check(call, rc, "GPU %d, %s", d.ordinal, name)
	if e, ok := err.(*Error); ok && e != d.first.Load() {
		e.Detail = strings.ReplaceAll(strings.TrimSpace(text(l.log[:])), "\n", "\n  ")
	}
	return err
}

// terminated returns b as a C string.
func terminated(b []byte) []byte { return append(slices.Clip(b), 0) }
