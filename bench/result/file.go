package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Encode is the text of a document, with a line for each key.
func (d *Document) Encode() ([]byte, error) {
	body, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("result: a value that JSON cannot hold (NaN or infinite): %w", err)
	}
	return append(body, '\n'), nil
}

// Decode reads a document. Keys that it does not know are an error: they are of another
// version, and to leave them out would compare less than it seems.
func Decode(body []byte) (*Document, error) {
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return nil, fmt.Errorf("no result of 'togo bench': %w", err)
	}
	if head.Format != Format {
		return nil, fmt.Errorf("a result of format %d; this program reads format %d", head.Format, Format)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	var d Document
	if err := decoder.Decode(&d); err != nil {
		return nil, fmt.Errorf("no result of 'togo bench': %w", err)
	}
	return &d, nil
}

// Read reads the document in a file.
func Read(path string) (*Document, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d, err := Decode(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// WriteFile puts body at path in one step, so that whoever reads it meanwhile, or after an
// interrupt, finds the old text or the new one. Missing folders are made.
func WriteFile(path string, body []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".result-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(body); err != nil {
		f.Close()
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
