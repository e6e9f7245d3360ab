package cuda

import (
	"fmt"
	"sync"
	"time"

	"github.com/ncclgo/ncclgo/internal/dl"
)

// The least that works: the kernels are PTX 7.8, and launches carry attributes.
//
// Source: CUDA 11.8 release notes (driver R520 is its least, PTX ISA 7.8 its
// newest); CUDA driver API, cuLaunchKernelEx.
const (
	leastVersion = 11_080
	leastDriver  = "R520"
	leastSM      = 70
)

// library is libcuda with its functions.
type library struct {
	*dl.Library
	version  int // 1000 x major + 10 x minor, of the newest CUDA it supports
	loadTime time.Duration

	mu sync.Mutex
	// What follows is guarded by mu.
	initialized bool
	connections int // hardware queues of a context, once initialized
	initTime    time.Duration

	driverGetVersion, init, getErrorName, getErrorString dl.Proc

	deviceGet, deviceGetCount, deviceGetName, deviceGetAttribute dl.Proc
	deviceTotalMem, deviceGetPCIBusID, deviceCanAccessPeer       dl.Proc
	primaryCtxRetain, primaryCtxRelease                          dl.Proc
	ctxSetCurrent, ctxEnablePeerAccess                           dl.Proc

	memAlloc, memFree, memHostAlloc, memFreeHost          dl.Proc
	memcpyAsync, memcpyHtoDAsync, memcpyDtoHAsync, memset dl.Proc
	pointerGetAttribute                                   dl.Proc

	streamCreate, streamDestroy, streamQuery, streamSynchronize        dl.Proc
	streamWaitEvent, streamGetCtx                                      dl.Proc
	eventCreate, eventDestroy, eventRecord, eventQuery                 dl.Proc
	eventElapsedTime                                                   dl.Proc
	streamBeginCapture, streamEndCapture, streamCaptureInfo            dl.Proc
	eventRecordFlags                                                   dl.Proc
	graphAddEventRecord, graphAddDependencies, graphRemoveDependencies dl.Proc
	graphInstantiate, graphDestroy, graphExecDestroy, graphLaunch      dl.Proc
	linkCreate, linkAddData, linkComplete, linkDestroy                 dl.Proc
	moduleLoadData, moduleUnload, moduleGetFunction, funcGetAttribute  dl.Proc
	funcGetParamInfo                                                   dl.Proc // bound or not
	maxActiveBlocks, launchKernelEx                                    dl.Proc
}

// identity lists what must be there to ask which driver this is.
func (l *library) identity() []dl.Symbol {
	return []dl.Symbol{
		{Name: "cuDriverGetVersion", Proc: &l.driverGetVersion},
		{Name: "cuGetErrorName", Proc: &l.getErrorName},
		{Name: "cuGetErrorString", Proc: &l.getErrorString},
	}
}

