package main

import (
	"bytes"
	"errors"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/doctor"
	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
	"github.com/ncclgo/ncclgo/coll"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"nccl-run": main, "deaf": deaf})
}

// Each script runs the command as a user would and looks at what it prints. GPUs
// that the machine may have are hidden.
func TestScripts(t *testing.T) {
	runScripts(t, "testdata", func(env *testscript.Env) error {
		env.Setenv("CUDA_VISIBLE_DEVICES", "-1")
		return nil
	})
}

func runScripts(t *testing.T, dir string, setup func(*testscript.Env) error) {
	testscript.Run(t, testscript.Params{
		Dir:   dir,
		Setup: setup,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":   status,
			"report":   decodeReport,
			"doctor":   decodeDoctor,
			"litmus":   decodeLitmus,
			"graph":    decodeGraph,
			"topology": decodeTopology,
			"p2p":      decodeP2PSchedule,
			"explain":  decodeExplain,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "short" {
				return testing.Short(), nil
			}
			return false, errors.New("unknown condition " + cond)
		},
	})
}

// status runs a command that must end with the given exit status:
// status 2 nccl-run ...
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status n command args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// decodeReport reads a file that must be a report of nccl-run with the given
// number of results and nothing wrong: report file n.
func decodeReport(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: report file results")
	}
	d, err := report.Decode(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	ts.Check(err)
	if got := strconv.Itoa(len(d.Results)); got != args[1] {
		ts.Fatalf("%s results, want %s", got, args[1])
	}
	if d.OutOfBounds.Count != 0 || len(d.Errors) != 0 {
		ts.Fatalf("out of bounds: %d, errors: %q", d.OutOfBounds.Count, d.Errors)
	}
	for _, r := range d.Results {
		if r.Out.Time <= 0 || r.In.Time <= 0 || r.Out.NWrong == nil || *r.Out.NWrong != 0 {
			ts.Fatalf("result %+v", r)
		}
		if r.Count > 0 && r.Decision.Kernel == "" {
			ts.Fatalf("no kernel for %+v", r)
		}
	}
}

// decodeDoctor reads a file that must be a report of nccl-run doctor with the
// given device and number of GPUs: doctor file device gpus.
func decodeDoctor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: doctor file device gpus")
	}
	d, err := doctor.Decode(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	ts.Check(err)
	if gpus := strconv.Itoa(len(d.GPUs)); d.Device != args[1] || gpus != args[2] {
		ts.Fatalf("device %s with %s GPUs, want %s with %s", d.Device, gpus, args[1], args[2])
	}
}

// decodeLitmus reads a file that must be a report of nccl-run litmus with the given
// numbers of cases and of wrong ones: litmus file cases wrong.
func decodeLitmus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: litmus file cases wrong")
	}
	d, err := report.DecodeLitmus(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	ts.Check(err)
	if cases, wrong := strconv.Itoa(len(d.Cases)), strconv.Itoa(d.Wrong); cases != args[1] || wrong != args[2] {
		ts.Fatalf("%s cases, %s wrong; want %s, %s", cases, wrong, args[1], args[2])
	}
}

// decodeP2PSchedule reads a file that must be a document of nccl-run p2p-schedule
// with the given numbers of ranks and of ranks of a group: p2p file ranks size.
func decodeP2PSchedule(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: p2p file ranks size")
	}
	d, err := report.DecodeP2PSchedule(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	ts.Check(err)
	if ranks, size := strconv.Itoa(len(d.Sched)), strconv.Itoa(d.GroupSize); ranks != args[1] || size != args[2] {
		ts.Fatalf("%s ranks in groups of %s; want %s, %s", ranks, size, args[1], args[2])
	}
}

// decodeExplain reads a file that must hold documents of nccl-run explain for the
// given number of sizes, each with the time of its choice in its table: explain file
// sizes.
func decodeExplain(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: explain file sizes")
	}
	all, err := report.DecodeExplain(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	ts.Check(err)
	if sizes := strconv.Itoa(len(all)); sizes != args[1] {
		ts.Fatalf("%s sizes; want %s", sizes, args[1])
	}
	for _, d := range all {
		p, err := coll.ParseProto(d.Proto)
		ts.Check(err)
		if d.Table[d.Algo][p] != d.Time || d.Reasons[d.Algo][p] != "" || d.Time <= 0 {
			ts.Fatalf("chosen is %s %s of %v µs, the table has %v and %q", d.Algo, d.Proto, d.Time, d.Table[d.Algo], d.Reasons[d.Algo])
		}
		moved := int64(0)
		for _, part := range d.Plan {
			moved += part.Bytes
		}
		if moved != d.Bytes/int64(d.NRanks)/4*4 {
			ts.Fatalf("channels move %d bytes of each rank's share of %d", moved, d.Bytes)
		}
	}
}

// decodeGraph reads a file that must be a document of nccl-run graph with the given
// numbers of ranks and of channels: graph file ranks channels.
func decodeGraph(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: graph file ranks channels")
	}
	d, err := report.DecodeGraph(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	ts.Check(err)
	if ranks, channels := strconv.Itoa(d.NRanks), strconv.Itoa(d.Channels); ranks != args[1] || channels != args[2] {
		ts.Fatalf("%s ranks, %s channels; want %s, %s", ranks, channels, args[1], args[2])
	}
	if len(d.Rings) != d.Channels || len(d.Trees) != d.Channels || len(d.RankToNode) != d.NRanks {
		ts.Fatalf("%d rings, %d trees, %d nodes of ranks", len(d.Rings), len(d.Trees), len(d.RankToNode))
	}
}

// decodeTopology reads a file that must be a document of nccl-run topo with at least
// the given number of facts: topology file facts.
func decodeTopology(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: topology file facts")
	}
	d, err := report.DecodeTopology(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	ts.Check(err)
	least, err := strconv.Atoi(args[1])
	ts.Check(err)
	if len(d.Facts) < least || len(d.Nodes) == 0 || len(d.Links) == 0 {
		ts.Fatalf("%d facts, %d nodes, %d links", len(d.Facts), len(d.Nodes), len(d.Links))
	}
	for i, n := range d.Nodes {
		if n.ID != i {
			ts.Fatalf("node %d has id %d", i, n.ID)
		}
	}
}
