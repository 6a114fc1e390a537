package parquetfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

func TestRowGroupsEndEarlyAtLargeValues(t *testing.T) {
	c := NewColumn("v", 1, String)
	rows := make([]int32, 300)
	for i := range rows {
		rows[i] = int32(i)
		c.AppendBytes(i, []byte(fmt.Sprint(i, strings.Repeat("x", 1<<20))))
	}
	body, err := Write(nil, []*Column{c}, rows, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int64
	for _, g := range f.RowGroups() {
		sizes = append(sizes, g.NumRows())
	}
	if got := fmt.Sprint(sizes); got != "[63 63 63 63 48]" {
		t.Errorf("row groups of %s rows", got)
	}
}

// copied writes the rows of a file's pages, as a merge does, in runs of random length.
func copied(t *testing.T, r *rand.Rand, tables []*table, body []byte, pages [][][]byte, rows int) []byte {
	t.Helper()
	fields := make([]Field, len(tables))
	for i := range tables {
		fields[i] = tables[i].c.Field
	}
	var out bytes.Buffer
	readers := make([]*ChunkReader, len(tables))
	sums := make([]uint64, rows)
	at := make([]int, len(tables))
	w := NewWriter(&out, fields, Options{}, func(column int, b []byte) error {
		if readers[column] == nil {
			readers[column] = NewChunkReader(&fields[column], 1<<30)
		}
		p, err := readers[column].Read(b, nil)
		if p != nil {
			p.Hashes(sums[at[column]:at[column]+p.Rows], 0, Seed{Column: uint64(column)})
			at[column] += p.Rows
		}
		return err
	})
	want := make([]uint64, rows)
	w.StartRowGroup()
	for i := range tables {
		c, reader, row := w.Chunk(i), NewChunkReader(&fields[i], 1<<30), 0
		for _, b := range pages[i] {
			p, err := reader.Read(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			if p == nil {
				continue
			}
			p.Hashes(want[row:row+p.Rows], 0, Seed{Column: uint64(i)})
			row += p.Rows
			for p.Left() > 0 {
				if err := c.Add(p, 1+r.IntN(p.Left())); err != nil {
					t.Fatal(err)
				}
				if r.IntN(3) == 0 && p.Left() > 0 {
					p = p.Rest()
				}
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.EndRowGroup(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for row := range want {
		if want[row] != sums[row] {
			t.Fatalf("row %d has other hashes in the copy", row)
		}
	}
	return out.Bytes()
}

// A copy page by page is the file itself: the same columns, rows and options.
func TestACopyOfPagesIsTheFile(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 4))
		rows := []int{1, 2, 9, 700, 5000, PageRows + 5, 40_000}[seed%7]
		var tables []*table
		var columns []*Column
		for k := Boolean; k <= Bytes; k++ {
			tables = append(tables, randomTable(r, fmt.Sprintf("c%d", k), k, rows))
			columns = append(columns, tables[len(tables)-1].c)
		}
		order := make([]int32, rows)
		for i, v := range r.Perm(rows) {
			order[i] = int32(v)
		}
		fields := make([]Field, len(columns))
		for i, c := range columns {
			fields[i] = c.Field
		}
		pages := make([][][]byte, len(columns))
		var whole bytes.Buffer
		w := NewWriter(&whole, fields, Options{}, func(column int, b []byte) error {
			pages[column] = append(pages[column], bytes.Clone(b))
			return nil
		})
		if err := w.Rows(columns, order, rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		body, err := Write(nil, columns, order, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(body, whole.Bytes()) {
			t.Fatalf("seed %d: a file as a stream differs from one in memory", seed)
		}
		again := copied(t, r, tables, body, pages, rows)
		f, err := parquet.OpenFile(bytes.NewReader(again), int64(len(again)))
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range f.RowGroups()[0].ColumnChunks() {
			values := make([]parquet.Value, 0, rows)
			p := c.Pages()
			for {
				page, err := p.ReadPage()
				if err != nil {
					break
				}
				v := make([]parquet.Value, page.NumValues())
				n, _ := page.Values().ReadValues(v)
				for _, x := range v[:n] {
					values = append(values, x.Clone())
				}
			}
			p.Close()
			if len(values) != rows {
				t.Fatalf("seed %d: column %d has %d rows of %d", seed, i, len(values), rows)
			}
			for row, v := range values {
				if !tables[i].same(int(order[row]), v) {
					t.Fatalf("seed %d: column %d, row %d is %v", seed, i, row, v)
				}
			}
		}
	}
}

var encodings = []format.Encoding{format.Plain, format.RLEDictionary, format.DeltaBinaryPacked, format.RLE}

// samplePages are all pages of a file with every kind of column.
func samplePages(rows int) (fields []Field, pages [][]byte, of []int) {
	r := rand.New(rand.NewPCG(3, 3))
	var columns []*Column
	for k := Boolean; k <= Bytes; k++ {
		for range 3 {
			columns = append(columns, randomTable(r, "c", k, rows).c)
		}
	}
	order := make([]int32, rows)
	for i := range order {
		order[i] = int32(i)
	}
	for _, c := range columns {
		fields = append(fields, c.Field)
	}
	w := NewWriter(&bytes.Buffer{}, fields, Options{}, func(column int, b []byte) error {
		pages, of = append(pages, bytes.Clone(b)), append(of, column)
		return nil
	})
	_ = w.Rows(columns, order, rows)
	return fields, pages, of
}

// FuzzPage decodes anything, sealed by its right checksum, as each kind of column.
func FuzzPage(f *testing.F) {
	fields, pages, of := samplePages(300)
	for i, b := range pages {
		h, n, err := parseHeader(b)
		if err != nil {
			f.Fatal(err)
		}
		raw, err := unzipper().DecodeAll(b[n:], make([]byte, 0, h.raw))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, b, uint16(h.values), uint8(h.encoding), uint8(of[i]))
	}
	f.Fuzz(func(t *testing.T, raw, page []byte, values uint16, encoding, column uint8) {
		field := &fields[int(column)%len(fields)]
		r := NewChunkReader(field, 1<<20)
		if n, err := r.PageBytes(page); err == nil && n > len(page)+1<<31 {
			t.Fatal(n)
		}
		_, _ = r.Read(page, nil)
		h := pageHeader{values: int(values), raw: int64(len(raw))}
		for _, e := range append(encodings, format.Encoding(encoding)) {
			h.encoding = e
			p := &Page{}
			if err := r.data(p, &h, raw); err != nil {
				continue
			}
			sums := make([]uint64, p.Rows)
			p.Hashes(sums, 0, Seed{Column: 1})
			for p.Left() > 0 {
				p.Peek(0)
				p.Skip(1)
			}
		}
		h.encoding = 0
		r.dict = nil
		_ = r.dictionary(&h, raw)
	})
}

func TestDamagedPagesAreErrors(t *testing.T) {
	fields, pages, of := samplePages(2000)
	r := rand.New(rand.NewPCG(8, 1))
	readers := map[int]*ChunkReader{}
	for i, b := range pages {
		column := of[i]
		if readers[column] == nil {
			readers[column] = NewChunkReader(&fields[column], 1<<20)
		}
		for range 300 {
			harmed := bytes.Clone(b)
			harmed[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
			reader := *readers[column]
			p, err := reader.Read(harmed, nil)
			if err == nil && p != nil { // a header's byte that says nothing of the values
				want, err := readers[column].Read(b, nil)
				if err != nil {
					t.Fatal(err)
				}
				x, y := make([]uint64, p.Rows), make([]uint64, want.Rows)
				p.Hashes(x, 0, Seed{Column: 1})
				want.Hashes(y, 0, Seed{Column: 1})
				if fmt.Sprint(x) != fmt.Sprint(y) {
					t.Fatalf("page %d of column %d: damage gave other values", i, column)
				}
			}
		}
		if _, err := readers[column].Read(b, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFileThatCannotBeWrittenFails(t *testing.T) {
	full := errors.New("no space")
	fields, _, _ := samplePages(10)
	w := NewWriter(failing{full}, fields[:1], Options{}, nil)
	w.StartRowGroup()
	c := w.Chunk(0)
	err := errors.Join(c.AddEmpty(1), c.Close(), w.EndRowGroup(1), w.Close())
	if !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
