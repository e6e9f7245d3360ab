package cuda

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math"
	"unsafe"
)

// unknownParams is Function.paramBytes where the driver, older than CUDA 12.4,
// cannot say. A launch with a wrong block is then the driver's to refuse.
const unknownParams = -1

// What a cubin says of a kernel is a list of attributes, each a byte for the
// format, one for the attribute and 16 bits that are the value or, for some
// formats, the length of what follows.
//
// Source: nvdisasm, which prints the section of a kernel with these names and
// numbers.
const (
	attributeSection   = ".nv.info." // followed by the kernel's name
	formatHalf         = 3           // EIFMT_HVAL: a value of 16 bits
	formatSized        = 4           // EIFMT_SVAL: a value of so many bytes
	attributeParamSize = 0x19        // EIATTR_CBANK_PARAM_SIZE
)

// cubinParams returns the size of a kernel's parameter block, or somewhat more,
// as a cubin has it, and whether it does.
func cubinParams(image []byte, kernel string) (size int, ok bool) {
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, false
	}
	section := file.Section(attributeSection + kernel)
	if section == nil {
		return 0, false
	}
	list, err := section.Data()
	if err != nil {
		return 0, false
	}
	for len(list) >= 4 {
		format, attribute, value := list[0], list[1], int(binary.LittleEndian.Uint16(list[2:]))
		list = list[4:]
		switch {
		case format == formatHalf && attribute == attributeParamSize:
			return value, true
		case format == formatSized && value <= len(list):
			list = list[value:]
		case format == formatSized:
			return 0, false
		}
	}
	return 0, false
}

// params returns the size of the kernel's parameter block: where its last
// parameter ends. The driver tells how many parameters there are only by refusing
// the first that there is not, which debuggers report as an error of the program.
// So the cubin says where to stop, if it can.
//
// Preconditions: the device is entered.
func (f *Function) params() (int, error) {
	d := f.module.dev
	if !d.lib.funcGetParamInfo.Bound() {
		return unknownParams, nil
	}
	last, ok := cubinParams(f.module.image, f.name)
	if !ok {
		last = math.MaxInt
	}
	end := 0
	for i := uintptr(0); end < last; i++ {
		var offset, size uint64
		rc := d.lib.funcGetParamInfo.Call(f.handle, i, uintptr(unsafe.Pointer(&offset)), uintptr(unsafe.Pointer(&size)))
		if Code(rc) == invalidValue { // no such parameter
			return end, nil
		}
		if err := d.check("cuFuncGetParamInfo", rc, "GPU %d, parameter %d of %s", d.ordinal, i, f.name); err != nil {
			return 0, err
		}
		end = int(offset + size)
	}
	return end, nil
}