// functions lists the rest. Names are those of the library, with the version
// suffix that the header's macros hide. Since is left out where every driver
// from R520 on must have the function.
//
// Source: CUDA driver API, cuda.h.
func (l *library) functions() []dl.Symbol {
	return []dl.Symbol{
		{Name: "cuInit", Proc: &l.init},

		{Name: "cuDeviceGet", Proc: &l.deviceGet},
		{Name: "cuDeviceGetCount", Proc: &l.deviceGetCount},
		{Name: "cuDeviceGetName", Proc: &l.deviceGetName},
		{Name: "cuDeviceGetAttribute", Proc: &l.deviceGetAttribute},
		{Name: "cuDeviceTotalMem_v2", Proc: &l.deviceTotalMem},
		{Name: "cuDeviceGetPCIBusId", Proc: &l.deviceGetPCIBusID},
		{Name: "cuDeviceCanAccessPeer", Proc: &l.deviceCanAccessPeer},
		{Name: "cuDevicePrimaryCtxRetain", Proc: &l.primaryCtxRetain},
		{Name: "cuDevicePrimaryCtxRelease_v2", Proc: &l.primaryCtxRelease, Since: "CUDA 11.0"},
		{Name: "cuCtxSetCurrent", Proc: &l.ctxSetCurrent},
		{Name: "cuCtxEnablePeerAccess", Proc: &l.ctxEnablePeerAccess},

		{Name: "cuMemAlloc_v2", Proc: &l.memAlloc},
		{Name: "cuMemFree_v2", Proc: &l.memFree},
		{Name: "cuMemHostAlloc", Proc: &l.memHostAlloc},
		{Name: "cuMemFreeHost", Proc: &l.memFreeHost},
		{Name: "cuMemcpyAsync", Proc: &l.memcpyAsync},
		{Name: "cuMemcpyHtoDAsync_v2", Proc: &l.memcpyHtoDAsync},
		{Name: "cuMemcpyDtoHAsync_v2", Proc: &l.memcpyDtoHAsync},
		{Name: "cuMemsetD8Async", Proc: &l.memset},
		{Name: "cuPointerGetAttribute", Proc: &l.pointerGetAttribute},

		{Name: "cuStreamCreate", Proc: &l.streamCreate},
		{Name: "cuStreamDestroy_v2", Proc: &l.streamDestroy},
		{Name: "cuStreamQuery", Proc: &l.streamQuery},
		{Name: "cuStreamSynchronize", Proc: &l.streamSynchronize},
		{Name: "cuStreamWaitEvent", Proc: &l.streamWaitEvent},
		{Name: "cuStreamGetCtx", Proc: &l.streamGetCtx, Since: "CUDA 9.2"},
		{Name: "cuEventCreate", Proc: &l.eventCreate},
		{Name: "cuEventDestroy_v2", Proc: &l.eventDestroy},
		{Name: "cuEventRecord", Proc: &l.eventRecord},
		{Name: "cuEventRecordWithFlags", Proc: &l.eventRecordFlags, Since: "CUDA 11.1"},
		{Name: "cuEventQuery", Proc: &l.eventQuery},
		{Name: "cuEventElapsedTime", Proc: &l.eventElapsedTime},

		{Name: "cuStreamBeginCapture_v2", Proc: &l.streamBeginCapture, Since: "CUDA 10.1"},
		{Name: "cuStreamEndCapture", Proc: &l.streamEndCapture, Since: "CUDA 10.0"},
		{Name: "cuStreamGetCaptureInfo_v2", Proc: &l.streamCaptureInfo, Since: "CUDA 11.3"},
		{Name: "cuGraphAddEventRecordNode", Proc: &l.graphAddEventRecord, Since: "CUDA 11.1"},
		{Name: "cuGraphAddDependencies", Proc: &l.graphAddDependencies, Since: "CUDA 10.0"},
		{Name: "cuGraphRemoveDependencies", Proc: &l.graphRemoveDependencies, Since: "CUDA 10.0"},
		{Name: "cuGraphInstantiateWithFlags", Proc: &l.graphInstantiate, Since: "CUDA 11.4"},
		{Name: "cuGraphDestroy", Proc: &l.graphDestroy, Since: "CUDA 10.0"},
		{Name: "cuGraphExecDestroy", Proc: &l.graphExecDestroy, Since: "CUDA 10.0"},
		{Name: "cuGraphLaunch", Proc: &l.graphLaunch, Since: "CUDA 10.0"},

		{Name: "cuLinkCreate_v2", Proc: &l.linkCreate},
		{Name: "cuLinkAddData_v2", Proc: &l.linkAddData},
		{Name: "cuLinkComplete", Proc: &l.linkComplete},
		{Name: "cuLinkDestroy", Proc: &l.linkDestroy},
		{Name: "cuModuleLoadData", Proc: &l.moduleLoadData},
		{Name: "cuModuleUnload", Proc: &l.moduleUnload},
		{Name: "cuModuleGetFunction", Proc: &l.moduleGetFunction},
		{Name: "cuFuncGetAttribute", Proc: &l.funcGetAttribute},
		{Name: "cuFuncGetParamInfo", Proc: &l.funcGetParamInfo, Optional: true, Since: "CUDA 12.4"},
		{Name: "cuOccupancyMaxActiveBlocksPerMultiprocessor", Proc: &l.maxActiveBlocks},
		{Name: "cuLaunchKernelEx", Proc: &l.launchKernelEx, Since: "CUDA 11.8"},
	}
}

// processLibrary is the driver of this process.
var processLibrary = sync.OnceValues(func() (*library, error) { return load("libcuda.so.1") })

// load opens a driver library and binds its functions. It initializes nothing.
func load(name string) (*library, error) {
	began := time.Now()
	opened, err := dl.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cuda: %w: %w; install the NVIDIA driver, %s or later, or run on the PTX machine", ErrNoDriver, err, leastDriver)
	}
	l := &library{Library: opened}
	if err := l.Bind(l.identity()); err != nil {
		return nil, fmt.Errorf("cuda: %w: %w; this is no CUDA driver", ErrNoDriver, err)
	}
	if l.version, err = l.number(l.driverGetVersion, "cuDriverGetVersion"); err != nil {
		return nil, err
	}
	if l.version < leastVersion {
		return nil, &OldDriverError{Version: l.version}
	}
	if err := l.Bind(l.functions()); err != nil {
		return nil, fmt.Errorf("cuda: the driver of CUDA %s: %w; reinstall the NVIDIA driver", versionText(l.version), err)
	}
	l.loadTime = time.Since(began)
	return l, nil
}

// versionText writes a driver version as CUDA's documents do: "11.8".
func versionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// initialize starts the driver, the first time, in an environment made by cfg.
func (l *library) initialize(cfg Config) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.initialized {
		if cfg.MaxConnections > l.connections {
			return fmt.Errorf("cuda: Config.MaxConnections is %d, but the driver was started with %d; open it with the largest number first, or set CUDA_DEVICE_MAX_CONNECTIONS",
				cfg.MaxConnections, l.connections)
		}
		return nil
	}
	connections, err := setEnvironment(cfg)
	if err != nil {
		return err
	}
	began := time.Now()
	if rc := Code(l.init.Call(0)); rc != success {
		err := l.newError("cuInit", rc, "")
		if rc == noDevice {
			return fmt.Errorf("cuda: %w: %w", ErrNoDevice, err)
		}
		return err
	}
	l.initialized, l.connections, l.initTime = true, connections, time.Since(began)
	return nil
}
