package fragment

import (
	"fmt"

	"github.com/togodb/togo/internal/event/jsonscan"
	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// leaf puts a value into its column, or marks it for _rest.
func (b *builder) leaf(row int, node *keyNode, t int) {
	token, raw := &b.tape.Tokens[t], b.tape.Raw(t)
	var f *filledColumn
	switch token.Kind {
	case jsonscan.Bool:
		if f = b.columnFor(node, row, Boolean); f != nil {
			f.data.AppendBool(row, raw[0] == 't')
		}
	case jsonscan.String:
		if f = b.columnFor(node, row, String); f != nil {
			if token.Has(jsonscan.Escaped) {
				b.text = b.tape.AppendString(b.text[:0], t)
				raw = b.text
			}
			f.data.AppendBytes(row, raw)
		}
	case jsonscan.Array:
		if f = b.columnFor(node, row, JSON); f != nil {
			b.text = appendCompact(b.text[:0], raw, token.Has(jsonscan.LoneSurrogate))
			f.data.AppendBytes(row, b.text)
		}
	case jsonscan.Number:
		f = b.number(row, node, raw, token.Has(jsonscan.Integer))
	default:
		panic(fmt.Sprintf("fragment: token of kind %d", token.Kind))
	}
	if f == nil {
		b.rest = append(b.rest, t)
		return
	}
	if node.dotted {
		b.noteDots()
	}
}

func (b *builder) number(row int, node *keyNode, raw []byte, integer bool) *filledColumn {
	n := classify(raw, integer)
	if n.kind == Int64 && -maxExactInteger <= n.i && n.i <= maxExactInteger {
		if e := b.entry(node); e.columns[Int64] == nil && e.columns[Double] != nil {
			n = number{kind: Double, f: float64(n.i)}
		}
	}
	f := b.columnFor(node, row, n.kind)
	if f == nil {
		return nil
	}
	switch n.kind {
	case Int64:
		f.data.AppendInt(row, n.i)
	case Double:
		f.data.AppendDouble(row, n.f)
	default:
		f.data.AppendBytes(row, raw)
	}
	return f
}

// entry is the path of a node with its columns; b.keys lead to the node if it has no path yet.
func (b *builder) entry(node *keyNode) *pathEntry {
	if node.fragment != b.fragment {
		if node.path == "" {
			node.path = b.pathOf(b.keys)
		}
		node.entry, node.fragment = b.entryOf(node.path), b.fragment
	}
	return node.entry
}

// pathOf joins keys; what is longer than MaxPathBytes is cut there, and stands for no path.
func (b *builder) pathOf(keys [][]byte) string {
	b.path = b.path[:0]
	for i, key := range keys {
		if i > 0 {
			b.path = append(b.path, '.')
		}
		if b.path = appendKey(b.path, key); len(b.path) > MaxPathBytes {
			return string(b.path[:MaxPathBytes+1])
		}
	}
	return string(b.path)
}

func (b *builder) entryOf(path string) *pathEntry {
	if len(path) > MaxPathBytes {
		return noEntry
	}
	if e := b.entries[path]; e != nil {
		return e
	}
	var columns [numTypes]*filledColumn
	any := false
	for t := Boolean; t <= JSON; t++ {
		if known, ok := b.known.Lookup(path, t); ok {
			columns[t], any = b.newColumn(PathType{path, t}, known), true
		}
	}
	if !any && b.closed() {
		return noEntry
	}
	e := b.entryPool.get()
	e.path, e.lastRow, e.columns = path, -1, columns
	b.entries[path] = e
	return e
}

func (b *builder) newColumn(of PathType, known Column) *filledColumn {
	f := b.columnPool.get()
	f.PathType, f.known = of, known
	return f
}

// closed tells that no new column may be asked for.
func (b *builder) closed() bool {
	return b.fixed || len(b.known.list)+len(b.need) >= b.known.max
}

// columnFor gives the column for a value of a type in a row, and takes the row's place
// under the path; nil if the value goes to _rest.
func (b *builder) columnFor(node *keyNode, row int, t Type) *filledColumn {
	e := b.entry(node)
	if e == noEntry || e.lastRow == row {
		return nil
	}
	f := e.columns[t]
	if f == nil {
		if b.closed() {
			return nil
		}
		f = b.newColumn(PathType{e.path, t}, Column{})
		e.columns[t] = f
		b.need = append(b.need, f.PathType)
	}
	if f.data == nil {
		f.data = b.column(f.known.Name, f.known.FieldID, fileKind(t))
		b.filled = append(b.filled, f)
	}
	e.lastRow = row
	return f
}

func fileKind(t Type) parquetfile.Kind {
	switch t {
	case Boolean:
		return parquetfile.Boolean
	case Int64:
		return parquetfile.Int64
	case Double:
		return parquetfile.Double
	case String:
		return parquetfile.String
	}
	return parquetfile.JSON
}

// noteDots adds b.keys, of which one holds a dot, to _keys.
func (b *builder) noteDots() {
	if len(b.dotted) == 0 {
		b.dotted = append(b.dotted, '[')
	} else {
		b.dotted = append(b.dotted, ',')
	}
	for i, k := range b.keys {
		if i == 0 {
			b.dotted = append(b.dotted, '[')
		} else {
			b.dotted = append(b.dotted, ',')
		}
		b.dotted = appendString(b.dotted, k)
	}
	b.dotted = append(b.dotted, ']')
}
