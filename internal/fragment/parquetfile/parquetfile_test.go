package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"
)

func TestCutBoundsHoldWhatTheyBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Bool().Draw(t, "text")
		var b []byte
		if text {
			b = []byte(rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'z', 'é', '\uD7FF', '\uE000', '\uFFFF', '\U0010FFFF', '\U0010FFFE'}), 0, 40, -1).Draw(t, "b"))
		} else {
			b = rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 0x7F, 0xC3, 0xED, 0xFE, 0xFF}), 0, 90).Draw(t, "b")
		}
		limit := rapid.IntRange(1, 70).Draw(t, "limit")
		low, high := CutLower(b, limit), CutUpper(b, limit)
		if bytes.Compare(low, b) > 0 || bytes.Compare(high, b) < 0 {
			t.Fatalf("%q is not within %q and %q", b, low, high)
		}
		if len(low) > limit {
			t.Fatalf("lower bound of %d bytes", len(low))
		}
		if text && (!utf8.Valid(low) || !utf8.Valid(high)) {
			t.Fatalf("%q: bounds %q and %q are no UTF-8", b, low, high)
		}
		if len(high) > limit+utf8.UTFMax && bytes.Trim(b[:limit], "\xff") != nil && !strings.HasPrefix(string(b), strings.Repeat("\U0010FFFF", limit/4)) && text {
			t.Fatalf("%q: upper bound of %d bytes", b, len(high))
		}
	})
}

// table is a column with what was put in.
type table struct {
	c    *Column
	nums map[int]int64
	text map[int][]byte
}

func randomTable(r *rand.Rand, name string, kind Kind, rows int) *table {
	t := &table{NewColumn(name, 1, kind), map[int]int64{}, map[int][]byte{}}
	distinct := []int{1, 3, 300, 1 << 30}[r.IntN(4)]
	nulls := []float64{0, 0.5, 0.99}[r.IntN(3)]
	t.c.Required = nulls == 0 && r.IntN(2) == 0
	for row := range rows {
		if r.Float64() < nulls {
			continue
		}
		v := int64(r.IntN(distinct))
		switch kind {
		case Boolean:
			v &= 1
			t.c.AppendBool(row, v == 1)
			t.nums[row] = v
		case Double:
			f := float64(v-5) / 4
			if v == 7 {
				f = math.Copysign(0, -1)
			}
			t.c.AppendDouble(row, f)
			t.nums[row] = int64(math.Float64bits(f))
		case String, JSON, Bytes:
			b := fmt.Appendf(nil, "%s%d", strings.Repeat("é", int(v%50)), v)
			t.c.AppendBytes(row, b)
			t.text[row] = b
		default:
			v -= int64(distinct / 2)
			t.c.AppendInt(row, v)
			t.nums[row] = v
		}
	}
	return t
}

// same compares a value that parquet-go read with what was put in.
func (t *table) same(row int, v parquet.Value) bool {
	if t.c.text() {
		b, ok := t.text[row]
		return v.IsNull() == !ok && (!ok || bytes.Equal(v.ByteArray(), b))
	}
	n, ok := t.nums[row]
	if !ok || v.IsNull() {
		return !ok && v.IsNull()
	}
	switch t.c.Kind {
	case Boolean:
		return v.Boolean() == (n == 1)
	case Int32:
		return int64(v.Int32()) == n
	case Double:
		return math.Float64bits(v.Double()) == uint64(n)
	}
	return v.Int64() == n
}

func TestFilesReadBackInTheOrderOfThePermutation(t *testing.T) {
	for seed := range uint64(9) {
		r := rand.New(rand.NewPCG(seed, 1))
		rows := []int{1, 2, 9, 700, 700, 700, 700, PageRows + 5, RowGroupRows + 3}[seed]
		var tables []*table
		for k := Boolean; k <= Bytes; k++ {
			for n := range 2 {
				if rows > PageRows && n+int(k)%2 != 1 { // enough of the large ones
					continue
				}
				tables = append(tables, randomTable(r, fmt.Sprintf("c%d.%d", k, n), k, rows))
			}
		}
		perm := make([]int32, rows)
		for i, p := range r.Perm(rows) {
			perm[i] = int32(p)
		}
		body := write(t, tables, perm)
		if again := write(t, tables, perm); !bytes.Equal(body, again) {
			t.Fatal("the same input gives other bytes")
		}
		f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		first := 0
		for _, group := range f.RowGroups() {
			for i, chunk := range group.ColumnChunks() {
				checkChunk(t, tables[i], chunk, perm[first:first+int(group.NumRows())])
			}
			first += int(group.NumRows())
		}
		if first != rows {
			t.Fatalf("seed %d: %d rows, want %d", seed, first, rows)
		}
	}
}

