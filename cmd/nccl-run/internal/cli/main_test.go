package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/internal/golden"
)

// command runs a command line and returns what it left.
func command(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = Main(context.Background(), &Process{Args: args, Stdout: &out, Stderr: &err})
	return status, out.String(), err.String()
}

func TestHelp(t *testing.T) {
	for name, args := range map[string][]string{
		"help.txt":              {"-h"},
		"help_all_reduce.txt":   {"all-reduce", "-h"},
		"help_doctor.txt":       {"doctor", "-h"},
		"help_explain.txt":      {"explain", "-h"},
		"help_graph.txt":        {"graph", "-h"},
		"help_litmus.txt":       {"litmus", "-h"},
		"help_topo.txt":         {"topo", "-h"},
		"help_capture.txt":      {"topo", "capture", "-h"},
		"help_warm.txt":         {"warm", "-h"},
		"help_p2p_schedule.txt": {"p2p-schedule", "-h"},
	} {
		status, stdout, stderr := command(args...)
		require.Equal(t, StatusRight, status)
		require.Empty(t, stderr)
		golden.Check(t, "nccl-run/"+name, []byte(stdout))
		for line := range strings.Lines(stdout) {
			require.LessOrEqual(t, len(line), 100, line)
		}
	}
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A table that cannot be written is a failure, whatever is in it.
func TestStandardOutputFails(t *testing.T) {
	for _, args := range []string{
		"all-reduce -g 2 -b 4 -e 4", "all-reduce -g 2 -b 4 -e 4 --json",
		"litmus --run mp --runs 1", "litmus --run mp --runs 1 --json", "litmus --show mp",
	} {
		var stderr bytes.Buffer
		status := Main(t.Context(), &Process{Args: strings.Fields(args), Stdout: full{}, Stderr: &stderr})
		require.Equal(t, StatusFailed, status, args)
		require.Contains(t, stderr.String(), "no space left", args)
	}
}

func TestHelpWithoutArguments(t *testing.T) {
	status, stdout, _ := command()
	require.Equal(t, StatusRight, status)
	require.Equal(t, rootHelp, stdout)
}

// Every request that cannot be served is refused with one line on standard
// error and status 2, before anything runs.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		return path
	}
	pipe, writer, err := os.Pipe()
	require.NoError(t, err)
	defer func() {
		require.NoError(t, errors.Join(pipe.Close(), writer.Close()))
	}()
	tests := []struct {
		args string // after all-reduce, unless it begins with a bar
		want string
	}{
		{"| all-gather", "AllGather: not in this build"},
		{"| broadcast_perf", "Broadcast: not in this build"},
		{"| AllReduce", `unknown command "AllReduce"; did you mean "all-reduce"?`},
		{"| all-redoce", `unknown command "all-redoce"; did you mean "all-reduce"? (allowed: all-reduce doctor explain graph litmus p2p-schedule topo warm)`},
		{"| -g 2", "name the collective first"},
		{"extra", `"extra": all-reduce takes flags only`},

		{"--lolo", "unknown flag --lolo (allowed: --nthreads --ngpus"},
		{"--rot 2", "unknown flag --rot; did you mean --root? "},
		{"-q", "-G -J -r -N -p -y -T -C -S -a -R -x -D -V -M -I -K)"},
		{"--ngpu 2", "unknown flag --ngpu; did you mean --ngpus? (allowed: --nthreads --ngpus"},
		{"-q", "unknown flag -q (allowed: -t -g"},
		{"-g", "-g (--ngpus): needs a value"},
		{"-g two", `-g (--ngpus): "two" is not a whole number`},
		{"-g 0", "-g (--ngpus): 0 is out of range; the smallest is 1"},
		{"-g -1", "-1 is out of range; the smallest is 1"},
		{"-n 99999999999", "99999999999 is out of range; the largest is 2147483647"},
		{"--schedules 99999999999999999999", "is out of range; the largest is 2147483647"},
		{"-n -99999999999999999999", "is out of range; the smallest is 1"},
		{"-t 0", "-t (--nthreads): 0 is out of range"},
		{"-g 9", "9 GPUs (-t 1 times -g 9) are more than the 8 of topology dgx-h100"},
		{"-t 3 -g 3", "9 GPUs (-t 3 times -g 3)"},
		{"-n 0", "-n (--iters): 0 is out of range"},
		{"-z 4", "-z (--blocking): 4 is out of range; allowed are 0 to 3"},

		{"-b 1Q", `-b (--minbytes): "1Q" is not a size`},
		{"-b -1", "is not a size"},
		{"-e 1e3", "is not a size"},
		{"-e 9999999999999999999G", "is too large"},
		{"-b 1M -e 1K", "minbytes (-b) 1048576 is above maxbytes (-e) 1024"},
		{"-b 20G", "maxbytes (-e) 21474836480 is too large: here 8 ranks may have buffers of up to"},
		{"-b 4 -e 8 -i 0", "stepbytes (-i) 0 never reaches maxbytes"},
		{"-b 0 -e 8 -f 2", "minbytes (-b) 0 times stepfactor (-f) 2 never grows"},

		{"-d flaot", `-d (--datatype): unknown type "flaot"; did you mean "float"? (allowed: int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2 i8 u8 i32 u32 i64 u64 f16 f32 f64 bf16 all)`},
		{"-o som", `-o (--op): unknown op "som"; did you mean "sum"? (allowed: sum prod max min avg mulsum all)`},
		{"--proto LL12", `--proto: unknown protocol "LL12"; did you mean "LL128"? (allowed: LL LL128 Simple all auto)`},
		{"--algo Rinf", `--algo: unknown algorithm "Rinf"; did you mean "Ring"?`},
		{"--algo Tree", "float sum: Tree: not in this build; possible: Ring LL, Ring LL128, Ring Simple"},
		{"--proto LL128 --topo pcie8 -g 2", "float sum: LL128 needs NVLink between neighbours, the channels have PIX; choose LL, Simple or auto"},
		{"--proto LL128 --algo Tree", "float sum: Tree with LL128: not in this build; possible: Ring LL, Ring LL128, Ring Simple"},
		{"-d f8e4m3 --topo dgx-a100", "f8e4m3 sum: f8e4m3 reductions need compute capability 9.0; GPU 0 is sm_80"},
		{"--device cud", `--device: unknown device "cud"; did you mean "cuda"? (allowed: auto cuda sim)`},
		{"--device cuda", "--device cuda: no CUDA driver; nccl-run doctor says what to do"},
		{"--channels 65", "--channels: 65 is out of range; allowed are 0 to 64"},
		{"--trace=maybe", `--trace: unknown value "maybe" (allowed: true false)`},
		{"-b 0 -e 100M -i 1", "stepbytes (-i) 1 makes 104857601 sizes of minbytes (-b) 0 to maxbytes (-e) 104857600; at most 1048576 are allowed"},
		{"--json " + filepath.Join(dir, "none", "report.json"), "--json: open "},
		{"--json " + dir, "is a directory"},
		{"--seed -1", `--seed: "-1" is not a whole number`},
		{"--schedules 0", "--schedules: 0 is out of range"},
		{"--plant-hang 8", "rank 8 cannot hang: there are ranks 0 to 7"},
		{"--plant-hang 0 -g 1", "--plant-hang 0: nobody waits for an only rank"},
		{"--plant-hang 1 -g 2 -b 0 -e 0", "--plant-hang 1: operations without elements launch nothing to wait for"},
		{"--plant-hang 1 -g 2 -b 0 -e 3 -i 1", "--plant-hang 1: operations without elements"},

		{"--topo dgx-h10", `--topo: unknown topology "dgx-h10"; did you mean "dgx-h100"?`},
		{"--topo " + filepath.Join(dir, "none.xml"), "none.xml"},
		{"--topo /dev/zero", "/dev/zero is a device; a regular file is allowed"},
		{"--topo " + dir + "/", "is a directory; a regular file is allowed"},
		{fmt.Sprint("--topo /dev/fd/", pipe.Fd()), " is a pipe; a regular file is allowed"},
		{"--topo " + file("large.xml", strings.Repeat(" ", 16<<20+1)), " has more than 16777216 bytes"},
		{"--topo " + file("text.xml", "not xml\n"), "text.xml:1:1: "},
		{"--topo " + file("cut.xml", "<system version=\"1\">\n  <cpu numaid=\"0\""), "cut.xml:2:"},
		{"--topo " + file("empty.xml", `<system version="1"/>`), "empty.xml"},
		{"--topo " + file("old.xml", gpuXML("61")), "rank 0: sm_61 is older than sm_70, the oldest GPU that the PTX machine simulates"},

		{"-G 2 -z 1", "blocking (-z) 1 with cudagraph (-G) 2"},
		{"--ranks-per-gpu 0", "--ranks-per-gpu: 0 is out of range; the smallest is 1"},
		{"--ranks-per-gpu 600 -g 1 -b 4 -e 4", "132 SMs hold 3 CTAs each of 600 ranks"},
		{"--vs libnccl.so.2", "--vs libnccl.so.2: NCCL needs GPUs; use --device cuda, or leave --vs out"},
		{"--vs libnccl.so.2 --ranks-per-gpu 2", "--vs with --ranks-per-gpu 2: NCCL refuses several ranks on one GPU"},
		{"--vs libnccl.so.2 -z 3", "--vs with blocking (-z) 3"},
		{"--startup=perhaps", `--startup: unknown value "perhaps"`},
		{"-y 1", "-y (--stream_null): the default stream: not in this build; only the default, 0, is accepted"},
		{"| doctor extra", `"extra": doctor takes flags only`},
		{"| doctor --jsn", "unknown flag --jsn; did you mean --json? (allowed: --json)"},
		{"| litmus extra", `"extra": litmus takes flags only`},
		{"| litmus --run mq*", "--run mq*: no litmus test has such a name; there are mp "},
		{"| litmus --run [", "syntax error in pattern; a pattern has names, *, ? and [sets]"},
		{"| litmus --facts H4", `--facts: unknown facts "H4" (allowed: none H1 H2 H1+H2 H3 `},
		{"| litmus --run sb --facts H1", "--facts H1: no case of --run sb has exactly these; leave --facts out"},
		{"| litmus --show sbb", `--show: unknown test "sbb"; did you mean "sb"?`},
		{"| litmus --runs 0", "--runs: 0 is out of range; the smallest is 1"},
		{"| litmus --runs 5 --limit 4", "--limit 4 is below --runs 5"},
		{"| litmus --seed x", "--seed: \"x\" is not a whole number"},
		{"| litmus --json " + dir, "is a directory"},
		{"| warm", "kernels are assembled by the driver for its GPUs, and here: no CUDA driver; nccl-run doctor says more"},
		{"| warm --kernels AllGather*", "--kernels AllGather*: none of the "},
		{"| warm --kernels [", "syntax error in pattern; a pattern has names, *, ? and [sets]"},
		{"| warm --kernels", "--kernels: needs a value"},
		{"--local_register 2", "-R (--local_register): buffer registration: not in this build"},
		{"-x 1", "-x (--cta_policy): a CTA policy: not in this build; leave the flag out"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			args := append([]string{"all-reduce"}, strings.Fields(tt.args)...)
			if rest, ok := strings.CutPrefix(tt.args, "| "); ok {
				args = strings.Fields(rest)
			}
			status, stdout, stderr := command(args...)
			require.Equal(t, StatusRefused, status, stderr)
			require.Empty(t, stdout)
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			require.True(t, strings.HasPrefix(stderr, "nccl-run: "), stderr)
			require.Contains(t, stderr, tt.want)
		})
	}
}

