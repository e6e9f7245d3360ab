package doctor

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/hardware"
	"github.com/ncclgo/ncclgo/device"
	"github.com/ncclgo/ncclgo/device/cuda"
	"github.com/ncclgo/ncclgo/internal/golden"
	"github.com/ncclgo/ncclgo/internal/nvml"
)

// settle replaces what depends on the machine and the build.
func settle(r *Report) *Report {
	r.Build = Build{Module: "v0.2.0", Go: "go1.26", Target: "linux/amd64", Kernels: 60, SMs: []int{70}}
	r.Limits.Memlock, r.Limits.SharedBytes = 64<<10, 64<<20
	return r
}

func noVariables(string) (string, bool) { return "", false }

func absent(string) (string, error) { return "", exec.ErrNotFound }

func (r *Report) text(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, r.WriteText(&out))
	return out.Bytes()
}

// A machine without a driver gets the advice that it needs, and the PTX machine.
func TestNoDriver(t *testing.T) {
	r := settle(Examine(&Host{
		OpenCUDA: func() (*cuda.Driver, error) { return nil, cuda.ErrNoDriver },
		OpenNVML: func() (nvml.API, error) { return nil, nvml.ErrNoNVML },
		Cache:    cuda.CacheConfig{Off: true}, Getenv: noVariables, LookPath: absent, Files: fstest.MapFS{},
	}))
	require.Equal(t, "sim", r.Device)
	golden.Check(t, "nccl-run/doctor_no_driver.txt", r.text(t))
	var out bytes.Buffer
	require.NoError(t, r.Write(&out))
	golden.Check(t, "nccl-run/doctor_no_driver.json", out.Bytes())
	back, err := Decode(&out)
	require.NoError(t, err)
	require.Equal(t, r, back)
}

type cards []device.Info

func (c cards) Infos() []device.Info                 { return c }
func (c cards) CanAccessPeer(_, _ int) (bool, error) { return true, nil }

// h200x2 is a machine with two H200 behind hidden NVSwitches.
func h200x2(t *testing.T) *Report {
	t.Helper()
	const links = `"nvlinks":[{"link":0,"state":1,"remotePci":"ffffffff:ff:ff.0"},{"link":1,"state":1,"remotePci":"ffffffff:ff:ff.0"}]`
	s, err := nvml.ReadSnapshot(strings.NewReader(`{"version":1,"driver":"580.159.04","nvml":"13.580.159.04","devices":[
		{"index":0,"busId":"00000000:00:06.0","computeCapability":[9,0],` + links + `,"p2p":{"1":{"read":"OK","write":"OK","nvlink":"OK"}}},
		{"index":1,"busId":"00000000:00:07.0","computeCapability":[9,0],` + links + `,"p2p":{"0":{"read":"OK","write":"OK","nvlink":"OK"}}}]}`))
	require.NoError(t, err)
	h200 := device.Info{Name: "NVIDIA H200", SM: 90, NumSMs: 132, MemoryBytes: 150_000_000_000}
	one, two := h200, h200
	one.BusID, two.BusID = "0000:00:06.0", "0000:00:07.0"
	inv, err := hardware.Take(cards{one, two}, func() (nvml.API, error) { return s.Replay(), nil }, fstest.MapFS{})
	require.NoError(t, err)
	r := settle(&Report{Format: formatName, Version: Version, Device: "cuda", Driver: Driver{CUDA: 13000, Connections: 8}})
	r.Cache = Cache{Dir: "/home/me/.cache/ncclgo", Entries: 60, Bytes: 450 << 10, MaxBytes: 256 << 20}
	r.Clang = "/usr/bin/clang-19"
	r.inventory(inv)
	r.topology(inv, &Host{Files: fstest.MapFS{}, Getenv: noVariables})
	r.Advice = advise(r, nil)
	return r
}

func TestGPUs(t *testing.T) {
	r := h200x2(t)
	require.Empty(t, r.Advice)
	golden.Check(t, "nccl-run/doctor_h200x2.txt", r.text(t))
}

// Each thing that is missing has its advice.
func TestAdvice(t *testing.T) {
	tests := map[string]struct {
		change   func(*Report)
		noDriver error
		missing  string
		do       string
	}{
		"no driver":      {func(*Report) {}, cuda.ErrNoDriver, "CUDA driver", "install the NVIDIA driver, R520"},
		"no GPU":         {func(*Report) {}, cuda.ErrNoDevice, "GPU", "CUDA_VISIBLE_DEVICES"},
		"old driver":     {func(*Report) {}, &cuda.OldDriverError{Version: 11040}, "newer CUDA driver", "R520"},
		"ill driver":     {func(*Report) {}, errors.New("cuInit: CUDA_ERROR_UNKNOWN"), "working CUDA driver", "dmesg"},
		"busy GPU":       {func(r *Report) { r.GPUs[1].Problem = "exclusive" }, nil, "use of GPU 1", "CUDA_VISIBLE_DEVICES"},
		"MIG":            {func(r *Report) { r.GPUs[0].MIG = true }, nil, "whole GPU 0", "nvidia-smi -mig 0"},
		"no peer access": {func(r *Report) { r.GPUs[0].Peer[1] = false }, nil, "peer access of GPUs 0-1", "ACS"},
		"no NVML":        {func(r *Report) { r.NVML.Problem = "absent" }, nil, "NVML", "NVIDIA_DRIVER_CAPABILITIES=utility"},
		"no topology":    {func(r *Report) { r.Topology.Problem = "odd" }, nil, "topology", "NCCL_TOPO_DUMP_FILE"},
		"no cache":       {func(r *Report) { r.Cache.Problem = "a file" }, nil, "place to keep assembled kernels", "XDG_CACHE_HOME"},
		"cold cache":     {func(r *Report) { r.Cache.Entries = 0 }, nil, "assembled kernels", "nccl-run warm"},
		"lazy loading": {func(r *Report) {
			r.Limits.Variables = []Pair{{"CUDA_MODULE_LOADING", "LAZY"}}
		}, nil, "eager loading", "unset it"},
		"blocking": {func(r *Report) {
			r.Limits.Variables = []Pair{{"CUDA_LAUNCH_BLOCKING", "1"}}
		}, nil, "asynchronous launches", "unset it"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := h200x2(t)
			tt.change(r)
			r.Advice = advise(r, tt.noDriver)
			require.Len(t, r.Advice, 1)
			require.Equal(t, tt.missing, r.Advice[0].Missing)
			require.Contains(t, r.Advice[0].Do, tt.do)
			require.Contains(t, string(r.text(t)), "missing: "+tt.missing+"\n")
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	var good bytes.Buffer
	require.NoError(t, h200x2(t).Write(&good))
	edit := func(old, new string) string {
		require.Contains(t, good.String(), old)
		return strings.Replace(good.String(), old, new, 1)
	}
	for text, want := range map[string]string{
		"":                                   "it is empty",
		edit(`"version": 1`, `"version": 2`): "version 2;",
		edit(formatName, "another"):          `it is "another"`,
		edit(`"device"`, `"devices"`):        "devices",
		good.String() + good.String():        "something follows",
	} {
		_, err := Decode(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

func TestSizeText(t *testing.T) {
	require.Equal(t, []string{"0 B", "1023 B", "1 KiB", "1.5 MiB", "139.7 GiB", "none"},
		[]string{sizeText(0, ""), sizeText(1023, ""), sizeText(1024, ""), sizeText(3<<19, ""), sizeText(150_000_000_000, ""), sizeText(-1, "none")})
}
