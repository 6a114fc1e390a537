package expr

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

// table is a Scope over columns by name.
type table struct {
	columns []*Column
	mixed   map[string]*Mixed
}

func (s *table) Column(id *sql.Ident) (Resolved, error) {
	if m := s.mixed[id.Name]; m != nil {
		return Resolved{Mixed: m}, nil
	}
	for _, c := range s.columns {
		if c.Name == id.Name {
			return Resolved{Expr: c}, nil
		}
	}
	return Resolved{}, fail.At(id, fail.UnknownColumn, "there is no column %s", id.Name)
}

func (s *table) Call(*sql.Call) (Expr, bool, error) { return nil, false, nil }

var testEnv = &Env{Now: time.Unix(1767225600, 0), MaxText: 1 << 20, MaxPattern: 1 << 10, Functions: Library{"halved": {halved}}}

// halved is a function that rises, and is NULL for some values.
var halved = &Func{Name: "halved", Args: []vec.Type{vec.Int}, Out: vec.Int, Rises: true,
	Eval: func(_ *Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
		out := vec.New(vec.Int, n)
		for i := range n {
			if v := args[0].At(i); v.Int == 2 {
				out.SetNull(i)
			} else {
				out.Ints[i] = v.Int / 2
			}
		}
		return out, nil
	}}

// parse reads one expression.
func parse(t testing.TB, text string) sql.Expr {
	t.Helper()
	s, err := sql.Parse("SELECT " + text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s.Select.Items[0].Expr
}

func bind(t testing.TB, scope Scope, text string) Expr {
	t.Helper()
	e, err := Bind(parse(t, text), scope, testEnv)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

// TestConstants holds the answers of DuckDB 1.5.6 beside ours. Lines of testdata/duckdb.txt are an expression, its value
// as VARCHAR or "ERR", and its type, apart by tabs; types are those that the names of DuckDB mean here.
func TestConstants(t *testing.T) {
	meant := map[string]string{}
	for _, line := range lines(t, "testdata/differences.txt") {
		meant[line[0]] = strings.TrimSuffix(line[1]+"\t"+line[2], "\t")
	}
	for _, line := range lines(t, "testdata/duckdb.txt") {
		text, duck := line[0], strings.Join(line[1:], "\t")
		want, differs := meant[text]
		delete(meant, text)
		if !differs {
			want = duck
		} else if want == duck {
			t.Errorf("%s: differences.txt names no difference", text)
		}
		if got := answer(t, text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	for text := range meant {
		t.Errorf("differences.txt has %s, duckdb.txt has not", text)
	}
}

// lines are a file's, each split at its tabs.
func lines(t *testing.T, name string) [][]string {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out [][]string
	for in := bufio.NewScanner(f); in.Scan(); {
		if line := strings.Split(in.Text(), "\t"); len(line) > 1 {
			out = append(out, line)
		}
	}
	if len(out) < 10 {
		t.Fatalf("%s: %d lines", name, len(out))
	}
	return out
}

// answer is a constant expression's value and type, or ERR.
func answer(t *testing.T, text string) string {
	e, err := Bind(parse(t, text), &table{}, testEnv)
	if err != nil {
		return "ERR"
	}
	v, err := e.Eval(&Scratch{Ctx: context.Background()}, &vec.Batch{Len: 1})
	if err != nil {
		var known *fail.Error
		if !errors.As(err, &known) {
			t.Errorf("%s: %v is no *fail.Error", text, err)
		}
		return "ERR"
	}
	if v.Type != e.Type() && v.Type != vec.Null {
		t.Errorf("%s: %s, not %s", text, v.Type, e.Type())
	}
	return value.Format(v.At(0)) + "\t" + e.Type().String()
}
