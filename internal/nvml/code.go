package nvml

import (
	"errors"
	"fmt"
)

// ErrNoNVML is the error of [Open] where there is no NVML to ask: no NVIDIA
// driver is installed or loaded, or this build loads no dynamic libraries.
var ErrNoNVML = errors.New("no NVML")

// Code is an nvmlReturn_t. It is no error itself.
type Code int32

// The codes of NVML.
//
// Source: NVML API reference, enum nvmlReturn_t (nvml.h of CUDA 13).
const (
	Success               Code = 0   // SUCCESS
	Uninitialized         Code = 1   // UNINITIALIZED
	InvalidArgument       Code = 2   // INVALID_ARGUMENT
	NotSupported          Code = 3   // NOT_SUPPORTED
	NoPermission          Code = 4   // NO_PERMISSION
	AlreadyInitialized    Code = 5   // ALREADY_INITIALIZED
	NotFound              Code = 6   // NOT_FOUND
	InsufficientSize      Code = 7   // INSUFFICIENT_SIZE
	InsufficientPower     Code = 8   // INSUFFICIENT_POWER
	DriverNotLoaded       Code = 9   // DRIVER_NOT_LOADED
	Timeout               Code = 10  // TIMEOUT
	IRQIssue              Code = 11  // IRQ_ISSUE
	LibraryNotFound       Code = 12  // LIBRARY_NOT_FOUND
	FunctionNotFound      Code = 13  // FUNCTION_NOT_FOUND
	CorruptedInfoROM      Code = 14  // CORRUPTED_INFOROM
	GPUIsLost             Code = 15  // GPU_IS_LOST
	ResetRequired         Code = 16  // RESET_REQUIRED
	OperatingSystem       Code = 17  // OPERATING_SYSTEM
	LibRMVersionMismatch  Code = 18  // LIB_RM_VERSION_MISMATCH
	InUse                 Code = 19  // IN_USE
	Memory                Code = 20  // MEMORY
	NoData                Code = 21  // NO_DATA
	VGPUECCNotSupported   Code = 22  // VGPU_ECC_NOT_SUPPORTED
	InsufficientResources Code = 23  // INSUFFICIENT_RESOURCES
	FreqNotSupported      Code = 24  // FREQ_NOT_SUPPORTED
	VersionMismatch       Code = 25  // ARGUMENT_VERSION_MISMATCH
	Deprecated            Code = 26  // DEPRECATED
	NotReady              Code = 27  // NOT_READY
	GPUNotFound           Code = 28  // GPU_NOT_FOUND
	InvalidState          Code = 29  // INVALID_STATE
	ResetTypeNotSupported Code = 30  // RESET_TYPE_NOT_SUPPORTED
	Unknown               Code = 999 // UNKNOWN
)

// advice says what to do next, for the codes where there is something.
var advice = map[Code]string{
	NoPermission:         "this process may not use the GPU; see the permissions of /dev/nvidia* and the container's device list",
	DriverNotLoaded:      "load the NVIDIA kernel module (modprobe nvidia), or install the NVIDIA driver",
	GPUIsLost:            "the GPU has fallen off the bus; see dmesg, and reboot",
	ResetRequired:        "reset the GPU (nvidia-smi --gpu-reset) or reboot",
	OperatingSystem:      "the operating system or a control group blocks the GPU's device files",
	LibRMVersionMismatch: "kernel module and libnvidia-ml are of different drivers; reboot, or reload the module",
}

// Error is a call that NVML refused.
type Error struct {
	Call   string // "nvmlDeviceGetHandleByIndex_v2"
	Device int    // NVML's index; -1 if the call names no device
	Code   Code
}

// Error says what was called, for which device, NVML's name for what it
// answered, and what to do next where that is known.
func (e *Error) Error() string {
	where := e.Call
	if e.Device >= 0 {
		where = fmt.Sprintf("%s(device %d)", e.Call, e.Device)
	}
	text := fmt.Sprintf("nvml: %s: %s (%d)", where, e.Code, e.Code)
	if next := advice[e.Code]; next != "" {
		text += ": " + next
	}
	return text
}
