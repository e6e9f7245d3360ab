package nvml

// Fact is something that NVML may or may not tell: a value, or the reason why
// there is none. The zero Fact is not known, for lack of data.
type Fact[T any] struct {
	value T
	known bool
	why   Code // if not known; 0 stands for NoData
}

// Known returns the fact v.
func Known[T any](v T) Fact[T] { return Fact[T]{value: v, known: true} }

// Absent returns a fact that is not known. Reasons to expect are NotSupported
// (the GPU or the driver has no such thing), FunctionNotFound (the library is
// too old to be asked), NoPermission, and NoData (nobody asked).
func Absent[T any](why Code) Fact[T] {
	if why == NoData || why == Success {
		return Fact[T]{}
	}
	return Fact[T]{why: why}
}

// answer is the fact that a call made: v, if NVML returned Success.
func answer[T any](v T, c Code) Fact[T] {
	if c == Success {
		return Known(v)
	}
	return Absent[T](c)
}

// Get returns the value and whether it is known.
func (f Fact[T]) Get() (T, bool) { return f.value, f.known }

// Why returns why the value is not known, Success if it is.
func (f Fact[T]) Why() Code {
	switch {
	case f.known:
		return Success
	case f.why == 0:
		return NoData
	}
	return f.why
}
