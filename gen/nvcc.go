package gen

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// nvccFlags are the arguments for every target.
var nvccFlags = []flag{
	{"-x=cu", "the unit is CUDA C++ whatever its name"},
	{"-std=c++17", "the language of the headers"},
	{"-O3", "as clang"},
	{"-fmad=false", "a multiply and an add stay two roundings: the same sum on every GPU"},
	{"-ptx", "PTX, not a cubin: the driver assembles"},
}

// nvcc is the second compiler, for those who have a CUDA toolkit. Its PTX has
// the version of the toolkit, which cannot be chosen, so kernels made with it
// need a driver at least as new.
type nvcc struct {
	path    string
	version string
	verbose func(string)
}

func newNVCC(ctx context.Context, verbose func(string)) (*nvcc, error) {
	path, err := exec.LookPath("nvcc")
	if err != nil {
		return nil, fmt.Errorf("nvcc: %w; it is part of NVIDIA's CUDA toolkit, whose bin folder must be in PATH", exec.ErrNotFound)
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("nvcc --version: %w", err)
	}
	match := nvccVersion.FindSubmatch(out)
	if match == nil {
		return nil, fmt.Errorf("nvcc --version names no release: %q", out)
	}
	return &nvcc{path: path, version: string(match[1]), verbose: verbose}, nil
}

func (c *nvcc) Name() string    { return "nvcc" }
func (c *nvcc) Version() string { return c.version }
func (c *nvcc) PinsPTX() bool   { return false }

// Compile gives nvcc files, since it reads no standard input, in a folder of
// their own.
func (c *nvcc) Compile(ctx context.Context, dir string, unit []byte, t Target) ([]byte, error) {
	scratch, err := os.MkdirTemp("", "nccl-gen-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	source, result := filepath.Join(scratch, "unit.cu"), filepath.Join(scratch, "unit.ptx")
	if err := os.WriteFile(source, unit, 0o644); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, c.path, append(flagsOf("nvcc", t), "-o", result, source)...)
	cmd.Dir = dir
	if _, err := output(cmd, c.verbose); err != nil {
		if strings.Contains(err.Error(), "Unsupported gpu architecture") {
			return nil, fmt.Errorf("nvcc %s makes no kernels for %s: use an older CUDA toolkit (CUDA 12 is the last for sm_70) or clang: %w",
				c.version, t, err)
		}
		return nil, err
	}
	return os.ReadFile(result)
}
