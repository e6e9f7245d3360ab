// Package detect reads the machine it runs on: which GPUs, switches, CPUs and
// network ports there are and what connects them, as the topology file that NCCL
// would write there.
//
// It opens nothing by itself: files come through an [fs.FS], GPUs from what the
// caller asked CUDA and through the narrow interface of internal/nvml. So what it
// read can be kept ([Record]) and read again anywhere ([ReadCapture]). It knows no
// variable of the environment; what those say is in [Config].
//
// It never guesses silently: everything it says is a [Fact], measured, with the
// place that told it, or assumed, with the reason. A source that is missing,
// empty, unreadable or wrong makes assumptions, not errors. Errors are
// [*result.Error]: there is no GPU, or two at one address.
//
// Start reading at [Detect]. pci.go finds the way from a device to its CPU, gpu.go
// and nvlink.go what hangs at a GPU, ports.go network ports, which verbs.go and
// sockets.go list, merge.go what a topology file has to say, files.go how a file is
// read that may be anything, scrub.go what captures do not have.
package detect
