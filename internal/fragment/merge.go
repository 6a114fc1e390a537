package fragment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// MergeInput is a fragment that a merge reads.
type MergeInput struct {
	Key   string
	Bytes int64 // of the object
}

// MergeSpec says what a merge makes of its inputs.
type MergeSpec struct {
	Tenant event.TenantID
	Kind   Kind
	Bucket int64 // start, seconds since 1970
	// SortKey, KeyColumns and BloomColumns are as of Input. Outputs are cut where the
	// leading KeyColumns paths change.
	SortKey      []string
	KeyColumns   int
	BloomColumns []string
	// TargetBytes is about the size of an output: from half of it to one and a half, but
	// for a single one that has less to hold. 0 is DefaultTargetBytes.
	TargetBytes int64
	// MemoryBytes bounds what the merge holds, whatever the size of its inputs, but for
	// values larger than a page, for a page of each input (half a MiB: with more than
	// a hundred large inputs it takes more), and for the dictionaries that the inputs have for
	// one column, of 4 MiB each at most. 0 is DefaultMergeMemory.
	MemoryBytes int64
	// Floor: rows of events below it are left out. math.MinInt64 keeps all.
	Floor event.Timestamp
	// Parallel is how many reads may be under way at one time. Up to 1, all is done on the
	// caller's goroutine, one after the other.
	Parallel int
}

const (
	DefaultTargetBytes = 256 << 20
	DefaultMergeMemory = 64 << 20
)

// MergedFile is an output of a merge, with what a commit record says of it.
type MergedFile struct {
	Rows, Bytes    int64
	Min, Max       event.Timestamp
	SeqMin, SeqMax uint64
	Ranges         []Range
	SortKey        string
	KeyMin, KeyMax string
	Sum            string // xxh3-128, hex
}

// Merged is the result of a merge. RowsIn is the rows of all files and RowsBelow.
type Merged struct {
	Files     []MergedFile
	RowsIn    int64
	RowsBelow int64 // left out, below the floor
}

// ErrMergeDiffers: what stands in the outputs is not what was read from the inputs. The
// message names them. The outputs are worth nothing.
var ErrMergeDiffers = errors.New("fragment: a merge's outputs differ from its inputs")

// InputError says which input could not be read, and why: ErrCorrupt, ErrNewerFormat or
// the store's error; or that it is not sorted (ErrUnsorted).
type InputError struct {
	Key string
	Err error
}

func (e *InputError) Error() string { return fmt.Sprintf("input %s: %v", e.Key, e.Err) }
func (e *InputError) Unwrap() error { return e.Err }

// Merge makes of sorted fragments fewer ones, sorted alike, with the same rows. create
// gives the writer of output n; they are written one after the other, and whoever calls
// finishes their uploads after Merge returned: all of them, or none if it failed.
//
// How it works, row group by row group of the outputs:
//
//  1. The order comes from the sort columns alone, as runs (input, first row, rows).
//  2. Each column is copied in that order, page by page. Codes of a dictionary are
//     translated by a table, values that do not repeat are moved as bytes.
//  3. Each page is decoded again as it goes to the output. Of every row a hash over all
//     of its values, each with its column, is made from the inputs' pages and from the
//     outputs'; their sums, which no order changes, must be equal (ErrMergeDiffers).
//
// Small inputs are read whole, by one request. Of others every byte is read once while the
// memory suffices, and the sort columns twice; neighbouring small columns share a request.
//
// A single input of another sort key is sorted anew, row group by row group, each to an
// output of its own. Of several inputs all must have the spec's sort key.
func Merge(ctx context.Context, store RangeReader, inputs []MergeInput, spec MergeSpec, create func(n int) (io.Writer, error)) (*Merged, error) {
	m, err := newMerger(ctx, store, inputs, spec, create)
	if err != nil {
		return nil, err
	}
	defer m.readers.Wait()
	switch {
	case m.sorted:
		err = m.merge()
	case len(inputs) == 1:
		err = m.resort()
	default:
		err = fmt.Errorf("fragment: merge of %s: not all are sorted by %s; sort each anew first", m.names(), strings.Join(m.key, ","))
	}
	if err == nil {
		err = m.account()
	}
	if err != nil {
		return nil, err
	}
	return &m.result, nil
}

// newMerger opens the inputs.
func newMerger(ctx context.Context, store RangeReader, inputs []MergeInput, spec MergeSpec, create func(n int) (io.Writer, error)) (*merger, error) {
	m := &merger{ctx: ctx, store: store, spec: spec, create: create, key: fullSortKey(spec.SortKey), sorted: true}
	if spec.Kind == DeadLetters {
		m.key = fullSortKey(nil)
	}
	if m.spec.TargetBytes <= 0 {
		m.spec.TargetBytes = DefaultTargetBytes
	}
	if m.spec.MemoryBytes <= 0 {
		m.spec.MemoryBytes = DefaultMergeMemory
	}
	m.tokens = make(chan struct{}, max(1, spec.Parallel))
	m.count = len(inputs)
	if err := m.openAll(inputs); err != nil {
		return nil, err
	}
	for _, in := range m.inputs {
		m.sorted = m.sorted && (spec.Kind == DeadLetters || slices.Equal(in.info.SortKey, m.key))
	}
	m.parts, m.sumsIn = make([]part, len(m.inputs)), make([][]uint64, len(m.inputs))
	m.check.m = m
	return m, m.unite()
}

