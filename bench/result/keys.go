package result

import (
	"reflect"
	"strings"
	"time"
)

// Key is one key of a document.
type Key struct {
	Path   string // dotted; [] stands for each entry of a list
	Doc    string
	Better string // "less" or "more" for a figure of merit
}

// Keys lists the keys of a document that hold values, in its order. T is Document, or a struct
// with the same tags.
func Keys[T any]() []Key {
	return keysOf("", reflect.TypeFor[T]())
}

func keysOf(prefix string, t reflect.Type) []Key {
	var keys []Key
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		path := prefix + jsonName(f)
		doc := f.Tag.Get("doc")
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		inner := ft
		suffix := "."
		if ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Struct {
			inner, suffix = ft.Elem(), "[]."
		}
		if isSection(inner) {
			if doc != "" {
				keys = append(keys, Key{Path: path, Doc: doc})
			}
			keys = append(keys, keysOf(path+suffix, inner)...)
			continue
		}
		keys = append(keys, Key{Path: path, Doc: doc, Better: f.Tag.Get("better")})
	}
	return keys
}

func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]()
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// Table is the list of all keys as docs/bench.md has it, in Markdown.
func Table[T any]() string {
	var b strings.Builder
	b.WriteString("| key | meaning |\n|---|---|\n")
	for _, k := range Keys[T]() {
		b.WriteString("| `" + k.Path + "` | " + k.Doc + " |\n")
	}
	return b.String()
}
