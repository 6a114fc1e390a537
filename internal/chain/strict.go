package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// CheckFormat reads nothing of an object but its format number, so that a newer one says that
// it is newer, and not that some field is unknown: then the error is newer, wrapped.
func CheckFormat(b []byte, known int, newer error) error {
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	switch {
	case head.Format > known:
		return fmt.Errorf("format %d, this program knows %d: %w", head.Format, known, newer)
	case head.Format < 1:
		return fmt.Errorf("format %d is none", head.Format)
	}
	return nil
}

// DecodeStrict decodes one JSON object; an unknown field, and anything but white space behind the
// object, is an error.
func DecodeStrict(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("bytes after the end of the JSON object")
	}
	return nil
}
