package expr

import (
	"encoding/json"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/sql"
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

func (b *binder) typeOf(n *sql.TypeName) (vec.Type, error) {
	t, ok := TypeOf(n.Name)
	if !ok {
		return 0, fail.At(n, fail.Unsupported, "there is no type %s; there are BOOLEAN, BIGINT, DOUBLE, VARCHAR, JSON, BLOB, TIMESTAMPTZ, TIMESTAMP, DATE and INTERVAL", n.Name)
	}
	return t, nil
}

func (b *binder) typed(e *sql.Typed) (Expr, error) {
	t, err := b.typeOf(&e.Type)
	if err != nil {
		return nil, err
	}
	v, err := parseText(e.Text, t)
	if err != nil {
		return nil, fail.At(e, fail.Value, "%s", err.Error())
	}
	return &Const{t, v}, nil
}

func (b *binder) cast(e *sql.Cast) (Expr, error) {
	t, err := b.typeOf(&e.Type)
	if err != nil {
		return nil, err
	}
	o, err := b.operand(e.X)
	if err != nil {
		return nil, err
	}
	x := o.general()
	if o.mixed != nil {
		x = o.mixed.As(t)
	}
	if !castable(x.Type(), t) {
		return nil, fail.At(e, fail.Type, "%s cannot be cast to %s%s", x.Type(), t, castHint(x.Type(), t))
	}
	return casting(x, t, e.Try, e), nil
}

func castHint(from, to vec.Type) string {
	switch {
	case (from == vec.Int || from == vec.Double) && (to == vec.Timestamp || to == vec.TimestampTZ):
		return "; to_timestamp(seconds) gives a time"
	case to == vec.Int || to == vec.Double:
		return "; epoch(time) gives its seconds, epoch_ns(time) its nanoseconds"
	}
	return ""
}

// castable tells whether there is a CAST.
func castable(from, to vec.Type) bool {
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

// convert makes an operand one of type t, where the place allows it.
func convert(x Expr, t vec.Type, at fail.Placed) Expr {
	if x.Type() == t {
		return x
	}
	return casting(x, t, false, at)
}

// CastTo is the cast that a place does by itself, for which e is of type t; an error names both types.
func CastTo(e Expr, t vec.Type, at fail.Placed) (Expr, error) {
	if _, ok := implicitCost(e.Type(), t); !ok {
		return nil, fail.At(at, fail.Type, "%s is %s; %s is wanted here: CAST it", e, e.Type(), t)
	}
	return convert(e, t, at), nil
}

// casting is CAST, or with try TRY_CAST.
func casting(x Expr, t vec.Type, try bool, at fail.Placed) Expr {
	from := x.Type()
	if from == t {
		return x
	}
	if from == vec.Null {
		return &Const{T: t}
	}
	name := "CAST"
	if try {
		name = "TRY_CAST"
	}
	return fold(&op{name: name, t: t, args: []Expr{x}, run: castKernel(from, t, try, at), mayFail: !try && castFails(from, t), rises: rising(from, t),
		show: func(args []Expr) string { return name + "(" + args[0].String() + " AS " + t.String() + ")" }})
}

// castFails tells whether a CAST may be an error.
func castFails(from, to vec.Type) bool {
	switch {
	case to == vec.Text && from != vec.Blob, from == vec.Int && to == vec.Double, from == vec.Bool, to == vec.Bool && from != vec.Text && from != vec.JSON,
		from == vec.Timestamp && to == vec.TimestampTZ, from == vec.TimestampTZ && to == vec.Timestamp, to == vec.Date && from != vec.Text && from != vec.JSON,
		to == vec.JSON && from != vec.Text:
		return false
	}
	return true
}

// rising tells whether a CAST keeps the order of values.
func rising(from, to vec.Type) bool {
	number := func(t vec.Type) bool { return t == vec.Int || t == vec.Double }
	return number(from) && number(to) || from.HasInts() && to.HasInts() && from != vec.Bool && to != vec.Bool || from == vec.JSON && to == vec.Text
}

func castKernel(from, to vec.Type, try bool, at fail.Placed) kernel {
	switch {
	case from == vec.Int && to == vec.Double, from == vec.Bool && to == vec.Double:
		return func(_ *Scratch, args []*vec.Vector, n int, _ []bool) (*vec.Vector, error) {
			out := vec.New(vec.Double, n)
			for i, x := range args[0].Ints[:n] {
				out.Doubles[i] = float64(x)
			}
			return out, nil
		}
	case from.HasInts() && to.HasInts() && from != vec.Date && to != vec.Date && to != vec.Bool, from == vec.JSON && to == vec.Text:
		return func(_ *Scratch, args []*vec.Vector, n int, _ []bool) (*vec.Vector, error) {
			out := *args[0].Flat() // the same values under another type
			out.Type = to
			out.Nulls = nil
			return &out, nil
		}
	}
	if to == vec.Text {
		return textKernel(AppendFormat)
	}
	return func(s *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
		out := vec.New(to, n)
		for i := range n {
			if nulls != nil && nulls[i] {
				continue
			}
			v, err := castValue(args[0].At(i), to)
			switch {
			case err == nil:
				out.Set(i, v)
			case try:
				out.SetNull(i)
			default:
				return nil, fail.At(at, fail.Value, "%s; TRY_CAST gives NULL instead", err.Error())
			}
		}
		return out, nil
	}
}

// textKernel makes texts of values; they share one string.
func textKernel(format func([]byte, vec.Value) []byte) kernel {
	return func(_ *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
		out := vec.New(vec.Text, n)
		buf := make([]byte, 0, 16*n)
		ends := make([]int, n)
		for i := range n {
			if nulls == nil || !nulls[i] {
				buf = format(buf, args[0].At(i))
			}
			ends[i] = len(buf)
		}
		all, start := string(buf), 0
		for i, end := range ends {
			out.Texts[i] = all[start:end]
			start = end
		}
		return out, nil
	}
}

// CastValue casts a value that is not NULL; false: it has no such value.
func CastValue(v vec.Value, to vec.Type) (vec.Value, bool) {
	if !castable(v.Type, to) {
		return vec.Value{}, false
	}
	out, err := castValue(v, to)
	return out, err == nil
}

// castValue casts a value that is not NULL, between types that are castable.
func castValue(v vec.Value, to vec.Type) (vec.Value, error) {
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
		return parseText(v.Text, to)
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
		return parseText(v.Text, vec.JSON)
	case vec.Bool, vec.Int:
		return vec.Value{Type: vec.JSON, Text: Format(v)}, nil
	case vec.Double:
		if !math.IsNaN(v.Double) && !math.IsInf(v.Double, 0) {
			return vec.Value{Type: vec.JSON, Text: Format(v)}, nil
		}
	}
	return vec.Value{Type: vec.JSON, Text: string(AppendJSONString(nil, Format(v)))}, nil
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
	return parseText(s, to)
}

// AppendJSONString appends text as a JSON string; bytes that are not UTF-8 become U+FFFD.
func AppendJSONString(dst []byte, text string) []byte {
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
