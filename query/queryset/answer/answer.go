// Package answer holds answers of queries in a form that any engine's can be brought to, compares them, and writes
// them down: what tests hold one engine's answer against another's with.
package answer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/togodb/togo/query/vec"
)

// Answer is the rows of a query, or the class of its error.
type Answer struct {
	Types []string `json:"types,omitempty"` // of the columns, as in SQL
	Rows  []Row    `json:"rows"`
	// Error is set if there was one; then Rows mean nothing.
	Error string `json:"error,omitempty"`
}

// Row is one row's values.
type Row []Cell

// Cell is one value as text behind a letter for its type: n NULL, b BOOLEAN, i BIGINT, d DOUBLE, s VARCHAR, j JSON, x BLOB (hex),
// t TIMESTAMPTZ and w TIMESTAMP (nanoseconds since 1970), a DATE (days), v INTERVAL (months, days, nanoseconds).
type Cell string

// Null is NULL of any type.
const Null Cell = "n"

// Double is the cell of a float.
func Double(f float64) Cell { return Cell("d" + strconv.FormatFloat(f, 'g', -1, 64)) }

// Int is a cell of whole numbers: of BIGINT ('i'), times and dates.
func Int(kind byte, n int64) Cell { return Cell(string(kind) + strconv.FormatInt(n, 10)) }

// JSON is the cell of a JSON text: without white space between tokens, with the keys of objects in order and with one way to write a
// number, as engines write these as they like.
func JSON(text string) Cell {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return Cell("j" + text)
	}
	v = decimals(v)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return Cell("j" + text)
	}
	return Cell("j" + strings.TrimSuffix(b.String(), "\n"))
}