// A request that is refused, by the environment too, leaves no file and no header.
func TestRefusalLeavesFiles(t *testing.T) {
	for _, exists := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "report.json")
		if exists {
			require.NoError(t, os.WriteFile(path, []byte("before"), 0o644))
		}
		var out, err bytes.Buffer
		status := Main(context.Background(), &Process{
			Args:    []string{"all-reduce", "-g", "2", "-b", "4", "-e", "4", "--json", path},
			Environ: []string{"NCCL_ALGO=Tree"}, Stdout: &out, Stderr: &err,
		})
		require.Equal(t, StatusRefused, status)
		require.Empty(t, out.String())
		require.Contains(t, err.String(), "float sum: ")
		require.Contains(t, err.String(), "with NCCL_ALGO=Tree: op sum: Sum of f32 with Tree (NCCL_ALGO) and any protocol: not in this build; possible: Ring LL, Ring LL128, Ring Simple; --algo and --proto win over variables")
		if exists {
			held, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, "before", string(held))
		} else {
			require.NoFileExists(t, path)
		}
	}
}

// gpuXML is a topology with one GPU of the given compute capability.
func gpuXML(sm string) string {
	return `<system version="1">
  <cpu host_hash="0x1" numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:1b:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="` + sm + `" rank="0" gdr="1"/>
    </pci>
  </cpu>
</system>
`
}

