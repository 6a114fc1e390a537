package expr

import (
	"fmt"
	"strings"

	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

func infix(name string) func([]Expr) string {
	return func(args []Expr) string { return "(" + args[0].String() + " " + name + " " + args[1].String() + ")" }
}

func prefix(name string) func([]Expr) string {
	return func(args []Expr) string { return "(" + name + args[0].String() + ")" }
}

func suffix(name string) func([]Expr) string {
	return func(args []Expr) string { return "(" + args[0].String() + " " + name + ")" }
}

func call(name string) func([]Expr) string {
	return func(args []Expr) string { return name + "(" + joined(args, ", ") + ")" }
}

func joined(args []Expr, between string) string {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.String()
	}
	return strings.Join(texts, between)
}

// String is the constant as SQL.
func (c *Const) String() string {
	if c.Value.Type == vec.Null {
		return "NULL"
	}
	text := value.Format(c.Value)
	switch c.T {
	case vec.Text, vec.JSON:
		return quoted(text)
	case vec.Bool, vec.Int, vec.Double:
		return text
	case vec.Blob:
		return quoted(text) + "::BLOB"
	}
	return fmt.Sprintf("%s %s", c.T, quoted(text))
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
