// Package jsonfn has the functions of JSON. They take JSON, and text that holds it: text that is no JSON is an error.
package jsonfn

import (
	"strconv"
	"strings"

	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/jsonpath"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

const (
	text  = vec.Text
	num   = vec.Int
	truth = vec.Bool
	doc   = vec.JSON
)

// documents are the types of a document: JSON is good, text has to be looked at.
var documents = []vec.Type{doc, text}

// check says what is wrong with a document of a type.
func check(t vec.Type, s string) error {
	if t == text {
		return jsonpath.Valid(s)
	}
	return nil
}

// Functions are all of the package.
func Functions() []*expr.Func {
	var out []*expr.Func
	for _, list := range [][]*expr.Func{extraction(), questions(), making()} {
		out = append(out, list...)
	}
	return out
}

// also is the same functions under another name.
func also(name string, list []*expr.Func) []*expr.Func {
	var out []*expr.Func
	for _, f := range list {
		g := *f
		g.Name, g.Example, g.Doc = name, strings.Replace(f.Example, f.Name+"(", name+"(", 1), "The same as "+f.Name+"."
		out = append(out, &g)
	}
	return out
}

// at makes the forms of a function of a document and a path, and, with index, of a document and an index.
func at[R each.Result](name, example, about string, out vec.Type, index bool, f func(raw string, found bool) (R, error)) []*expr.Func {
	var forms []*expr.Func
	for _, t := range documents {
		find := func(s string, p jsonpath.Path) (r R, err error) {
			if err = check(t, s); err != nil {
				return r, err
			}
			raw, found, err := jsonpath.Find(s, p)
			if err != nil {
				return r, err
			}
			return f(raw, found)
		}
		byPath := &expr.Func{Name: name, Args: []vec.Type{t, text}, Out: out, Doc: about, Bind: func(_ *expr.Env, args []expr.Expr) (expr.Eval, error) {
			if c, ok := each.Const(args[1]); ok {
				p, err := jsonpath.Compile(c.Text)
				if err != nil {
					return nil, err
				}
				one := each.One(out, func(s string) (R, error) { return find(s, p) })
				return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) { return one(s, args[:1], n) }, nil
			}
			return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
				compile := each.Memo(jsonpath.Compile)
				return each.Two(out, func(doc, path string) (r R, err error) {
					p, err := compile(path)
					if err != nil {
						return r, err
					}
					return find(doc, p)
				})(s, args, n)
			}, nil
		}}
		if t == doc {
			byPath.Example = example
		}
		forms = append(forms, byPath)
		if index {
			forms = append(forms, &expr.Func{Name: name, Args: []vec.Type{t, num}, Out: out, Doc: about,
				Eval: each.Two(out, func(s string, n int64) (R, error) { return find(s, jsonpath.Index(max(n, -1<<62))) })})
		}
	}
	return forms
}

// alone makes the forms of a function of a document.
func alone[R each.Result](name, example, about string, out vec.Type, f func(raw string) (R, error)) []*expr.Func {
	var forms []*expr.Func
	for _, t := range documents {
		g := &expr.Func{Name: name, Args: []vec.Type{t}, Out: out, Doc: about, Eval: each.One(out, func(s string) (r R, err error) {
			if err = check(t, s); err != nil {
				return r, err
			}
			return f(strings.Trim(s, " \t\r\n"))
		})}
		if t == doc {
			g.Example = example
		}
		forms = append(forms, g)
	}
	return forms
}

func minimal(raw string) string { return jsonpath.Min(raw) }

