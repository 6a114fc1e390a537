package sql

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/togodb/togo/query/fail"
)

// tree draws an expression as Parse could make it.
func tree(t *rapid.T, depth int) Expr {
	if depth == 0 {
		return leaf(t)
	}
	sub := func() Expr { return tree(t, rapid.IntRange(0, depth-1).Draw(t, "depth")) }
	some := func(least int) []Expr {
		var out []Expr
		for range rapid.IntRange(least, 3).Draw(t, "n") {
			out = append(out, sub())
		}
		return out
	}
	not := rapid.Bool().Draw(t, "not")
	switch rapid.IntRange(0, 12).Draw(t, "kind") {
	case 0:
		return &Unary{Op: rapid.SampledFrom([]string{"-", "+", "~", "NOT"}).Draw(t, "prefix"), X: sub()}
	case 1, 2, 3:
		op := rapid.SampledFrom(strings.Fields("+ - * / // % || = <> < <= > >= AND OR -> ->> & | << >>")).Draw(t, "operator")
		return &Binary{Op: op, L: sub(), R: sub()}
	case 4:
		return &Distinct{Not: not, L: sub(), R: sub()}
	case 5:
		return &Between{Not: not, X: sub(), Low: sub(), High: sub()}
	case 6:
		return &In{Not: not, X: sub(), List: some(1)}
	case 7:
		return &Is{Not: not, X: sub(), What: rapid.SampledFrom([]string{"NULL", "TRUE", "FALSE"}).Draw(t, "what")}
	case 8:
		l := &Like{Not: not, Fold: rapid.Bool().Draw(t, "fold"), X: sub(), Pattern: sub()}
		if rapid.Bool().Draw(t, "escape") {
			l.Escape = sub()
		}
		return l
	case 9:
		c := &Case{Whens: []When{{sub(), sub()}}}
		if rapid.Bool().Draw(t, "operand") {
			c.Operand, c.Else = sub(), sub()
		}
		return c
	case 10:
		name := rapid.SampledFrom([]string{"INT", "TIMESTAMP WITH TIME ZONE", "DECIMAL(10,2)", "DOUBLE PRECISION"}).Draw(t, "type")
		return &Cast{Try: not, X: sub(), Type: TypeName{Name: name}}
	case 11:
		return &Row{Items: some(1)}
	}
	c := &Call{Name: rapid.SampledFrom([]string{"f", "count", "left", "trim", "substring", "extract", "order", "a b"}).Draw(t, "function"), Args: some(1), Distinct: not}
	if rapid.Bool().Draw(t, "order") {
		c.OrderBy = []Order{{Expr: sub(), Desc: not, NullsFirst: !not}}
		c.Filter = sub()
	}
	return c
}

func leaf(t *rapid.T) Expr {
	switch rapid.IntRange(0, 5).Draw(t, "leaf") {
	case 0:
		return &Number{Text: rapid.SampledFrom([]string{"0", "1.5", ".5", "1.", "1e10"}).Draw(t, "number")}
	case 1:
		return &Text{Value: rapid.SampledFrom([]string{"", "it's", "-- x", "/*", `\`, "ü\n"}).Draw(t, "text")}
	case 2:
		return &Typed{Type: TypeName{Name: rapid.SampledFrom([]string{"DATE", "INTERVAL", "TIMESTAMP WITH TIME ZONE"}).Draw(t, "type")}, Text: "1 day"}
	case 3:
		return &Null{}
	case 4:
		return &Ident{Qualifier: rapid.SampledFrom([]string{"", "t", "from"}).Draw(t, "table"), Quoted: true,
			Name: rapid.SampledFrom([]string{"a", "http.status", `a"b`, "select", "current_date", "%-"}).Draw(t, "quoted")}
	}
	return &Ident{Name: rapid.SampledFrom([]string{"a", "ü1", "interval", "position", "at", "escape", "row", "left_"}).Draw(t, "name")}
}

func TestEveryTreeReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &Statement{Select: &Select{Items: []Item{{Expr: tree(t, 4)}, {Expr: tree(t, 2), Alias: "order"}}, Where: tree(t, 3)}}
		text := s.String()
		back, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		clearPlaces(reflect.ValueOf(back))
		if !reflect.DeepEqual(s, back) {
			t.Fatalf("%s reads back as %s", text, back)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, file := range []string{"accepted", "refused"} {
		b, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split(string(b), "parse\n") {
			query, _, _ := strings.Cut(part, "\n----")
			f.Add(query)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			var e *fail.Error
			if !errors.As(err, &e) {
				t.Fatalf("%q: %v is no *fail.Error", text, err)
			}
			lines := strings.Split(text, "\n")
			if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > len([]rune(lines[e.Line-1]))+1 {
				t.Fatalf("%q: the error is outside of the text: %v", text, err)
			}
			return
		}
		if _, err := Parse(s.String()); fail.CodeOf(err) == fail.TooLarge {
			return // the parentheses of String
		}
		again(t, s)
	})
}
