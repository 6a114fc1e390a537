package fragment

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/event/jsonscan"
	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// builder fills columns from rows. It is used again, with bounds on what it keeps.
type builder struct {
	in    *Input
	known *Columns
	fixed bool // ask for no new column: what has none goes to _rest

	ownColumns []*parquetfile.Column // as ownSchema
	anyNanos   bool

	root         *keyNode // of this fragment's keys and of those before
	nodes        int      // below it
	keyBytes     int      // of theirs
	fragment     uint64   // number of the one that is built
	entries      map[string]*pathEntry
	filled       []*filledColumn // of attributes, in the order in which they came
	entryPool    pool[pathEntry]
	columnPool   pool[filledColumn]
	spareText    []*parquetfile.Column
	spareNumbers []*parquetfile.Column
	kept         int // bytes of the spare columns
	need         []PathType

	tape         jsonscan.Tape
	shapes       jsonscan.Shapes
	places       []*keyNode // by slot of the shapes: the node of its key; nil: not asked for yet
	keys         [][]byte   // to the token at hand
	rest         []int      // tokens that go to _rest
	dotted       []byte     // _keys while it is built
	text         []byte
	path         []byte
	payloadBytes int
}

// keyNode is one key below its parents, with the keys below it. The keys of one event
// mostly come in the order of the event before, so each node guesses. Nodes outlive a fragment, as
// tenants' keys are much alike; what a node says of a fragment's columns does not.
type keyNode struct {
	key      []byte
	dotted   bool       // the key or one above it holds a dot
	path     string     // that names columns; empty until a value came for it
	entry    *pathEntry // in the fragment of this number
	fragment uint64
	children map[string]*keyNode
	order    []*keyNode // children in the order in which they first came
	guess    int        // into order: the child that is expected next
}

// pathEntry is a path with its columns.
type pathEntry struct {
	path    string
	lastRow int // that has a value for the path
	columns [numTypes]*filledColumn
}

// filledColumn is a column of the tenant's list, or one that the list is asked for.
type filledColumn struct {
	PathType
	known Column // its zero value until the list has it
	data  *parquetfile.Column
}

// noEntry stands for paths that have no column and get none.
var noEntry = &pathEntry{lastRow: -1}

// pool gives out values that are all given back at once.
type pool[T any] struct {
	all  []*T
	used int
}

// get is a zero value.
func (p *pool[T]) get() *T {
	if p.used == len(p.all) {
		p.all = append(p.all, new(T))
	}
	v := p.all[p.used]
	p.used++
	*v = *new(T)
	return v
}

// reset takes all values back, and keeps so many.
func (p *pool[T]) reset(keep int) {
	p.all, p.used = p.all[:min(len(p.all), keep):min(len(p.all), keep)], 0
}

const (
	// maxKeyNodes and maxKeyBytes bound the memory of names; beyond, names are looked up anew
	// each time. When a fragment begins at least half of it is free.
	maxKeyNodes = 16 << 10
	maxKeyBytes = 2 << 20
	// keepBytes bounds the memory of columns that a builder keeps for the next fragment:
	// enough for a full flush, whose buffers would else grow anew each time, at a third
	// of the time of encoding. There are as many builders as encodings at one time.
	keepBytes = 80 << 20
	// keepColumnBytes bounds each buffer of a column, keepColumns the number of columns.
	keepColumnBytes = 8 << 20
	keepColumns     = 256
	// keepTextBytes bounds the buffers that hold one value.
	keepTextBytes = 1 << 20
)

var builders = sync.Pool{New: func() any { return new(builder) }}

func (b *builder) begin(in *Input, known *Columns, fixed bool) {
	b.release()
	b.in, b.known, b.fixed = in, known, fixed
	b.anyNanos, b.payloadBytes = false, 0
	b.fragment++
	if b.root == nil || b.nodes > maxKeyNodes/2 || b.keyBytes > maxKeyBytes/2 {
		b.root, b.nodes, b.keyBytes = &keyNode{}, 0, 0
		clear(b.places)
	}
	if b.entries == nil {
		b.entries = make(map[string]*pathEntry)
	}
	b.need = nil
	for i := range ownSchema {
		b.ownColumns = append(b.ownColumns, b.column(ownSchema[i].name, int32(i+1), ownSchema[i].kind))
	}
}