// cancelAtTable is standard output that ends the run's context a moment after
// the table's header.
type cancelAtTable struct {
	bytes.Buffer
	cancel func()
}

func (c *cancelAtTable) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("(elements)")) {
		time.AfterFunc(20*time.Millisecond, c.cancel)
	}
	return c.Buffer.Write(p)
}

// Ctrl-C ends a run at once, aborting what is under way.
func TestInterrupt(t *testing.T) {
	for _, blocking := range []string{"0", "2"} {
		ctx, cancel := context.WithCancel(context.Background())
		out := &cancelAtTable{cancel: cancel}
		var err bytes.Buffer
		status := Main(ctx, &Process{
			Args:   []string{"all-reduce", "-g", "2", "-b", "4K", "-e", "4K", "-n", "1000000", "-z", blocking},
			Stdout: out, Stderr: &err,
		})
		cancel()
		require.Equal(t, StatusFailed, status)
		require.Contains(t, err.String(), "nccl-run: interrupted")
		require.Contains(t, out.String(), "# error: interrupted")
		require.NotContains(t, out.String(), "Out of bounds")
	}
}

// However much one group is to hold, an interrupt is heeded.
func TestInterruptWhileEnqueueing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	out := &cancelAtTable{cancel: cancel}
	var err bytes.Buffer
	began := time.Now()
	status := Main(ctx, &Process{
		Args:   []string{"all-reduce", "-g", "2", "-b", "1K", "-e", "1K", "-m", "1000000"},
		Stdout: out, Stderr: &err,
	})
	cancel()
	require.Equal(t, StatusFailed, status)
	require.Contains(t, out.String(), "# error: interrupted")
	require.Less(t, time.Since(began), 5*time.Second)
}

