package value

import (
	"encoding/json"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/vec"
)

// typeNames are the names of types; those of several are one type here.
var typeNames = func() map[string]vec.Type {
	out := map[string]vec.Type{}
	for t, names := range map[vec.Type]string{
		vec.Bool:        "BOOLEAN,BOOL,LOGICAL",
		vec.Int:         "BIGINT,INT8,LONG,INTEGER,INT,INT4,SIGNED,SMALLINT,INT2,SHORT,TINYINT,INT1,INT64,INT32",
		vec.Double:      "DOUBLE,FLOAT8,DOUBLE PRECISION,FLOAT,FLOAT4,REAL,DECIMAL,NUMERIC,DEC",
		vec.Text:        "VARCHAR,TEXT,STRING,CHAR,BPCHAR,CHARACTER VARYING",
		vec.JSON:        "JSON",
		vec.Blob:        "BLOB,BYTEA,BINARY,VARBINARY",
		vec.TimestampTZ: "TIMESTAMPTZ,TIMESTAMP WITH TIME ZONE",
		vec.Timestamp:   "TIMESTAMP,DATETIME,TIMESTAMP_NS,TIMESTAMP_US,TIMESTAMP_MS,TIMESTAMP_S,TIMESTAMP WITHOUT TIME ZONE",
		vec.Date:        "DATE",
		vec.Interval:    "INTERVAL",
	} {
		for _, name := range strings.Split(names, ",") {
			out[name] = t
		}
	}
	return out
}()

// TypeOf is the type that a name means, in upper case, with or without (length) behind it.
func TypeOf(name string) (vec.Type, bool) {
	if i := strings.IndexByte(name, '('); i > 0 {
		end := strings.IndexByte(name, ')')
		if end < i {
			return 0, false
		}
		name = strings.TrimSpace(name[:i]) + name[end+1:]
	}
	t, ok := typeNames[name]
	return t, ok
}

// Castable tells whether there is a CAST.
func Castable(from, to vec.Type) bool {
	number := func(t vec.Type) bool { return t == vec.Bool || t == vec.Int || t == vec.Double }
	moment := func(t vec.Type) bool { return t == vec.Date || t == vec.Timestamp || t == vec.TimestampTZ }
	switch {
	case from == to, from == vec.Null, to == vec.Text, from == vec.Text, to == vec.JSON:
		return true
	case from == vec.JSON:
		return to != vec.Blob
	}
	return number(from) && number(to) || moment(from) && moment(to)
}

// Fallible tells whether a CAST may be an error.
func Fallible(from, to vec.Type) bool {
	switch {
	case to == vec.Text && from != vec.Blob, from == vec.Int && to == vec.Double, from == vec.Bool, to == vec.Bool && from != vec.Text && from != vec.JSON,
		from == vec.Timestamp && to == vec.TimestampTZ, from == vec.TimestampTZ && to == vec.Timestamp, to == vec.Date && from != vec.Text && from != vec.JSON,
		to == vec.JSON && from != vec.Text:
		return false
	}
	return true
}

// Rising tells whether a CAST keeps the order of values.
func Rising(from, to vec.Type) bool {
	number := func(t vec.Type) bool { return t == vec.Int || t == vec.Double }
	return number(from) && number(to) || from.HasInts() && to.HasInts() && from != vec.Bool && to != vec.Bool || from == vec.JSON && to == vec.Text
}

// Cast casts a value that is not NULL, between types that are Castable. Its error says why there is no such value; of JSON's null it is NULL.
func Cast(v vec.Value, to vec.Type) (vec.Value, error) {
	out := vec.Value{Type: to}
	beyond := func() (vec.Value, error) { return vec.Value{}, textError(Format(v), to, "it is beyond its range") }
	switch {
	case v.Type == to:
		return v, nil
	case to == vec.Text:
		out.Text = Format(v)
	case to == vec.JSON:
		return toJSON(v)
	case v.Type == vec.Text:
		return Parse(v.Text, to)
	case v.Type == vec.JSON:
		return fromJSON(v.Text, to)
	case to == vec.Bool && v.Type == vec.Double:
		out.Int = bit(v.Double != 0)
	case to == vec.Bool:
		out.Int = bit(v.Int != 0)
	case to == vec.Double:
		out.Double = float64(v.Int)
	case v.Type == vec.Double:
		f := math.RoundToEven(v.Double)
		if !(f >= math.MinInt64 && f < -math.MinInt64) {
			return beyond()
		}
		out.Int = int64(f)
	case v.Type == vec.Date:
		n, err := calendar.FromDate(v.Int)
		if err != nil {
			return vec.Value{}, err
		}
		out.Int = n
	case to == vec.Date:
		out.Int, _ = calendar.Split(v.Int)
	default:
		out.Int = v.Int
	}
	return out, nil
}

func toJSON(v vec.Value) (vec.Value, error) {
	switch v.Type {
	case vec.Text:
		return Parse(v.Text, vec.JSON)
	case vec.Bool, vec.Int:
		return vec.Value{Type: vec.JSON, Text: Format(v)}, nil
	case vec.Double:
		if !math.IsNaN(v.Double) && !math.IsInf(v.Double, 0) {
			return vec.Value{Type: vec.JSON, Text: Format(v)}, nil
		}
	}
	return vec.Value{Type: vec.JSON, Text: string(appendJSONString(nil, Format(v)))}, nil
}

// fromJSON is the value of a JSON string or scalar; of null it is NULL.
func fromJSON(text string, to vec.Type) (vec.Value, error) {
	s := strings.Trim(text, blanks)
	if s == "null" {
		return vec.Value{}, nil
	}
	if strings.HasPrefix(s, `"`) {
		var inner string
		if err := json.Unmarshal([]byte(s), &inner); err != nil {
			return vec.Value{}, textError(text, to, "")
		}
		s = inner
	}
	return Parse(s, to)
}

// appendJSONString appends text as a JSON string; bytes that are not UTF-8 become U+FFFD.
func appendJSONString(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\b':
			dst = append(dst, `\b`...)
		case r == '\f':
			dst = append(dst, `\f`...)
		case r < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
