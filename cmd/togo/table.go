package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/api/format"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// table writes an answer in aligned columns, numbers to the right. What a terminal would take for a command is
// written as an escape, so that no event can reach it.
type table struct {
	out     io.Writer
	cut     int // of wider cells the rest is left out; 0: never
	columns []exec.Output
	rows    [][]string
}

func (t *table) Columns(columns []exec.Output) error {
	t.columns = columns
	return nil
}

func (t *table) Batch(b *vec.Batch) error {
	for row := range b.Len {
		cells := make([]string, len(b.Cols))
		for i, v := range b.Cols {
			text, ok := format.Text(v, row)
			if !ok {
				text = "NULL"
			}
			cells[i] = clip(visible(text), t.cut)
		}
		t.rows = append(t.rows, cells)
	}
	return nil
}

func (t *table) End(*query.Summary, format.Statistics) error {
	names := make([]string, len(t.columns))
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		names[i] = clip(visible(c.Name), t.cut)
		widths[i] = width(names[i])
	}
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	rules := make([]string, len(t.columns))
	for i, w := range widths {
		rules[i] = strings.Repeat("-", w)
	}
	t.line(names, widths)
	t.line(rules, widths)
	for _, row := range t.rows {
		t.line(row, widths)
	}
	unit := "rows"
	if len(t.rows) == 1 {
		unit = "row"
	}
	_, err := fmt.Fprintf(t.out, "(%d %s)\n", len(t.rows), unit)
	return err
}

// Fail writes nothing: nothing is written before the end.
func (t *table) Fail(*fail.Error) error { return nil }

// line writes cells; errors come again at the last write.
func (t *table) line(cells []string, widths []int) {
	var b strings.Builder
	for i, cell := range cells {
		if i > 0 {
			b.WriteString("  ")
		}
		pad := strings.Repeat(" ", widths[i]-width(cell))
		if t.columns[i].Type == vec.Int || t.columns[i].Type == vec.Double {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	fmt.Fprintln(t.out, strings.TrimRight(b.String(), " "))
}

// visible writes what does not print, or turns the direction of text, as an escape.
func visible(s string) string {
	clean := true
	for _, r := range s {
		clean = clean && prints(r)
	}
	if clean {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if prints(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

func prints(r rune) bool {
	return unicode.IsPrint(r) || unicode.Is(unicode.Zs, r) || unicode.Is(unicode.M, r)
}

// clip leaves out what is beyond a width.
func clip(s string, most int) string {
	if most <= 0 || len(s) <= most || width(s) <= most {
		return s
	}
	used := 0
	for i, r := range s {
		if used += runeWidth(r); used > most-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// width is how many columns of a terminal a text takes.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// wide are the scripts and signs that take two columns.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x2e80, Hi: 0x303e, Stride: 1}, {Lo: 0x3041, Hi: 0xa4cf, Stride: 1}, {Lo: 0xac00, Hi: 0xd7a3, Stride: 1},
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe30, Hi: 0xfe6f, Stride: 1}, {Lo: 0xff00, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0x1f300, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1}},
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}