// Nothing begins when the context has ended before.
func TestInterruptedBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, err bytes.Buffer
	require.Equal(t, StatusFailed, Main(ctx, &Process{Args: []string{"all-reduce", "-g", "2"}, Stdout: &out, Stderr: &err}))
	require.Empty(t, out.String())
	require.Contains(t, err.String(), "nccl-run: interrupted")
}

func TestSize(t *testing.T) {
	tests := map[string]int64{
		"0": 0, "4": 4, "1K": 1 << 10, "2k": 2 << 10, "1.5M": 3 << 19, ".5G": 1 << 29, "3 K": 3 << 10,
		"64KB": 64 << 10, "1MiB": 1 << 20, "1.9": 1, "8g": 8 << 30,
	}
	for text, want := range tests {
		var got int64
		require.NoError(t, size(&got).Set(text), text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "K", "1T", "0x10", "1e3", "-4", "1.2.3", "4 4", "NaN", "Inf"} {
		var got int64
		require.Error(t, size(&got).Set(text), text)
	}
}

func FuzzSize(f *testing.F) {
	for _, seed := range []string{"1K", "1.5 MB", "999999999G", ".", "9e9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var n int64
		if size(&n).Set(text) == nil {
			require.GreaterOrEqual(t, n, int64(0))
			require.LessOrEqual(t, n, int64(maxSize))
		}
	})
}

// parse reads flags and fills in what the PTX machine's defaults are for a
// topology of 8 GPUs.
func parse(t *testing.T, topoGPUs int, args ...string) *options {
	t.Helper()
	f := newFlags()
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.addTo(set)
	require.NoError(t, set.Parse(joinJSON(args)))
	simDefaults.apply(f.o, set, topoGPUs)
	return f.o
}