func extraction() []*expr.Func {
	extract := at("json_extract", `json_extract('{"a": {"b": 1}}', '$.a') = '{"b":1}'`, "The value at a path, as JSON; NULL if there is none. x -> 'path' is the same.", doc, true,
		func(raw string, found bool) (string, error) {
			if !found {
				return "", each.Null
			}
			return minimal(raw), nil
		})
	str := at("json_extract_string", `json_extract_string('{"a": "x"}', '$.a') = 'x'`, "The value at a path as text, a string without its quotes; NULL if there is none, or null. x ->> 'path' is the same.", text, true,
		func(raw string, found bool) (string, error) {
			if !found || raw == "null" {
				return "", each.Null
			}
			if raw[0] == '"' {
				return jsonpath.Unquote(raw), nil
			}
			return minimal(raw), nil
		})
	scalar := at("json_value", `json_value('{"a": 1}', '$.a') = '1'`, "The value at a path as JSON's text, if it is none of null, array and object; else NULL.", text, true,
		func(raw string, found bool) (string, error) {
			if !found || raw == "null" || raw[0] == '{' || raw[0] == '[' {
				return "", each.Null
			}
			return minimal(raw), nil
		})
	out := append(extract, also("json_extract_path", extract)...)
	out = append(append(out, str...), also("json_extract_path_text", str)...)
	return append(out, scalar...)
}

func questions() []*expr.Func {
	length := func(raw string, found bool) (int64, error) {
		if !found {
			return 0, each.Null
		}
		n := int64(0)
		if raw[0] != '[' {
			return 0, nil
		}
		err := jsonpath.Each(raw, func(_, _ string) error { n++; return nil })
		return n, err
	}
	kind := func(raw string, found bool) (string, error) {
		if !found {
			return "", each.Null
		}
		return typeOf(raw), nil
	}
	keys := func(raw string, found bool) (string, error) {
		if !found {
			return "", each.Null
		}
		return keysOf(raw), nil
	}
	var out []*expr.Func
	out = append(out, alone("json_array_length", "json_array_length('[1, 2, 3]') = 3", "How many elements an array has; 0 of anything else.", num, func(raw string) (int64, error) { return length(raw, true) })...)
	out = append(out, at("json_array_length", `json_array_length('{"a": [1, 2]}', '$.a') = 2`, "The same of the value at a path; NULL if there is none.", num, false, length)...)
	out = append(out, alone("json_type", "json_type('[1]') = 'ARRAY'", "ARRAY, OBJECT, VARCHAR, BOOLEAN, NULL, UBIGINT and BIGINT (whole numbers without and with a minus), or DOUBLE.", text, func(raw string) (string, error) { return kind(raw, true) })...)
	out = append(out, at("json_type", `json_type('{"a": 1}', '$.a') = 'UBIGINT'`, "The same of the value at a path; NULL if there is none.", text, false, kind)...)
	out = append(out, alone("json_keys", `json_keys('{"a": 1, "b": 2}') = '["a","b"]'`, "The keys of an object, as a JSON array; empty of anything else.", doc, func(raw string) (string, error) { return keys(raw, true) })...)
	out = append(out, at("json_keys", `json_keys('{"a": {"b": 2}}', '$.a') = '["b"]'`, "The same of the value at a path; NULL if there is none.", doc, false, keys)...)
	out = append(out, at("json_exists", `json_exists('{"a": null}', '$.a')`, "Whether there is a value at a path.", truth, false, func(_ string, found bool) (bool, error) { return found, nil })...)
	for _, t := range documents {
		for _, u := range documents {
			f := &expr.Func{Name: "json_contains", Args: []vec.Type{t, u}, Out: truth, Doc: "Whether a value is in a document, anywhere: equal to a part of it; of an array some elements are enough, of an object some members.",
				Eval: each.Two(truth, func(a, b string) (bool, error) {
					if err := check(t, a); err != nil {
						return false, err
					}
					if err := check(u, b); err != nil {
						return false, err
					}
					return jsonpath.Contains(strings.Trim(a, " \t\r\n"), strings.Trim(b, " \t\r\n"))
				})}
			if t == doc && u == doc {
				f.Example = `json_contains('{"a": [1, 2]}', '2')`
			}
			out = append(out, f)
		}
	}
	return append(out, &expr.Func{Name: "json_valid", Args: []vec.Type{text}, Out: truth, Example: `json_valid('{"a": 1}')`, Doc: "Whether a text is JSON, by RFC 8259.",
		Eval: each.One(truth, each.Sure(func(s string) bool { return jsonpath.Valid(s) == nil }))})
}

