package fragment

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/togodb/togo/internal/event/jsonscan"
)

// Event is one row of an events' fragment. It is valid until the next row.
type Event struct {
	Meta
	scan *rowScan
	tree *asSent
}

// Events yields the rows of an events' fragment in the file's order. An Event is valid
// until the next. It ends at the first error.
func (r *Reader) Events() iter.Seq2[*Event, error] {
	if r.info.Kind != Events {
		panic("fragment: " + r.key + " holds no events")
	}
	return func(yield func(*Event, error) bool) {
		s := r.scan(append(append([]string{}, metaColumns...), colRest, colKeys, colRaw), r.attrs)
		defer s.close()
		e := Event{scan: s, tree: &asSent{attrs: r.attrs}}
		for s.next() {
			e.fill(s, idOf(s.bytes(colID)))
			if !yield(&e, nil) {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

// Raw is the payload where columns cannot give it back, else nil.
func (e *Event) Raw() []byte { return e.scan.bytes(colRaw) }

// AppendJSON appends the event as it was sent, as one JSON object without white
// space between its tokens. The order of its members is that of the tenant's columns, whatever file the event lies in. Of an event that was text it is {"message":text}.
func (e *Event) AppendJSON(dst []byte) ([]byte, error) {
	if raw := e.Raw(); raw != nil && utf8.Valid(raw) {
		return append(dst, raw...), nil
	}
	attrs := e.scan.values[e.scan.attrs:]
	rest, keys := e.scan.bytes(colRest), e.scan.bytes(colKeys)
	if rest == nil && keys == nil {
		if e.scan.r.tree == nil {
			e.scan.r.tree = shapeOf(e.scan.r.attrs)
		}
		dst, _ = e.scan.r.tree.append(append(dst, '{'), e.scan.r.attrs, attrs)
		return append(dst, '}'), nil
	}
	at := len(dst)
	dst, err := e.tree.append(dst, attrs, rest, keys)
	if err != nil {
		return dst[:at], fmt.Errorf("%w: %s: event %q: %w", ErrCorrupt, e.scan.r.key, e.ID, err)
	}
	return dst, nil
}

func appendValue(dst []byte, t Type, v parquet.Value) []byte {
	switch t {
	case Boolean:
		return strconv.AppendBool(dst, v.Boolean())
	case Int64:
		return strconv.AppendInt(dst, v.Int64(), 10)
	case Double:
		return appendDouble(dst, v.Double())
	case String:
		return appendString(dst, v.ByteArray())
	}
	return append(dst, v.ByteArray()...)
}

// shapeNode is a key of the object that a file's columns spell if all dots mean nesting.
type shapeNode struct {
	key      string
	attrs    []int // that end here: columns of one path
	children []*shapeNode
	index    map[string]*shapeNode

	spread bool         // a child has several places: children, or columns of several types
	order  []*shapeNode // of one row
	first  int          // in order
}

func shapeOf(attrs []attribute) *shapeNode {
	root := &shapeNode{}
	for i := range attrs {
		n := root
		for _, key := range keysOfPath(attrs[i].Path) {
			c := n.index[key]
			if c == nil {
				if n.index == nil {
					n.index = map[string]*shapeNode{}
				}
				c = &shapeNode{key: key}
				n.index[key] = c
				n.children = append(n.children, c)
			}
			n = c
		}
		n.attrs = append(n.attrs, i)
	}
	root.markSpread()
	return root
}

func (n *shapeNode) markSpread() {
	for _, c := range n.children {
		c.markSpread()
		n.spread = n.spread || len(c.children) > 0 || len(c.attrs) > 1
	}
}

// members are the children in the order of their first values in the row, so that an event's text does not depend on which
// columns its file happens to have. Children without a value may be among them.
func (n *shapeNode) members(values []parquet.Value) []*shapeNode {
	if !n.spread {
		return n.children // each has its one place
	}
	n.order = n.order[:0]
	for _, c := range n.children {
		if c.first = c.firstOf(values); c.first < len(values) {
			n.order = append(n.order, c)
		}
	}
	slices.SortFunc(n.order, func(a, b *shapeNode) int { return a.first - b.first })
	return n.order
}

// firstOf is the place of the first value at or below the node; without one, the number of columns.
func (n *shapeNode) firstOf(values []parquet.Value) int {
	first := len(values)
	for _, a := range n.attrs {
		if !values[a].IsNull() {
			first = min(first, a)
		}
	}
	for _, c := range n.children {
		first = min(first, c.firstOf(values))
	}
	return first
}

// append appends the members that have a value, and tells whether there were any.
func (n *shapeNode) append(dst []byte, attrs []attribute, values []parquet.Value) ([]byte, bool) {
	begin := len(dst)
	for _, c := range n.members(values) {
		before := len(dst)
		if before > begin {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, []byte(c.key)), ':')
		some := false
		for _, a := range c.attrs {
			if !values[a].IsNull() {
				dst, some = appendValue(dst, attrs[a].Type, values[a]), true
			}
		}
		if !some && len(c.children) > 0 {
			if dst, some = c.append(append(dst, '{'), attrs, values); some {
				dst = append(dst, '}')
			}
		}
		if !some {
			dst = dst[:before]
		}
	}
	return dst, len(dst) > begin
}

// asSent builds the object of a row whose keys hold dots, or that has a rest.
type asSent struct {
	attrs []attribute
	nodes []sentNode
	index map[sentKey]int32
	text  []byte

	lastKeys []byte              // that lists was made from
	lists    map[string][]string // by path: its keys
}

type sentNode struct {
	key         string
	first, last int32 // children
	next        int32 // sibling
	from, to    int   // value in text; from < 0: an object
}

type sentKey struct {
	parent int32
	key    string
}

func (a *asSent) append(dst []byte, values []parquet.Value, rest, keys []byte) ([]byte, error) {
	a.nodes = append(a.nodes[:0], sentNode{from: -1})
	a.index = map[sentKey]int32{}
	a.text = a.text[:0]
	lists, err := a.keyLists(keys)
	if err != nil {
		return dst, err
	}
	for i := range a.attrs {
		if values[i].IsNull() {
			continue
		}
		attr := &a.attrs[i]
		path := lists[attr.Path]
		if path == nil {
			path = keysOfPath(attr.Path)
		}
		from := len(a.text)
		a.text = appendValue(a.text, attr.Type, values[i])
		if err := a.insert(path, from); err != nil {
			return dst, err
		}
	}
	if rest != nil {
		if err := a.insertRest(rest); err != nil {
			return dst, err
		}
	}
	return a.spell(dst, 0), nil
}

// keyLists reads _keys: the list of keys of each path that has one. Rows that follow each
// other often share it.
func (a *asSent) keyLists(keys []byte) (map[string][]string, error) {
	if keys == nil {
		return nil, nil
	}
	if a.lists != nil && string(keys) == string(a.lastKeys) {
		return a.lists, nil
	}
	var lists [][]string
	if err := json.Unmarshal(keys, &lists); err != nil {
		return nil, fmt.Errorf("_keys: %w", err)
	}
	a.lists = make(map[string][]string, len(lists))
	a.lastKeys = append(a.lastKeys[:0], keys...)
	for _, list := range lists {
		var path []byte
		for i, key := range list {
			if i > 0 {
				path = append(path, '.')
			}
			path = appendKey(path, []byte(key))
		}
		a.lists[string(path)] = list
	}
	return a.lists, nil
}

// insert puts the value text[from:] under a list of keys.
func (a *asSent) insert(path []string, from int) error {
	at := int32(0)
	for _, key := range path {
		if a.nodes[at].from >= 0 {
			return fmt.Errorf("%q is a value and an object", path)
		}
		k := sentKey{at, key}
		child, ok := a.index[k]
		if !ok {
			child = int32(len(a.nodes))
			a.nodes = append(a.nodes, sentNode{key: key, from: -1})
			a.index[k] = child
			if a.nodes[at].first == 0 {
				a.nodes[at].first = child
			} else {
				a.nodes[a.nodes[at].last].next = child
			}
			a.nodes[at].last = child
		}
		at = child
	}
	n := &a.nodes[at]
	if n.from >= 0 || n.first != 0 || at == 0 {
		return fmt.Errorf("%q comes twice", path)
	}
	n.from, n.to = from, len(a.text)
	return nil
}

func (a *asSent) insertRest(rest []byte) error {
	var tape jsonscan.Tape
	if err := tape.Parse(rest); err != nil {
		return fmt.Errorf("_rest: %w", err)
	}
	var path []string
	for t := range tape.Tokens {
		token := &tape.Tokens[t]
		if token.Kind == jsonscan.End {
			if len(path) > 0 {
				path = path[:len(path)-1]
			}
			continue
		}
		path = append(path, string(tape.Key(t)))
		if token.Kind == jsonscan.Object {
			continue
		}
		from := len(a.text)
		if token.Kind == jsonscan.String {
			a.text = append(append(append(a.text, '"'), tape.Raw(t)...), '"')
		} else {
			a.text = append(a.text, tape.Raw(t)...)
		}
		if err := a.insert(path, from); err != nil {
			return fmt.Errorf("_rest: %w", err)
		}
		path = path[:len(path)-1]
	}
	return nil
}

// spell appends the value of a node. The depth is that of what was sent.
func (a *asSent) spell(dst []byte, at int32) []byte {
	n := &a.nodes[at]
	if n.from >= 0 {
		return append(dst, a.text[n.from:n.to]...)
	}
	dst = append(dst, '{')
	for c := n.first; c != 0; c = a.nodes[c].next {
		if c != n.first {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, []byte(a.nodes[c].key)), ':')
		dst = a.spell(dst, c)
	}
	return append(dst, '}')
}