func TestDefaults(t *testing.T) {
	o := parse(t, 8)
	require.Equal(t, 8, o.Ranks())
	require.Equal(t, []int64{1 << 10, 1 << 20, 4, 1, 0, 1, 1}, []int64{
		o.MinBytes, o.MaxBytes, o.StepFactor, int64(o.Iters), int64(o.Warmup), int64(o.Check), int64(o.Agg),
	})
	require.Equal(t, []coll.DataType{coll.Float32}, o.Types)
	require.Equal(t, []coll.UserOp{coll.OpSum}, o.Ops)
	require.Nil(t, o.Protos)

	require.Equal(t, 2, parse(t, 2).GPUs)
	require.Equal(t, 4, parse(t, 8, "-t", "2").GPUs)
	require.Equal(t, 1, parse(t, 2, "-t", "3").GPUs)

	o = parse(t, 8, "-b", "4M")
	require.Equal(t, o.MinBytes, o.MaxBytes)
	o = parse(t, 8, "-e", "100")
	require.Equal(t, int64(100), o.MinBytes)
	o = parse(t, 8, "-i", "1K")
	require.Equal(t, []int64{1, 1024}, []int64{o.StepFactor, o.StepBytes})
}

// Defaults on GPUs are nccl-tests'.
func TestCUDADefaults(t *testing.T) {
	f := newFlags()
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.addTo(set)
	require.NoError(t, set.Parse([]string{"-e", "64M"}))
	cudaDefaults.apply(f.o, set, 8)
	require.Equal(t, []int64{1, 32 << 20, 64 << 20, 1, 1 << 20, 20, 1}, []int64{
		int64(f.o.GPUs), f.o.MinBytes, f.o.MaxBytes, f.o.StepFactor, f.o.StepBytes, int64(f.o.Iters), int64(f.o.Warmup),
	})
}

// The flags, long and short, are nccl-tests'.
func TestFlags(t *testing.T) {
	short := parse(t, 8, "-t", "2", "-g3", "-b", "4", "-e", "8K", "-i", "16", "-f", "1", "-n", "5", "-w", "6", "-m", "7",
		"-c", "0", "-d", "half", "-o", "max", "-z", "2", "-u", "3", "-J", "out.json", "-G", "0", "-R0", "-a", "1")
	long := parse(t, 8, "--nthreads", "2", "--ngpus=3", "--minbytes", "4", "--maxbytes", "8K", "--stepbytes", "16",
		"--stepfactor", "1", "--iters", "5", "--warmup_iters", "6", "--agg_iters", "7", "--check", "0", "--datatype", "half",
		"--op", "max", "--blocking", "2", "--unalign", "3", "--json", "out.json", "--cudagraph", "0", "--average", "1")
	require.Equal(t, short, long)
	require.Equal(t, []coll.DataType{coll.Float16}, short.Types)
	require.Equal(t, []coll.UserOp{coll.OpMax}, short.Ops)
	require.Equal(t, 6, short.Ranks())

	every := parse(t, 8, "-d", "all", "-o", "ALL", "--proto", "all")
	require.Len(t, every.Types, coll.NumDataTypes)
	require.Len(t, every.Ops, coll.NumUserOps)
	require.Equal(t, []coll.Proto{coll.LL, coll.LL128, coll.Simple}, every.Protos)

	require.Equal(t, "-", parse(t, 8, "--json").json)
	require.Equal(t, "-", parse(t, 8, "--json", "-g", "2").json)
	require.Equal(t, "-", parse(t, 8, "--json", "-").json)
	require.Equal(t, "f", parse(t, 8, "--json=f").json)
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := &progress{w: &out, now: func() time.Time { return now }, start: now}
	p.show(0, 9, "first")
	p.clear()
	require.Empty(t, out.String(), "a short run shows nothing")

	now = now.Add(progressAfter)
	p.show(1, 9, "second")
	p.show(2, 9, "too soon")
	require.Equal(t, "\r1 of 9: second\x1b[K", out.String())
	p.clear()
	p.clear()
	require.Equal(t, "\r1 of 9: second\x1b[K\r\x1b[K", out.String())

	out.Reset()
	plain := &progress{plain: &out, now: func() time.Time { return now }}
	plain.kernels(1, 60)
	now = now.Add(progressAfter)
	plain.kernels(60, 60)
	require.Empty(t, out.String(), "all are ready")
	plain.kernels(1, 60)
	require.Empty(t, out.String(), "the next communicator has just begun")
	now = now.Add(progressAfter)
	plain.kernels(30, 60)
	plain.kernels(31, 60)
	require.Equal(t, "nccl-run: 30 of 60 kernels ready; each is assembled once on a machine\n", out.String())

	quiet := newProgress(&out)
	quiet.start = time.Unix(0, 0)
	before := out.Len()
	quiet.show(1, 9, "not a terminal")
	require.Equal(t, before, out.Len())
}
