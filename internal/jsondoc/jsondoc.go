// Package jsondoc reads the JSON documents of this module strictly: what nobody
// knows is an error, as are a second document and a file without end.
package jsondoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Limit is how many bytes a document may have if nothing says otherwise: 1 GiB,
// which a layout of a million ranks does not need.
const Limit = 1 << 30

// Decode reads the one JSON object that r holds, of up to limit bytes, into v. Fields
// that v does not have are errors, as is anything that follows the object.
func Decode(r io.Reader, limit int64, v any) error {
	limited := &io.LimitedReader{R: r, N: limit + 1}
	d := json.NewDecoder(limited)
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		var syntax *json.SyntaxError
		switch _, more := d.Token(); {
		case more == nil || errors.As(more, &syntax):
			err = errors.New("something follows the JSON object")
		case !errors.Is(more, io.EOF):
			err = more
		}
	}
	switch {
	case limited.N == 0:
		return fmt.Errorf("it is larger than %d MiB", limit>>20)
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is cut short")
	}
	return err
}

// Check returns an error unless a document has the format and version that are read.
func Check(format string, version int, wantFormat string, wantVersion int) error {
	if format != wantFormat || version != wantVersion {
		return fmt.Errorf("it is %q, version %d; %q, version %d is read", format, version, wantFormat, wantVersion)
	}
	return nil
}
