package fragment

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// mergeStore is a store with the inputs of a merge.
type mergeStore struct {
	bodies map[string][]byte
	inputs []MergeInput

	mu     sync.Mutex
	reads  int
	bytes  int64
	failAt int // the read that fails
}

func (s *mergeStore) GetRange(_ context.Context, key string, off, n int64) ([]byte, error) {
	body, ok := s.bodies[key]
	if !ok {
		return nil, objstore.ErrNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	s.bytes += n
	if s.reads == s.failAt {
		return nil, errStore
	}
	size := int64(len(body))
	return bytes.Clone(body[min(off, size):min(off+n, size)]), nil
}

func (s *mergeStore) add(body []byte) {
	if s.bodies == nil {
		s.bodies = map[string][]byte{}
	}
	key := fmt.Sprintf("input-%d", len(s.inputs))
	s.bodies[key] = body
	s.inputs = append(s.inputs, MergeInput{key, int64(len(body))})
}

// outputs keeps what a merge writes.
type outputs []*bytes.Buffer

func (o *outputs) create(n int) (io.Writer, error) {
	if n != len(*o) {
		return nil, fmt.Errorf("output %d is created after %d", n, len(*o))
	}
	*o = append(*o, &bytes.Buffer{})
	return (*o)[n], nil
}

const mergeBucket = 1_699_999_200

func mergeSpec() MergeSpec {
	return MergeSpec{Tenant: "t", Kind: Events, Bucket: mergeBucket, Floor: math.MinInt64}
}

// flatRow is a row of a file, as a reader of whole rows gives it.
type flatRow struct {
	key  []keyValue // of the sort key's paths
	time event.Timestamp
	text string // all of it
}

func (r *flatRow) compare(s *flatRow) int {
	return cmp.Or(slices.CompareFunc(r.key, s.key, compareValues), cmp.Compare(r.time, s.time))
}

// flatRows reads a file row by row, by the reader of parquet-go.
func flatRows(t testing.TB, body []byte, key []string) (rows []flatRow) {
	t.Helper()
	r, err := OpenBytes("k", body)
	if err != nil {
		t.Fatal(err)
	}
	if r.Info().Kind == DeadLetters {
		for l, err := range r.DeadLetters() {
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, flatRow{time: l.Timestamp, text: fmt.Sprintf("%+v", *l)})
		}
		return rows
	}
	for e, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%+v rest=%q keys=%q raw=%q", e.Meta, e.scan.bytes(colRest), e.scan.bytes(colKeys), e.Raw())
		row := flatRow{time: e.Timestamp, key: make([]keyValue, len(key))}
		for i, a := range r.attrs {
			v := e.scan.values[e.scan.attrs+i]
			if v.IsNull() {
				continue
			}
			text += fmt.Sprintf(" %s(%d)=%q", a.Name, a.FieldID, appendValue(nil, a.Type, v))
			k := keyValue{fieldID: a.FieldID, kind: fileKind(a.Type)}
			switch a.Type {
			case Boolean:
				k.number = int64(btoi(v.Boolean()))
			case Int64:
				k.number = v.Int64()
			case Double:
				k.number = int64(math.Float64bits(v.Double()))
			default:
				k.text = bytes.Clone(v.ByteArray())
			}
			for p, path := range key {
				if a.Path == path && row.key[p].fieldID == 0 {
					row.key[p] = k
				}
			}
		}
		row.text = text
		rows = append(rows, row)
	}
	return rows
}

// expected is what a merge of the inputs must give: all rows, in order.
func expected(t testing.TB, s *mergeStore, spec MergeSpec) (rows []flatRow, below int64) {
	paths := fullSortKey(spec.SortKey)
	if spec.Kind == DeadLetters {
		paths = fullSortKey(nil)
	}
	for _, in := range s.inputs {
		for _, r := range flatRows(t, s.bodies[in.Key], paths[:len(paths)-1]) {
			if r.time < spec.Floor {
				below++
				continue
			}
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b flatRow) int { return a.compare(&b) })
	return rows, below
}

// mergeEvent is a random event of few paths, whose values have many types.
func mergeEvent(r *rand.Rand, wide int) string {
	value := func() string {
		switch r.IntN(9) {
		case 0:
			return fmt.Sprint(r.IntN(3) - 1)
		case 1:
			return fmt.Sprint(r.Int64() - r.Int64())
		case 2:
			return fmt.Sprint(float64(r.IntN(9)-4) / 4)
		case 3:
			return []string{"true", "false", "null", "{}", "[1, 2]", "-0.0", "1e400"}[r.IntN(7)]
		case 4:
			return fmt.Sprintf(`"%016x"`, r.Uint64())
		}
		return []string{`""`, `"a"`, `"b"`, `"a\u0000"`, `"a\u0000b"`, `"ü"`, `"` + strings.Repeat("long ", 20) + `"`, `"😀"`}[r.IntN(8)]
	}
	var b strings.Builder
	fmt.Fprintf(&b, `{"x":%s`, value())
	for _, k := range []string{"service", "status", "a.b", "A", "c"} {
		if r.IntN(3) > 0 {
			fmt.Fprintf(&b, `,%q:%s`, k, value())
		}
	}
	for i := range wide {
		if r.IntN(wide) < 3 {
			fmt.Fprintf(&b, `,"w%d":%s`, i, value())
		}
	}
	if r.IntN(200) == 0 {
		fmt.Fprintf(&b, `,"big":"%s"`, strings.Repeat("big", r.IntN(400_000)))
	}
	return b.String() + "}"
}

type mergeCase struct {
	files, rows int // rows: at most, of a file
	wide        int
	nanos       bool
	key         []string
	letters     bool
}

// mergeFiles encodes random events into files of one tenant.
func mergeFiles(t testing.TB, seed uint64, c mergeCase) (*mergeStore, MergeSpec) {
	r := rand.New(rand.NewPCG(seed, 77))
	registry, s := newRegistry(), &mergeStore{}
	spec := mergeSpec()
	spec.SortKey = c.key
	if c.letters {
		spec.Kind = DeadLetters
	}
	for file := range c.files {
		rows := make([]Row, 1+r.IntN(c.rows))
		unit := int64(time1000)
		if c.nanos && r.IntN(2) == 0 {
			unit = 1
		}
		for i := range rows {
			rows[i] = Row{
				Timestamp: event.Timestamp(1_700_000_000_000_000_000 + unit*r.Int64N(int64(c.rows))), ID: fmt.Appendf(nil, "%d-%d", file, i),
				IngestedAt: event.Timestamp(1_700_000_100_000_000_000 + r.Int64N(100)*1000), Source: &event.Source{Cluster: "c", Partition: int32(r.IntN(3))}, Offset: r.Int64N(1e6),
				Format: event.FormatJSON, Payload: []byte(mergeEvent(r, c.wide)),
			}
			if c.letters {
				rows[i].Letter = &Letter{event.ReasonMalformed, []string{"", "byte 3"}[r.IntN(2)]}
			} else if r.IntN(50) == 0 {
				rows[i].Format, rows[i].Payload = event.FormatText, []byte("text \xff")
			}
		}
		f, err := Encode(t.Context(), Input{Tenant: "t", Kind: spec.Kind, Bucket: mergeBucket, Seq: uint64(1 + r.IntN(50)), Rows: rows, SortKey: c.key}, registry)
		if err != nil {
			t.Fatal(err)
		}
		s.add(f.Body)
	}
	return s, spec
}

const time1000 = 1000
