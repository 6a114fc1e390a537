package funcs

import (
	"bufio"
	"context"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

var testEnv = &expr.Env{Now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), MaxText: 1 << 20, MaxPattern: 1 << 10, Functions: Library()}

// columns is a scope of columns by name.
type columns []*expr.Column

func (s columns) Column(id *sql.Ident) (expr.Resolved, error) {
	for _, c := range s {
		if c.Name == id.Name {
			return expr.Resolved{Expr: c}, nil
		}
	}
	return expr.Resolved{}, fail.At(id, fail.UnknownColumn, "there is no column %s", id.Name)
}

func (columns) Call(*sql.Call) (expr.Expr, bool, error) { return nil, false, nil }

func bind(text string, scope columns) (expr.Expr, error) {
	s, err := sql.Parse("SELECT " + text)
	if err != nil {
		return nil, err
	}
	return expr.Bind(s.Select.Items[0].Expr, scope, testEnv)
}

// answer is an expression's value and type over a batch's first row, or ERR; err is the error.
func answer(t *testing.T, text string, scope columns, batch *vec.Batch) (string, error) {
	t.Helper()
	e, err := bind(text, scope)
	if err != nil {
		return "ERR", err
	}
	v, err := e.Eval(&expr.Scratch{Ctx: context.Background()}, batch)
	if err != nil {
		var known *fail.Error
		if !errors.As(err, &known) {
			t.Errorf("%s: %v is no *fail.Error", text, err)
		}
		return "ERR", err
	}
	if v.Type != e.Type() && v.Type != vec.Null {
		t.Errorf("%s: %s, not %s", text, v.Type, e.Type())
	}
	return quote(value.Format(v.At(0))) + "\t" + e.Type().String(), nil
}

// quote writes what would break a line as Go does.
func quote(s string) string {
	q := strconv.Quote(s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
}

func TestExamples(t *testing.T) {
	for _, k := range Kinds() {
		for _, f := range k.Funcs {
			if f.Doc == "" {
				t.Errorf("%s has no Doc", f.Name)
			}
			if f.Example == "" {
				continue
			}
			if !strings.Contains(f.Example, f.Name) {
				t.Errorf("%s: the example %s is another's", f.Name, f.Example)
			}
			if got, err := answer(t, f.Example, nil, &vec.Batch{Len: 1}); got != "true\tBOOLEAN" {
				t.Errorf("%s: %s, %v", f.Example, got, err)
			}
		}
	}
}

// Every function has an example, or says which it is the same as.
func TestEachNameIsShown(t *testing.T) {
	for name, forms := range Library() {
		shown := false
		for _, f := range forms {
			shown = shown || f.Example != "" || strings.HasPrefix(f.Doc, "The same as ")
		}
		if !shown {
			t.Errorf("%s has no example", name)
		}
	}
}

// DuckDB's answers to calls, and where ours are meant to differ. Lines are an expression, its value as VARCHAR or
// ERR, and its type, apart by tabs; of the differences a reason besides.
func TestAgainstDuckDB(t *testing.T) {
	meant := map[string]string{}
	for _, line := range lines(t, "testdata/differences.txt") {
		if len(line) < 4 || line[3] == "" {
			t.Fatalf("differences.txt: %s without a reason", line[0])
		}
		meant[line[0]] = strings.TrimSuffix(line[1]+"\t"+line[2], "\t")
	}
	for _, line := range lines(t, "testdata/duckdb.txt") {
		text, want := line[0], strings.Join(line[1:], "\t")
		ours, differs := meant[text]
		delete(meant, text)
		if differs {
			if ours == want {
				t.Errorf("%s: differences.txt names no difference", text)
			}
			want = ours
		}
		if got, err := answer(t, text, nil, &vec.Batch{Len: 1}); got != want {
			t.Errorf("%s\n got %s %v\nwant %s", text, got, err, want)
		}
	}
	for text := range meant {
		t.Errorf("differences.txt has %s, duckdb.txt has not", text)
	}
}

func lines(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out [][]string
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if line := strings.Split(in.Text(), "\t"); len(line) > 1 && !strings.HasPrefix(line[0], "#") {
			out = append(out, line)
		}
	}
	return out
}

// Functions that say that they rise do, and over what surely lies in a file: times before and after 1970, numbers of both signs.
func TestRising(t *testing.T) {
	values := map[vec.Type][]vec.Value{}
	for at := int64(-3e18); at < 3e18; at += 7919e13 {
		values[vec.TimestampTZ] = append(values[vec.TimestampTZ], vec.Value{Type: vec.TimestampTZ, Int: at})
		values[vec.Timestamp] = append(values[vec.Timestamp], vec.Value{Type: vec.Timestamp, Int: at})
		values[vec.Date] = append(values[vec.Date], vec.Value{Type: vec.Date, Int: at / 86400e9})
		values[vec.Int] = append(values[vec.Int], vec.Value{Type: vec.Int, Int: at})
		values[vec.Double] = append(values[vec.Double], vec.Value{Type: vec.Double, Double: float64(at) / 3e17})
	}
	values[vec.Double] = append(values[vec.Double], vec.Value{Type: vec.Double, Double: math.Inf(1)}, vec.Value{Type: vec.Double, Double: math.NaN()})
	count := 0
	for name, forms := range Library() {
		for _, f := range forms {
			if !f.Rises {
				continue
			}
			count++
			at := f.Args[len(f.Args)-1]
			call := name + "(c)"
			if len(f.Args) == 2 {
				call = name + "('month', c)"
			}
			if name == "time_bucket" {
				call = "time_bucket(INTERVAL '5 months', c)"
			}
			e, err := bind(call, columns{{Name: "c", T: at}})
			if err != nil {
				t.Error(err)
				continue
			}
			in := vec.Of(at, values[at]...)
			out, err := e.Eval(&expr.Scratch{Ctx: context.Background()}, &vec.Batch{Len: in.Len, Cols: []*vec.Vector{in}})
			if err != nil {
				t.Errorf("%s: %v", call, err)
				continue
			}
			for i := 1; i < out.Len; i++ {
				if value.Compare(out.At(i-1), out.At(i)) > 0 {
					t.Errorf("%s of a %s falls from %s to %s at %s", call, at, value.Format(out.At(i-1)), value.Format(out.At(i)), value.Format(in.At(i)))
					break
				}
			}
		}
	}
	e, err := bind("time_bucket(to_hours(c), TIMESTAMP '2026-03-31 10:20:30') > TIMESTAMP '2026-03-31'", columns{{Name: "c", T: vec.Int}})
	if err != nil {
		t.Fatal(err)
	}
	if v := expr.Judge(e, func(int) expr.Bounds {
		return expr.Bounds{Rows: 2, Known: true, Min: vec.Value{Type: vec.Int, Int: 1}, Max: vec.Value{Type: vec.Int, Int: 24 * 400}}
	}); v != expr.Maybe {
		t.Errorf("a width that rises gives a verdict %d", v)
	}
	if count < 30 {
		t.Errorf("%d functions rise", count)
	}
}
