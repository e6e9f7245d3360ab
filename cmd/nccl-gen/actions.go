package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ncclgo/ncclgo/coll"
	"github.com/ncclgo/ncclgo/gen"
)

func generate(ctx context.Context, out *bufio.Writer, r *request) error {
	start := time.Now()
	s, err := gen.Generate(ctx, r.options)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "generated %d kernels (%d compiled) in %.1f s: PTX %d bytes, archive %d bytes\n",
		s.Kernels, s.Compiled, time.Since(start).Seconds(), s.PTXBytes, s.ArchiveBytes)
	if r.verbose {
		for _, k := range s.Slowest {
			fmt.Fprintf(out, "%6.2f s  %6d bytes  %s\n", k.Took.Seconds(), k.PTXBytes, k.Name)
		}
	}
	return nil
}

// check prints what was checked. In CI, where clang may not be missing, an
// incomplete check is a failure.
func check(ctx context.Context, out *bufio.Writer, r *request) error {
	result, err := gen.Check(ctx, r.options)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, result)
	if !result.Compared && os.Getenv("CI") == "true" {
		return errors.New("bytes were not compared, which CI requires: install the compiler of the manifest")
	}
	return nil
}

// list prints the variant space, one row a line.
func list(out *bufio.Writer, r *request) error {
	rows, err := gen.List(r.options, r.built)
	if err != nil {
		return err
	}
	const format = "%6s  %-52s  %-52s  %4s  %-15s  %s\n"
	fmt.Fprintf(out, format, "# row", "variant", "canonical", "nccl", "needs", "status")
	valid, served := 0, 0
	kernels := map[string]bool{}
	for _, row := range rows {
		canonical, primary, needs, status := "-", "-", "-", "not built"
		if row.Reason != nil {
			status = "invalid: " + row.Reason.Text
		} else {
			valid++
			canonical, needs = row.Canonical.String(), need(row.Need)
			if row.Primary != gen.NoPrimary {
				primary = fmt.Sprint(row.Primary)
			}
		}
		if row.Targets != nil {
			served++
			status = "built for"
			for _, t := range row.Targets {
				kernels[gen.Unit{Variant: row.Canonical, Target: t}.Name()] = true
				status += " " + t.String()
			}
		}
		fmt.Fprintf(out, format, fmt.Sprint(row.Number), row.Variant, canonical, primary, needs, status)
	}
	fmt.Fprintf(out, "# %d variants, %d valid, %d served by %d kernels; rows below %d and the numbers in column nccl are NCCL 2.30's\n",
		len(rows), valid, served, len(kernels), gen.NumNCCLRows)
	return nil
}

// need prints what NCCL asks for before it uses a variant.
func need(n gen.Need) string {
	var parts []string
	if n.CUDA > 0 {
		parts = append(parts, fmt.Sprintf("CUDA %d.%d", n.CUDA/1000, n.CUDA%1000/10))
	}
	if n.SM > 0 {
		parts = append(parts, fmt.Sprintf("sm_%d", n.SM))
	}
	if parts == nil {
		return "-"
	}
	return strings.Join(parts, " ")
}

// show prints a kernel's PTX, so that its lines have the numbers that faults give,
// and then, as comments, where it is from.
func show(ctx context.Context, out *bufio.Writer, r *request) error {
	v, err := coll.ParseVariant(r.show)
	if err != nil {
		return &gen.UsageError{Err: fmt.Errorf("-show: %w%s", err, nearVariant(r.show))}
	}
	if reason := gen.Excluded(v); reason != nil {
		return &gen.UsageError{Err: fmt.Errorf("%s is invalid: %s", v, reason.Text)}
	}
	var s *gen.Shown
	if !r.compile {
		s, err = gen.ShowArchived(r.options, v)
	}
	if s == nil && err == nil {
		s, err = gen.Show(ctx, r.options, v)
	}
	if err != nil {
		return err
	}
	if s == nil {
		return &gen.UsageError{Err: fmt.Errorf("%s is valid but not built: no header implements it yet (nccl-gen -list -built lists what is)", v)}
	}
	_, err = fmt.Fprintf(out, "%s\n// %s\n", s.PTX, strings.Join(origin(s, v), "\n// "))
	return err
}

// origin says in lines what the kernel shown for v is.
func origin(s *gen.Shown, v coll.Variant) []string {
	symbol := s.Unit.Variant.String()
	what := fmt.Sprintf("This is %s for %s, compiled now by %s.", symbol, s.Unit.Target, s.Compiler)
	if s.Archived {
		what = fmt.Sprintf("This is %s for %s as programs carry it, made by %s.", symbol, s.Unit.Target, s.Compiler)
	}
	lines := []string{what}
	if s.Unit.Variant != v {
		lines = append(lines, fmt.Sprintf("%s is served by it.", v))
	}
	if s.Stale {
		lines = append(lines, "Its sources have changed since: -compiler clang shows what they give.")
	}
	lines = append(lines, fmt.Sprintf("Its unit, which includes %s:", strings.Join(s.Files, ", ")), "")
	for line := range strings.Lines(string(s.Text)) {
		lines = append(lines, "  "+strings.TrimSuffix(line, "\n"))
	}
	return lines
}

// nearVariant suggests the variant whose name is closest to s.
func nearVariant(s string) string {
	var names []string
	for id := range coll.ID(coll.NumIDs) {
		names = append(names, id.Variant().String())
	}
	if near := coll.Nearest(s, names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}
