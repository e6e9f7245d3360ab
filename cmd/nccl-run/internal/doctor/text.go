package doctor

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/ncclgo/ncclgo/cmd/nccl-run/internal/report"
)

// WriteText writes the report for people: a line for each thing found, then what
// is missing and what to do.
func (r *Report) WriteText(w io.Writer) error {
	t := &text{}
	b := r.Build
	t.row("ncclgo", "%s, %s, %s, %d kernels for %s and later", b.Module, b.Go, b.Target, b.Kernels, sms(b.SMs))
	switch d := r.Driver; {
	case d.Problem != "":
		t.row("CUDA driver", "no use: %s", d.Problem)
	default:
		t.row("CUDA driver", "CUDA %d.%d, release %s, %d hardware queues a GPU",
			d.CUDA/1000, d.CUDA%1000/10, cmp.Or(d.Release, "not known"), d.Connections)
	}
	if len(r.GPUs) > 0 {
		t.row("NVML", "%s", cmp.Or(r.NVML.Problem, r.NVML.Version))
	}
	for i, g := range r.GPUs {
		t.gpu(i, g)
	}
	t.matrix(r.GPUs)
	t.topology(r.Topology)
	t.cache(r.Cache)
	t.row("limits", "RLIMIT_MEMLOCK %s, /dev/shm %s", sizeText(r.Limits.Memlock, "unlimited"), sizeText(r.Limits.SharedBytes, "not known"))
	for _, v := range r.Limits.Variables {
		t.row("environment", "%s=%s", v.Name, v.Value)
	}
	t.row("clang-19", "%s", cmp.Or(r.Clang, "none (only nccl-gen needs it)"))
	t.row("runs on", "%s", map[string]string{"cuda": "GPUs (--device cuda)", "sim": "the PTX machine (--device sim)"}[r.Device])
	for _, a := range r.Advice {
		fmt.Fprintf(&t.Builder, "\nmissing: %s\n     do: %s\n", a.Missing, a.Do)
	}
	if len(r.Advice) == 0 {
		t.WriteString("\nnothing is missing\n")
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// text is the report in the making.
type text struct{ strings.Builder }

// row writes a line about one thing.
func (t *text) row(name, format string, args ...any) {
	fmt.Fprintf(&t.Builder, "%-12s  %s\n", name, fmt.Sprintf(format, args...))
}

func (t *text) gpu(i int, g GPU) {
	name := fmt.Sprintf("GPU %d", i)
	node := "NUMA node not known"
	if g.NUMANode >= 0 {
		node = fmt.Sprintf("NUMA node %d", g.NUMANode)
	}
	t.row(name, "%s, sm_%d, %d SMs, %s, %s, %s, %d NVLinks", g.Name, g.SM, g.SMs, sizeText(g.MemoryBytes, ""), g.BusID, node, g.NVLinks)
	if g.Fabric != "" {
		t.row("", "NVLink fabric %s", g.Fabric)
	}
	if g.Problem != "" {
		t.row("", "cannot be used: %s", g.Problem)
	}
}

// matrix writes which GPUs can access each other: NV over NVLink, y otherwise.
func (t *text) matrix(gpus []GPU) {
	if len(gpus) < 2 {
		return
	}
	var header strings.Builder
	for j := range gpus {
		fmt.Fprintf(&header, "%4d", j)
	}
	t.row("peer access", "      %s   (NV: over NVLink, y: otherwise, -: none)", header.String())
	for i, g := range gpus {
		var row strings.Builder
		for j := range gpus {
			mark := "-"
			switch {
			case i == j:
				mark = "."
			case len(g.NVLink) > 0 && g.NVLink[j]:
				mark = "NV"
			case g.Peer[j]:
				mark = "y"
			}
			fmt.Fprintf(&row, "%4s", mark)
		}
		t.row("", "GPU %d%s%s", i, strings.Repeat(" ", max(0, 2-i/10)), row.String())
	}
}

func (t *text) topology(found Topology) {
	if found.Problem != "" {
		t.row("topology", "none: %s", found.Problem)
		return
	}
	label := "topology"
	for line := range strings.Lines(found.Text) {
		t.row(label, "%s", strings.TrimSuffix(line, "\n"))
		label = ""
	}
	for _, n := range found.Notes {
		t.row("", "%s", n)
	}
	if len(found.Notes) > 0 {
		t.row("", "%s", report.Correct)
	}
}

func (t *text) cache(c Cache) {
	if c.Dir == "" {
		t.row("cubin cache", "none: %s", cmp.Or(c.Problem, "off"))
		return
	}
	t.row("cubin cache", "%s: %d kernels, %s of at most %s", c.Dir, c.Entries, sizeText(c.Bytes, ""), sizeText(c.MaxBytes, ""))
	if c.Problem != "" {
		t.row("", "no use: %s", c.Problem)
	}
}

func sms(all []int) string {
	names := make([]string, len(all))
	for i, sm := range all {
		names[i] = fmt.Sprintf("sm_%d", sm)
	}
	return strings.Join(names, ", ")
}

// sizeText writes a size in the largest unit of 1024 that leaves a whole part;
// negative sizes are none.
func sizeText(n int64, none string) string {
	if n < 0 {
		return none
	}
	v, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, next
	}
	return fmt.Sprintf("%.4g %s", v, unit)
}