// decimals writes each number as digits without zeros at either end, and an exponent.
func decimals(v any) any {
	switch v := v.(type) {
	case json.Number:
		digits, exponent, _ := strings.Cut(strings.ToLower(string(v)), "e")
		e, err := strconv.Atoi(cmp.Or(exponent, "0"))
		if err != nil {
			return v
		}
		sign := ""
		if strings.HasPrefix(digits, "-") {
			sign, digits = "-", digits[1:]
		}
		whole, fraction, _ := strings.Cut(digits, ".")
		e -= len(fraction)
		digits = strings.TrimLeft(whole+fraction, "0")
		short := strings.TrimRight(digits, "0")
		e += len(digits) - len(short)
		if short == "" {
			return json.Number(sign + "0")
		}
		if e == 0 {
			return json.Number(sign + short)
		}
		return json.Number(fmt.Sprintf("%s%se%d", sign, short, e))
	case []any:
		for i := range v {
			v[i] = decimals(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = decimals(v[k])
		}
	}
	return v
}

// Interval is a cell of one.
func Interval(s vec.Span) Cell { return Cell(fmt.Sprintf("v%d %d %d", s.Months, s.Days, s.Nanos)) }

var letters = map[vec.Type]byte{vec.Bool: 'b', vec.Int: 'i', vec.TimestampTZ: 't', vec.Timestamp: 'w', vec.Date: 'a'}

// Of is the cell of a value.
func Of(v vec.Value) Cell {
	switch v.Type {
	case vec.Null:
		return Null
	case vec.Double:
		return Double(v.Double)
	case vec.Text:
		return Cell("s" + v.Text)
	case vec.JSON:
		return JSON(v.Text)
	case vec.Blob:
		return Cell(fmt.Sprintf("x%x", v.Text))
	case vec.Interval:
		return Interval(v.Span)
	}
	return Int(letters[v.Type], v.Int)
}

// Batch appends the rows of a batch.
func (a *Answer) Batch(b *vec.Batch) {
	for i := range b.Len {
		row := make(Row, len(b.Cols))
		for c, v := range b.Cols {
			row[c] = Of(v.At(i))
		}
		a.Rows = append(a.Rows, row)
	}
}

// Rules say how two answers are compared.
type Rules struct {
	Ordered bool `json:"ordered,omitempty"` // rows have to come in the same order
	// Some: got is any so many of the rows that are wanted, or all if there are fewer: LIMIT without ORDER BY.
	Some *int `json:"some,omitempty"`
	Skip int  `json:"skip,omitempty"` // OFFSET beside Some
	// Loose are columns whose numbers are estimates: they may be off by this part of the value, and by 2.
	Loose map[int]float64 `json:"loose,omitempty"`
}

// Tolerance is how far, relative to the greater, two doubles may lie apart.
const Tolerance = 1e-9

// Difference says what differs between two answers; "" if nothing does.
func Difference(want, got *Answer, rules Rules) string {
	switch {
	case want.Error != "" && got.Error != "":
		return ""
	case got.Error != "":
		return fmt.Sprintf("error %s; %d rows wanted", got.Error, len(want.Rows))
	case want.Error != "":
		return fmt.Sprintf("%d rows; error wanted: %s", len(got.Rows), want.Error)
	case rules.Some != nil:
		return someOf(want, got, rules)
	case len(want.Rows) != len(got.Rows):
		return fmt.Sprintf("%d rows, %d wanted%s", len(got.Rows), len(want.Rows), example(want, got, rules))
	}
	a, b := want.Rows, got.Rows
	if !rules.Ordered {
		a, b = sorted(a, rules), sorted(b, rules)
	}
	for i := range a {
		if !same(a[i], b[i], rules) {
			if !rules.Ordered && regroup(a, b, i, rules) {
				continue
			}
			return fmt.Sprintf("row %d: %s, wanted %s", i, show(b[i]), show(a[i]))
		}
	}
	return ""
}

// someOf compares with a part of the rows.
func someOf(want, got *Answer, rules Rules) string {
	if n := min(*rules.Some, max(0, len(want.Rows)-rules.Skip)); len(got.Rows) != n {
		return fmt.Sprintf("%d rows, any %d of %d wanted", len(got.Rows), n, len(want.Rows))
	}
	left := map[string][]Row{}
	for _, r := range want.Rows {
		k := exact(r, rules)
		left[k] = append(left[k], r)
	}
	for _, r := range got.Rows {
		k := exact(r, rules)
		i := slices.IndexFunc(left[k], func(o Row) bool { return same(o, r, rules) })
		if i < 0 {
			return "not wanted, or too often: " + show(r)
		}
		left[k] = slices.Delete(left[k], i, i+1)
	}
	return ""
}

// example names a row that one side has and the other has not.
func example(want, got *Answer, rules Rules) string {
	count := map[string]int{}
	for _, r := range want.Rows {
		count[exact(r, rules)]++
	}
	for _, r := range got.Rows {
		if k := exact(r, rules); count[k] > 0 {
			count[k]--
		} else {
			return "; not wanted, for example: " + show(r)
		}
	}
	for _, r := range want.Rows {
		if count[exact(r, rules)] > 0 {
			return "; missing, for example: " + show(r)
		}
	}
	return ""
}

func show(r Row) string {
	s := fmt.Sprintf("%q", []Cell(r))
	if len(s) > 600 {
		for !utf8.RuneStart(s[600]) {
			s = s[:len(s)-1]
		}
		s = s[:600] + "..."
	}
	return s
}

// exact is what of a row has to be equal to the byte.
func exact(r Row, rules Rules) string {
	var b strings.Builder
	for i, c := range r {
		if _, loose := rules.Loose[i]; loose || c[0] == 'd' {
			c = "d"
		}
		b.WriteString(strconv.Quote(string(c)))
	}
	return b.String()
}

func number(c Cell) float64 {
	f, err := strconv.ParseFloat(string(c[1:]), 64)
	if err != nil && !math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}

type keyed struct {
	key string
	row Row
}

// sorted orders rows by what must be equal, then by their doubles.
func sorted(rows []Row, rules Rules) []Row {
	list := make([]keyed, len(rows))
	for i, r := range rows {
		list[i] = keyed{exact(r, rules), r}
	}
	sort.SliceStable(list, func(i, j int) bool {
		if list[i].key != list[j].key {
			return list[i].key < list[j].key
		}
		for c := range list[i].row {
			x, y := list[i].row[c], list[j].row[c]
			if x[0] == 'd' && y[0] == 'd' {
				if a, b := number(x), number(y); a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
					return a < b || math.IsNaN(b)
				}
			}
		}
		return false
	})
	out := make([]Row, len(rows))
	for i := range list {
		out[i] = list[i].row
	}
	return out
}

// regroup looks among the rows behind i that are exactly alike for one that is the same, and swaps it in: rows of several doubles may
// be in another order where those differ by the tolerance.
func regroup(a, b []Row, i int, rules Rules) bool {
	key := exact(a[i], rules)
	for j := i + 1; j < len(b) && exact(b[j], rules) == key; j++ {
		if same(a[i], b[j], rules) {
			b[i], b[j] = b[j], b[i]
			return true
		}
	}
	return false
}

func same(a, b Row, rules Rules) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if loose, ok := rules.Loose[i]; ok && a[i] != Null && b[i] != Null {
			if x, y := number(a[i]), number(b[i]); math.Abs(x-y) > 2+loose*math.Max(math.Abs(x), math.Abs(y)) {
				return false
			}
			continue
		}
		if a[i] != b[i] && !(a[i][0] == 'd' && b[i][0] == 'd' && near(number(a[i]), number(b[i]))) {
			return false
		}
	}
	return true
}

func near(x, y float64) bool {
	if x == y || math.IsNaN(x) && math.IsNaN(y) {
		return true
	}
	if math.IsInf(x, 0) || math.IsInf(y, 0) || math.IsNaN(x) || math.IsNaN(y) {
		return false
	}
	return math.Abs(x-y) <= Tolerance*math.Max(math.Abs(x), math.Abs(y))+1e-300
}

// Recorded is a query with the answer that it must have, as a line of a file of such.
type Recorded struct {
	Tenant string `json:"tenant"`
	SQL    string `json:"sql"`
	Rules  Rules  `json:"rules"`
	Answer Answer `json:"answer"`
}
