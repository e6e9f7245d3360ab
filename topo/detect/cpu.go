package detect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ncclgo/ncclgo/topo"
)

// cpuFile says what the CPUs are.
const cpuFile = "proc/cpuinfo"

// numaUnknown is the NUMA node of what has none that is known.
const numaUnknown = "-1"

// archNames are architectures as topology files have them, by Go's name.
var archNames = map[string]string{"amd64": "x86_64", "arm64": "arm64", "ppc64": "ppc64", "ppc64le": "ppc64"}

// cpuKind is what all CPUs of a machine are.
type cpuKind struct {
	arch, vendor  string
	family, model string // as NCCL has them, which is not as Linux has them
}

// cpus returns what the CPUs are.
func (b *builder) cpus() *cpuKind {
	if b.kind == nil {
		kind := b.readKind()
		b.kind = &kind
	}
	return b.kind
}

// readKind reads what the CPUs are.
func (b *builder) readKind() cpuKind {
	const subject = "CPUs"
	at, err := b.resolve(cpuFile)
	var info []byte
	if err == nil {
		info, err = b.read(at, cpuBytes)
	}
	var vendor, family, model string
	arm, power := false, false
	for line := range strings.Lines(string(info)) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "vendor_id":
			vendor = value
		case "cpu family":
			family = value
		case "model":
			model = value
		case "CPU implementer":
			arm = true
		case "cpu":
			power = power || strings.HasPrefix(value, "POWER")
		}
		if vendor != "" && family != "" && model != "" {
			break
		}
	}
	k := cpuKind{arch: archNames[b.src.Arch]}
	switch {
	case k.arch != "":
		b.measured(subject, "arch", k.arch, "build")
	case arm:
		k.arch = "arm64"
		b.measured(subject, "arch", k.arch, fromProc)
	case power:
		k.arch = "ppc64"
		b.measured(subject, "arch", k.arch, fromProc)
	default:
		k.arch = "x86_64"
		if vendor != "" {
			b.measured(subject, "arch", k.arch, fromProc)
		} else {
			b.assumed(subject, "arch", k.arch, "nothing tells it")
		}
	}
	if k.arch != "x86_64" {
		return k
	}
	f, errF := strconv.Atoi(family)
	m, errM := strconv.Atoi(model)
	if vendor == "" || !printable(vendor) || errF != nil || errM != nil || f < 0 || m < 0 {
		why := "it names no vendor, family and model"
		if err != nil {
			why = reason(err)
		}
		// Sapphire Rapids: of the Intel CPUs in machines with several GPUs the one in
		// the middle, by bandwidth between sockets.
		k.vendor, k.family, k.model = "GenuineIntel", "6", "143"
		b.assumed(subject, "vendor, familyid, modelid", "GenuineIntel 6 143", fromProc+": "+why)
		return k
	}
	// CPUID has a family of 4 bits and one of 8 bits to extend it. Linux adds them
	// up; NCCL takes the second for higher bits (ncclTopoGetXmlFromCpu, NCCL v2.30
	// src/graph/xml.cc).
	if f >= 15 {
		f = 15 + (f-15)<<4
	}
	k.vendor, k.family, k.model = vendor, strconv.Itoa(f), strconv.Itoa(m)
	b.measured(subject, "vendor, familyid, modelid", fmt.Sprintf("%s %s %s", k.vendor, k.family, k.model), fromProc)
	return k
}

// cpu returns the element of a NUMA node.
func (b *builder) cpu(numa string) *topo.Element {
	for _, e := range b.root.Children {
		if e.Text("numaid") == numa {
			return e
		}
	}
	e := b.child(b.root, topo.ElemCPU)
	e.Set("numaid", numa)
	b.fillCPU(e)
	return e
}

// fillCPU gives a cpu element the attributes that it lacks.
func (b *builder) fillCPU(e *topo.Element) {
	if b.filled[e] {
		return
	}
	b.filled[e] = true
	numa := e.Text("numaid")
	if !e.Has("affinity") && numa != numaUnknown {
		mask, err := b.text("sys/devices/system/node/node" + numa + "/cpumap")
		if err == nil && strings.Trim(mask, "0123456789abcdefABCDEF,") != "" {
			err = fmt.Errorf("%s is no mask", shown(mask))
		}
		if err == nil {
			e.Set("affinity", mask)
			b.measured("NUMA node "+numa, "affinity", mask, fromSysfs)
		} else {
			b.assumed("NUMA node "+numa, "affinity", "", "its cores are not known, cpumap: "+reason(err))
		}
	}
	if !e.Has("arch") {
		e.Set("arch", b.cpus().arch)
	}
	if e.Text("arch") != "x86_64" || e.Has("vendor") && e.Has("familyid") && e.Has("modelid") {
		return
	}
	b.init(e, "vendor", b.cpus().vendor)
	b.init(e, "familyid", b.cpus().family)
	b.init(e, "modelid", b.cpus().model)
}
