package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// A setting is one leaf of the configuration tree.
type setting struct {
	path  string // "store.s3.bucket"
	doc   string // from the field's doc tag
	value reflect.Value
	depth int
	group bool // a struct: only its heading is shown
	// secret values are never shown
	secret bool
}

// settings lists the tree under v (a pointer to a struct) in the order of its
// fields. Maps and lists are leaves: they are set whole, as YAML.
func settings(v any) []setting {
	var out []setting
	var walk func(v reflect.Value, path string, depth int)
	walk = func(v reflect.Value, path string, depth int) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if opts == "inline" {
				walk(v.Field(i), path, depth)
				continue
			}
			if name == "" || name == "-" {
				continue
			}
			s := setting{path: path + name, doc: f.Tag.Get("doc"), value: v.Field(i), depth: depth, secret: f.Tag.Get("secret") == "true"}
			s.group = f.Type.Kind() == reflect.Struct && !isScalar(f.Type)
			out = append(out, s)
			if s.group {
				walk(v.Field(i), s.path+".", depth+1)
			}
		}
	}
	walk(reflect.ValueOf(v).Elem(), "", 0)
	return out
}

// isScalar says whether a struct type is written as one YAML scalar.
func isScalar(t reflect.Type) bool {
	return t == reflect.TypeFor[time.Time]() || reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.BytesUnmarshaler]())
}

// set gives one setting the value that text is in YAML.
func set(v any, path, text string) error {
	for _, s := range settings(v) {
		if s.path != path || s.group {
			continue
		}
		if s.value.Kind() == reflect.String {
			s.value.SetString(text)
			return nil
		}
		if err := decode([]byte(text), s.value.Addr().Interface()); err != nil {
			if s.secret || s.value.Kind() == reflect.Map { // of clusters, with their passwords
				text = hidden
			}
			return fmt.Errorf("setting %s: %q: %w", path, text, err)
		}
		return nil
	}
	return fmt.Errorf("no setting %q; `togo config` lists them all", path)
}

// envName is the environment variable that overrides a setting.
func envName(path string) string {
	return "TOGO_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// decode reads YAML strictly: an unknown or repeated key is an error with its
// line. Whole numbers may carry a unit of bytes (64MiB, 5GB), durations must carry one.
func decode(text []byte, v any) error {
	d := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict(), yaml.CustomUnmarshaler(unmarshalBytes), yaml.CustomUnmarshaler(unmarshalDuration))
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	return locate(text, withoutSource(d.Decode(v)))
}

// withoutSource leaves the lines around the mistake out of an error: they may hold a
// secret. Line, column and key stay.
func withoutSource(err error) error {
	var positioned yaml.Error
	if !errors.As(err, &positioned) {
		return err
	}
	return sourceless{err, strings.TrimSpace(yaml.FormatError(err, false, false))}
}

type sourceless struct {
	error
	text string
}

func (e sourceless) Error() string { return e.text }
func (e sourceless) Unwrap() error { return e.error }

// Document writes every setting with its value as YAML, its meaning and its
// environment variable as comments; secrets are left out.
func Document(c *Config) string {
	var b strings.Builder
	for _, s := range settings(c) {
		indent := strings.Repeat("  ", s.depth)
		name := s.path[strings.LastIndexByte(s.path, '.')+1:]
		if s.depth == 0 && b.Len() > 0 {
			b.WriteByte('\n')
		}
		for line := range strings.SplitSeq(s.doc, "\n") {
			if line != "" {
				fmt.Fprintf(&b, "%s# %s\n", indent, line)
			}
		}
		if s.group {
			fmt.Fprintf(&b, "%s%s:\n", indent, name)
			continue
		}
		value := flow(redacted(s.value))
		if s.secret && !s.value.IsZero() && s.value.Len() > 0 {
			value = flow(reflect.ValueOf(hidden))
		}
		fmt.Fprintf(&b, "%s%s: %s  # %s\n", indent, name, value, envName(s.path))
	}
	return b.String()
}

// hidden stands for a secret that is set.
const hidden = "***"

// redacted is a copy of a value without the secrets in its structs.
func redacted(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case !f.IsExported():
			case f.Tag.Get("secret") == "true" && f.Type.Kind() == reflect.String && !v.Field(i).IsZero():
				out.Field(i).SetString(hidden)
			default:
				out.Field(i).Set(redacted(v.Field(i)))
			}
		}
	case reflect.Map:
		if v.IsNil() {
			return out
		}
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for iter := v.MapRange(); iter.Next(); {
			out.SetMapIndex(iter.Key(), redacted(iter.Value()))
		}
	case reflect.Slice:
		if v.IsNil() {
			return out
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(redacted(v.Index(i)))
		}
	}
	return out
}

// flow is a value on one line of YAML.
func flow(v reflect.Value) string {
	out, err := yaml.MarshalWithOptions(v.Interface(), yaml.Flow(true))
	if err != nil {
		panic(fmt.Sprintf("bug: a setting of type %s cannot be written: %v", v.Type(), err))
	}
	return strings.TrimSpace(string(out))
}
