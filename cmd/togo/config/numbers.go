package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

var byteUnits = map[string]int64{
	"": 1, "B": 1,
	"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40,
}

var bytesPattern = regexp.MustCompile(`^(-?[0-9][0-9_]*)\s*([A-Za-z]*)$`)

// Bytes is a number of bytes on a command line, written as in the file.
type Bytes int64

func (b *Bytes) UnmarshalText(text []byte) error { return unmarshalBytes((*int64)(b), text) }

// valueError is a value that is no number or duration, wherever it stands.
type valueError struct{ value, why string }

func (e *valueError) Error() string { return fmt.Sprintf("%q %s", e.value, e.why) }

func unmarshalBytes(to *int64, text []byte) error {
	t := strings.Trim(strings.TrimSpace(string(text)), `"'`)
	m := bytesPattern.FindStringSubmatch(t)
	if m == nil {
		return &valueError{t, "is no whole number (with a unit such as MiB)"}
	}
	unit, ok := byteUnits[strings.ToUpper(m[2])]
	if !ok {
		return &valueError{t, fmt.Sprintf("has the unknown unit %q; known are B, KB, MB, GB, TB, KiB, MiB, GiB, TiB", m[2])}
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(m[1], "_", ""), 10, 64)
	if err != nil || n != 0 && (n*unit)/n != unit {
		return &valueError{t, "is out of range"}
	}
	*to = n * unit
	return nil
}

func unmarshalDuration(to *time.Duration, text []byte) error {
	t := strings.Trim(strings.TrimSpace(string(text)), `"'`)
	d, err := time.ParseDuration(t)
	if err != nil {
		return &valueError{t, "is no duration such as 500ms, 10s or 5m"}
	}
	*to = d
	return nil
}

// locate adds line and setting to a valueError, which the decoder leaves out.
func locate(text []byte, err error) error {
	var bad *valueError
	if !errors.As(err, &bad) {
		return err
	}
	file, parseErr := parser.ParseBytes(text, 0)
	if parseErr != nil {
		return err
	}
	find := &finder{value: bad.value}
	for _, doc := range file.Docs {
		ast.Walk(find, doc)
	}
	if find.at == nil || find.at.GetPath() == "$" { // a value alone, as in --set: the caller names it
		return err
	}
	at := find.at.GetToken().Position
	return fmt.Errorf("[%d:%d] %s: %w", at.Line, at.Column, strings.TrimPrefix(find.at.GetPath(), "$."), err)
}

// finder finds the first scalar with a value.
type finder struct {
	value string
	at    ast.Node
}

// Visit implements ast.Visitor.
func (f *finder) Visit(n ast.Node) ast.Visitor {
	if s, ok := n.(ast.ScalarNode); ok && f.at == nil && s.GetToken().Value == f.value {
		if _, key := n.(ast.MapKeyNode); !key || !strings.HasSuffix(s.GetPath(), "."+f.value) {
			f.at = n
		}
	}
	return f
}