// merger is a merge under way.
type merger struct {
	ctx       context.Context
	store     RangeReader
	spec      MergeSpec
	create    func(n int) (io.Writer, error)
	key       []string // the full sort key
	sorted    bool     // all inputs are, by it
	inputs    []*mergeInput
	count     int           // of inputs
	tokens    chan struct{} // of reads at one time
	readers   sync.WaitGroup
	columns   []mergeColumn
	byPath    [][]int             // by path of the sort key: its columns by field id
	pages     []*parquetfile.Page // to be used again
	keptBytes int64               // of pages
	order32   []int32             // likewise
	runs      []run               // likewise
	file      *mergeFile          // the output that is written
	// runsOf and orderOf are nil but for tests that break the copying of a column.
	runsOf  func(column int, runs []run) []run
	orderOf func(column int, order []int32) []int32
	// Bytes of all row groups so far, by the sizes of the inputs and as written.
	expected, written float64
	result            Merged

	// Hashes of the row group at hand.
	parts    []part     // by input
	sumsIn   [][]uint64 // by input: one a row of its part
	sumsRoom []uint64   // that they lie in
	sumsOut  []uint64
	check    outputCheck
	// Sums over all row groups.
	totalIn, totalOut sum
}

// sum is over rows, whatever their order.
type sum struct {
	rows int64
	sum  uint64
}

// mergeColumn is a column of the outputs: of one of the inputs at least.
type mergeColumn struct {
	parquetfile.Field
	path string // of an attribute
	typ  Type
	seed parquetfile.Seed
}

// names lists the inputs for messages.
func (m *merger) names() string {
	var b strings.Builder
	for i, in := range m.inputs {
		if i == 8 {
			fmt.Fprintf(&b, " and %d more", len(m.inputs)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(in.key)
	}
	return b.String()
}

// account compares what was read with what was written.
func (m *merger) account() error {
	r := &m.result
	var have, written int64
	for _, in := range m.inputs {
		have += in.info.Rows
	}
	for i := range r.Files {
		written += r.Files[i].Rows
	}
	if m.totalIn != m.totalOut || m.totalIn.rows != written || written+r.RowsBelow != have {
		return fmt.Errorf("%w: %d rows in the inputs, %d read (sum %016x), %d below the floor, %d written (sum %016x) to files of %d: %s",
			ErrMergeDiffers, have, m.totalIn.rows, m.totalIn.sum, r.RowsBelow, m.totalOut.rows, m.totalOut.sum, written, m.names())
	}
	r.RowsIn = have
	return nil
}

// unite lists the columns of all inputs: our own in their order, then attributes by
// field id.
func (m *merger) unite() error {
	type place struct {
		in     *mergeInput
		column int
	}
	found := map[int32]int{} // by field id: in columns
	var places [][]place
	for _, in := range m.inputs {
		for i := range in.columns {
			c := &in.columns[i]
			at, ok := found[c.FieldID]
			if !ok {
				at = len(m.columns)
				found[c.FieldID] = at
				m.columns, places = append(m.columns, *c), append(places, nil)
			}
			if u := &m.columns[at]; u.Name != c.Name || u.Kind != c.Kind || u.Required != c.Required {
				return &InputError{in.key, fmt.Errorf("%w: %s: column %d is %q of type %d, in %s it is %q of type %d",
					ErrCorrupt, in.key, c.FieldID, c.Name, c.Kind, places[at][0].in.key, u.Name, u.Kind)}
			}
			places[at] = append(places[at], place{in, i})
		}
	}
	order := make([]int, len(m.columns))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(m.columns[a].FieldID) - int(m.columns[b].FieldID) })
	columns := make([]mergeColumn, len(order))
	bloomNames := m.spec.BloomColumns
	if bloomNames == nil {
		bloomNames = DefaultBloomColumns
	}
	for _, in := range m.inputs {
		in.streams, in.ofColumn = make([]*stream, len(order)), make([]*stream, len(in.columns))
	}
	for at, from := range order {
		columns[at] = m.columns[from]
		columns[at].Bloom = slices.Contains(bloomNames, columns[at].Name)
		for _, p := range places[from] {
			s := newStream(m, p.in, p.column, &p.in.columns[p.column])
			p.in.streams[at], p.in.ofColumn[p.column] = s, s
		}
	}
	m.columns = columns
	for _, path := range m.key[:len(m.key)-1] {
		var of []int
		for i := range columns {
			if columns[i].typ != 0 && columns[i].path == path {
				of = append(of, i)
			}
		}
		m.byPath = append(m.byPath, of)
	}
	return nil
}

// columnOf is the place of one of our own columns in the outputs, or -1.
func (m *merger) columnOf(name string) int {
	for i := range m.columns {
		if m.columns[i].typ == 0 && m.columns[i].Name == name {
			return i
		}
	}
	return -1
}

// seedOf makes the hashes of a column its own, whatever inputs have it.
func seedOf(name string, fieldID int32) parquetfile.Seed {
	column := uint64(fieldID) * 0x9E3779B97F4A7C15
	if name == colNanos {
		return parquetfile.ZeroAsNull(column)
	}
	return parquetfile.Seed{Column: column}
}

// finish turns a row's sum over its values into what is added up over rows: the values
// of one row belong together.
func finish(sums []uint64) (total uint64) {
	for _, s := range sums {
		s ^= s >> 32
		s *= 0xD6E8FEB86659FD93
		s ^= s >> 29
		s *= 0xA0761D6478BD642F
		total += s ^ s>>32
	}
	return total
}