// release gives the columns' memory back to the builder.
func (b *builder) release() {
	// From behind, as the last kept is the first used: a tenant's columns mostly come
	// in one order, and get buffers of the size that they need.
	for _, f := range slices.Backward(b.filled) {
		b.keepSpare(f.data)
	}
	for _, c := range slices.Backward(b.ownColumns) {
		b.keepSpare(c)
	}
	clear(b.filled)
	b.ownColumns, b.filled = b.ownColumns[:0], b.filled[:0]
	b.in, b.known = nil, nil
	if len(b.entries) > keepColumns {
		b.entries = nil
	}
	clear(b.entries)
	b.entryPool.reset(keepColumns)
	b.columnPool.reset(keepColumns)
	for _, buf := range []*[]byte{&b.dotted, &b.text, &b.path} {
		if cap(*buf) > keepTextBytes {
			*buf = nil
		}
	}
}

func (b *builder) keepSpare(c *parquetfile.Column) {
	spare := b.spareOf(c.Kind)
	c.Reset("", 0, c.Kind, keepColumnBytes)
	if n := c.Kept(); len(*spare) < keepColumns && b.kept+n <= keepBytes {
		*spare, b.kept = append(*spare, c), b.kept+n
	}
}

// spareOf parts columns of text from those of numbers, as their buffers are others.
func (b *builder) spareOf(kind parquetfile.Kind) *[]*parquetfile.Column {
	if kind.Text() {
		return &b.spareText
	}
	return &b.spareNumbers
}

func (b *builder) column(name string, id int32, kind parquetfile.Kind) *parquetfile.Column {
	spare := b.spareOf(kind)
	if n := len(*spare); n > 0 {
		c := (*spare)[n-1]
		*spare, b.kept = (*spare)[:n-1], b.kept-c.Kept()
		c.Reset(name, id, kind, keepColumnBytes)
		return c
	}
	return parquetfile.NewColumn(name, id, kind)
}

func (b *builder) events() error {
	identity := b.identityColumns()
	for i := range b.in.Rows {
		row := &b.in.Rows[i]
		b.identity(&identity, i, row)
		b.payloadBytes += len(row.Payload)
		switch row.Format {
		case event.FormatText:
			b.textRow(i, row.Payload)
		case event.FormatJSON:
			if err := b.jsonRow(i, row.Payload); err != nil {
				return fmt.Errorf("fragment: event %d of tenant %q: %w", i, b.in.Tenant, err)
			}
		default:
			panic(fmt.Sprintf("fragment: event of format %d", row.Format))
		}
	}
	return nil
}

// messageKey is the attribute of a text record.
const messageKey = "message"

func (b *builder) textRow(i int, payload []byte) {
	if !utf8.Valid(payload) {
		b.own(colRaw).AppendBytes(i, payload)
		payload = bytes.ToValidUTF8(payload, []byte("\uFFFD"))
	}
	b.keys = append(b.keys[:0], []byte(messageKey))
	node := b.child(b.root, b.keys[0])
	c := b.columnFor(node, i, String)
	if c == nil {
		b.text = append(appendString(append(b.text[:0], `{"message":`...), payload), '}')
		b.own(colRest).AppendBytes(i, b.text)
		return
	}
	c.data.AppendBytes(i, payload)
}

func (b *builder) jsonRow(i int, payload []byte) error {
	places, err := b.shapes.Parse(&b.tape, payload)
	if err != nil {
		return err
	}
	b.rest, b.dotted, b.keys = b.rest[:0], b.dotted[:0], b.keys[:0]
	if places == nil {
		b.object(i, b.root, 0, len(b.tape.Tokens))
	} else {
		b.values(i, places)
	}
	if len(b.rest) > 0 {
		b.own(colRest).AppendBytes(i, b.restJSON())
	}
	if len(b.dotted) > 0 {
		b.dotted = append(b.dotted, ']')
		b.own(colKeys).AppendBytes(i, b.dotted)
	}
	if b.tape.RepeatedKeys || b.tape.LoneSurrogates {
		b.text = appendCompact(b.text[:0], bytes.TrimPrefix(payload, byteOrderMark), false)
		b.own(colRaw).AppendBytes(i, b.text)
	}
	return nil
}