func typeOf(raw string) string {
	switch raw[0] {
	case '{':
		return "OBJECT"
	case '[':
		return "ARRAY"
	case '"':
		return "VARCHAR"
	case 't', 'f':
		return "BOOLEAN"
	case 'n':
		return "NULL"
	}
	if raw[0] == '-' {
		if _, err := strconv.ParseInt(raw, 10, 64); err == nil {
			return "BIGINT"
		}
	} else if _, err := strconv.ParseUint(raw, 10, 64); err == nil {
		return "UBIGINT"
	}
	return "DOUBLE"
}

func keysOf(raw string) string {
	out, first := []byte{'['}, true
	if raw[0] == '{' {
		jsonpath.Each(raw, func(key, _ string) error {
			if !first {
				out = append(out, ',')
			}
			first = false
			out = jsonpath.AppendQuoted(out, key)
			return nil
		})
	}
	return string(append(out, ']'))
}

func making() []*expr.Func {
	toJSON := []*expr.Func{{Name: "to_json", Args: []vec.Type{expr.Any}, Out: doc, Example: `to_json('a') = '"a"'`, Doc: "The value as JSON: numbers and booleans as such, all else as a string.",
		Eval: func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
			return each.Rows(s, doc, args, n, func(i int) (string, error) { return string(appendValue(nil, args[0].At(i))), nil })
		}}}
	object := &expr.Func{Name: "json_object", Args: []vec.Type{expr.Any}, Variadic: true, SeesNulls: true, Out: doc, Example: `json_object('a', 1, 'b', 'x') = '{"a":1,"b":"x"}'`, Doc: "An object of keys and values, in turn."}
	object.Bind = func(env *expr.Env, args []expr.Expr) (expr.Eval, error) {
		if len(args)%2 != 0 {
			return nil, fail.New(fail.Type, "json_object takes keys and values in turn: an even number of arguments")
		}
		return together(env, '{'), nil
	}
	array := &expr.Func{Name: "json_array", Args: []vec.Type{expr.Any}, Variadic: true, SeesNulls: true, Out: doc, Example: `json_array(1, 'a', NULL) = '[1,"a",null]'`, Doc: "An array of the arguments.",
		Bind: func(env *expr.Env, _ []expr.Expr) (expr.Eval, error) { return together(env, '['), nil }}
	out := alone("json", `json('{ "a" : 1 }') = '{"a":1}'`, "The text as JSON, without white space.", doc, func(raw string) (string, error) { return minimal(raw), nil })
	out = append(append(out, toJSON...), also("json_quote", toJSON)...)
	return append(out, object, array)
}

// together makes an object or an array of all arguments.
func together(env *expr.Env, open byte) expr.Eval {
	return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
		var buf []byte
		var made each.Texts
		return each.Rows(s, doc, args, n, func(i int) (string, error) {
			buf = append(buf[:0], open)
			for k, a := range args {
				v := a.At(i)
				key := open == '{' && k%2 == 0
				switch {
				case key && v.Type == vec.Null:
					return "", fail.New(fail.Value, "json_object: a key that is NULL")
				case key && k > 0, !key && open == '[' && k > 0:
					buf = append(buf, ',')
				}
				switch {
				case key:
					buf = append(jsonpath.AppendQuoted(buf, value.Format(v)), ':')
				default:
					buf = appendValue(buf, v)
				}
				if env.MaxText > 0 && len(buf) > env.MaxText {
					return "", fail.New(fail.TooLarge, "a JSON value of more than %d bytes, the limit of one value", env.MaxText)
				}
			}
			buf = append(buf, open+2)
			return made.Make(buf), nil
		})
	}
}

// appendValue writes a value as JSON.
func appendValue(dst []byte, v vec.Value) []byte {
	switch v.Type {
	case vec.Null:
		return append(dst, "null"...)
	case vec.Bool:
		return strconv.AppendBool(dst, v.Int != 0)
	case vec.Int:
		return strconv.AppendInt(dst, v.Int, 10)
	case vec.Double:
		return jsonpath.AppendDouble(dst, v.Double)
	case vec.JSON:
		return jsonpath.AppendMin(dst, v.Text)
	}
	return jsonpath.AppendQuoted(dst, value.Format(v))
}
