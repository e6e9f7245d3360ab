package ptx

// sregByName holds the special registers by their spelling.
var sregByName = func() map[string]Sreg {
	m := make(map[string]Sreg)
	for s := NoSreg + 1; s <= WarpSize; s++ {
		m[s.String()] = s
	}
	return m
}()

// Type returns the type a special register is read as.
//
// Source: PTX ISA, chapter "Special Registers".
func (s Sreg) Type() Type {
	switch s {
	case GridID, Clock64, GlobalTimer:
		return U64
	}
	return U32
}