var byteOrderMark = []byte("\xEF\xBB\xBF")

// object takes the members of one object, tokens [from, to).
func (b *builder) object(row int, node *keyNode, from, to int) {
	tokens := b.tape.Tokens
	for t := from; t < to; t = int(tokens[t].Next) {
		token := &tokens[t]
		if token.Kind == jsonscan.End {
			return
		}
		if token.Has(jsonscan.Dropped) {
			continue
		}
		key := b.tape.Key(t)
		b.keys = append(b.keys, key)
		switch token.Kind {
		case jsonscan.Object:
			b.object(row, b.child(node, key), t+1, int(token.Next))
		case jsonscan.Null, jsonscan.EmptyObject:
			b.rest = append(b.rest, t)
		default:
			b.leaf(row, b.child(node, key), t)
		}
		b.keys = b.keys[:len(b.keys)-1]
	}
}

// values takes the values of an event whose shape is known.
func (b *builder) values(row int, places []jsonscan.Place) {
	for _, p := range places {
		t := int(p.Token)
		if kind := b.tape.Tokens[t].Kind; kind == jsonscan.Null || kind == jsonscan.EmptyObject {
			b.rest = append(b.rest, t)
			continue
		}
		node := b.nodeOf(p.Slot)
		if node.path == "" || node.dotted {
			b.keys = append(b.keys[:0], b.shapes.Path(p.Slot)...)
		}
		b.leaf(row, node, t)
	}
}

// nodeOf is the node of a slot of the shapes.
func (b *builder) nodeOf(slot int32) *keyNode {
	if int(slot) >= len(b.places) {
		b.places = append(b.places, make([]*keyNode, b.shapes.Slots()-len(b.places))...)
	}
	if b.places[slot] == nil {
		node := b.root
		for _, key := range b.shapes.Path(slot) {
			node = b.child(node, key)
		}
		b.places[slot] = node
	}
	return b.places[slot]
}

// child finds or makes the node of a key.
func (b *builder) child(n *keyNode, key []byte) *keyNode {
	if n.guess < len(n.order) {
		if c := n.order[n.guess]; bytes.Equal(c.key, key) {
			n.guess++
			return c
		}
	}
	if c := n.children[string(key)]; c != nil {
		n.guess = 0
		for i, o := range n.order {
			if o == c {
				n.guess = i + 1
				break
			}
			if i == maxGuess {
				break
			}
		}
		return c
	}
	c := &keyNode{key: bytes.Clone(key), dotted: n.dotted || bytes.IndexByte(key, '.') >= 0}
	if b.nodes >= maxKeyNodes || len(key) > maxKeyBytes-b.keyBytes {
		return c
	}
	b.nodes++
	b.keyBytes += len(key)
	if n.children == nil {
		n.children = map[string]*keyNode{}
	}
	n.children[string(key)] = c
	n.order = append(n.order, c)
	n.guess = len(n.order)
	return c
}

// maxGuess bounds the search for a key's place in the order.
const maxGuess = 256

// name gives the columns that the list has just got their names.
func (b *builder) name(known *Columns) {
	b.known = known
	for _, f := range b.filled {
		if f.known.Name == "" {
			f.known, _ = known.Lookup(f.Path, f.Type)
			f.data.Name, f.data.FieldID = f.known.Name, f.known.FieldID
		}
	}
}

// sorted lists the attributes' columns by field id.
func (b *builder) sorted() []*parquetfile.Column {
	slices.SortFunc(b.filled, func(x, y *filledColumn) int { return cmp.Compare(x.known.FieldID, y.known.FieldID) })
	out := make([]*parquetfile.Column, len(b.filled))
	for i, f := range b.filled {
		out[i] = f.data
	}
	return out
}