func write(t *testing.T, tables []*table, perm []int32) []byte {
	t.Helper()
	var columns []*Column
	for _, x := range tables {
		x.c.Bloom = x.c.text()
		columns = append(columns, x.c)
	}
	body, err := Write(nil, columns, perm, Options{CreatedBy: "test", Metadata: []KeyValue{{"k", "v"}}})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// checkChunk compares values and checks that each page's bounds, its null count, the
// chunk's statistics and the Bloom filter hold what is there.
func checkChunk(t *testing.T, x *table, chunk parquet.ColumnChunk, perm []int32) {
	t.Helper()
	index, err := chunk.ColumnIndex()
	if err != nil {
		t.Fatal(err)
	}
	offsets, err := chunk.OffsetIndex()
	if err != nil {
		t.Fatal(err)
	}
	typ := chunk.Type()
	pages := chunk.Pages()
	defer pages.Close()
	row := 0
	chunkMin, chunkMax, bounded := chunk.(*parquet.FileColumnChunk).Bounds()
	for p := range index.NumPages() {
		page, err := pages.ReadPage()
		if err != nil {
			t.Fatalf("%s: page %d: %v", x.c.Name, p, err)
		}
		if offsets.FirstRowIndex(p) != int64(row) {
			t.Fatalf("%s: page %d begins at row %d, index says %d", x.c.Name, p, row, offsets.FirstRowIndex(p))
		}
		values := make([]parquet.Value, page.NumValues())
		if n, _ := page.Values().ReadValues(values); n != len(values) {
			t.Fatalf("%s: %d of %d values", x.c.Name, n, len(values))
		}
		nulls := int64(0)
		for _, v := range values {
			if !x.same(int(perm[row]), v) {
				t.Fatalf("%s: row %d (put in at %d) is %v", x.c.Name, row, perm[row], v)
			}
			row++
			if v.IsNull() {
				nulls++
				continue
			}
			if typ.Compare(index.MinValue(p), v) > 0 || typ.Compare(index.MaxValue(p), v) < 0 {
				t.Fatalf("%s: page %d: %v is not within %v and %v", x.c.Name, p, v, index.MinValue(p), index.MaxValue(p))
			}
			if !bounded || typ.Compare(chunkMin, v) > 0 || typ.Compare(chunkMax, v) < 0 {
				t.Fatalf("%s: %v is not within the chunk's %v and %v", x.c.Name, v, chunkMin, chunkMax)
			}
			if x.c.Bloom {
				if ok, err := chunk.BloomFilter().Check(v); err != nil || !ok {
					t.Fatalf("%s: the filter misses %v: %v", x.c.Name, v, err)
				}
			}
		}
		if index.NullCount(p) != nulls || index.NullPage(p) != (nulls == int64(len(values))) {
			t.Fatalf("%s: page %d: %d nulls of %d, index says %d (%v)", x.c.Name, p, nulls, len(values), index.NullCount(p), index.NullPage(p))
		}
		parquet.Release(page)
	}
	if row != len(perm) {
		t.Fatalf("%s: %d rows, want %d", x.c.Name, row, len(perm))
	}
}

func TestAHugeValueHasAPageOfItsOwn(t *testing.T) {
	c := NewColumn("text", 1, String)
	for row := range 5000 {
		if row == 3000 {
			c.AppendBytes(row, bytes.Repeat([]byte("x"), 10<<20))
		}
		if row != 3000 {
			c.AppendBytes(row, fmt.Appendf(nil, "value number %d", row))
		}
	}
	perm := make([]int32, 5000)
	for i := range perm {
		perm[i] = int32(i)
	}
	body, err := Write(nil, []*Column{c}, perm, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	offsets, err := f.RowGroups()[0].ColumnChunks()[0].OffsetIndex()
	if err != nil {
		t.Fatal(err)
	}
	var firsts []int64
	for p := range offsets.NumPages() {
		firsts = append(firsts, offsets.FirstRowIndex(p))
	}
	if !slices.Equal(firsts, []int64{0, 3000, 3001}) {
		t.Errorf("pages begin at rows %v", firsts)
	}
	if n := binary.LittleEndian.Uint32(body[len(body)-8:]); n > 2000 {
		t.Errorf("a footer of %d bytes", n)
	}
}

// TestTextThatRepeatsHasSmallPages: messages have, after the first page; ids have large ones.
func TestTextThatRepeatsHasSmallPages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	columns := []*Column{NewColumn("message", 1, String), NewColumn("id", 2, String)}
	const rows = 60_000
	perm := make([]int32, rows)
	for row := range rows {
		columns[0].AppendBytes(row, fmt.Appendf(nil, "request %d of the user was finished in time after %d tries", row, r.IntN(5)))
		columns[1].AppendBytes(row, fmt.Appendf(nil, "%016x%016x", r.Uint64(), r.Uint64()))
		perm[row] = int32(row)
	}
	body, err := Write(nil, columns, perm, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{SmallPageBytes, PageBytes} {
		chunk := f.Metadata().RowGroups[0].Columns[i].MetaData
		from, to := chunk.DataPageOffset, chunk.DataPageOffset+chunk.TotalCompressedSize
		pages, err := FindPages(body[from:to], from, rows)
		if err != nil || len(pages) < 4 {
			t.Fatalf("%d pages, %v", len(pages), err)
		}
		for k, p := range pages[:len(pages)-1] {
			h, _, err := parseHeader(body[p.Offset:])
			if err != nil {
				t.Fatal(err)
			}
			most := want
			if k == 0 {
				most = PageBytes
			}
			if h.raw < most*99/100 || h.raw > most*101/100 {
				t.Errorf("column %d: page %d has %d bytes, not about %d", i, k, h.raw, most)
			}
		}
	}
}

func TestTextIsInternedWhileItPays(t *testing.T) {
	few, many := NewColumn("few", 1, String), NewColumn("many", 2, String)
	for row := range 10_000 {
		few.AppendBytes(row, fmt.Appendf(nil, "v%d", row%10))
		many.AppendBytes(row, fmt.Appendf(nil, "v%d", row))
	}
	if !few.interned || many.interned {
		t.Errorf("interned: few %v, many %v", few.interned, many.interned)
	}
	if len(few.arena) > 100 {
		t.Errorf("%d bytes for ten values", len(few.arena))
	}
	perm := make([]int32, 10_000)
	for i := range perm {
		perm[i] = int32(i)
	}
	body, err := Write(nil, []*Column{few, many}, perm, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	chunks := f.Metadata().RowGroups[0].Columns
	if !slices.Contains(chunks[0].MetaData.Encoding, format.RLEDictionary) || slices.Contains(chunks[1].MetaData.Encoding, format.RLEDictionary) {
		t.Errorf("encodings %v and %v", chunks[0].MetaData.Encoding, chunks[1].MetaData.Encoding)
	}
}

func TestResetBoundsWhatIsKept(t *testing.T) {
	c := NewColumn("a", 1, String)
	c.AppendBytes(0, make([]byte, 2<<20))
	for row := 1; row < 3000; row++ {
		c.AppendBytes(row, fmt.Append(nil, row%7))
	}
	c.Reset("b", 2, String, 1<<20)
	if cap(c.arena) > 1<<20 || c.Len() != 0 {
		t.Errorf("%d bytes kept", cap(c.arena))
	}
	for row := range 100 {
		c.AppendBytes(row, fmt.Append(nil, row%7))
	}
	if len(c.views) != 7 {
		t.Errorf("%d distinct values, want 7", len(c.views))
	}
	c.Reset("c", 3, Int64, 1<<20)
	c.AppendInt(4, 9)
	if least, largest, ok := c.NumberBounds(); !ok || least != 9 || largest != 9 || c.LastRow() != 4 {
		t.Errorf("bounds %d %d", least, largest)
	}
}
