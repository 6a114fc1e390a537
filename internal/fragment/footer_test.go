package fragment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// footerFile is a file with several row groups' worth of pages, nulls and Bloom filters.
func footerFile(t *testing.T) []byte {
	t.Helper()
	var docs []string
	for i := range 40_000 {
		doc := fmt.Sprintf(`{"service":"svc-%d","n":%d,"f":%d.5,"trace_id":"trace-%d"`, i/9000, i, i%7, i)
		if i%3 == 0 {
			doc += fmt.Sprintf(`,"third":%d`, i)
		}
		if i > 20_000 {
			doc += fmt.Sprintf(`,"late":"%d"`, i)
		}
		docs = append(docs, doc+"}")
	}
	file, err := Encode(context.Background(), Input{Tenant: "t", Kind: Events, Rows: jsonRows(docs...)}, newRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return file.Body
}

// TestFooterAgreesWithAnotherReader: columns, pages and bounds are those that parquet-go reads.
func TestFooterAgreesWithAnotherReader(t *testing.T) {
	body := footerFile(t)
	f, err := ParseFooter("key", int64(len(body)), body[len(body)-TailBytes:])
	if err != nil {
		t.Fatal(err)
	}
	if checked, err := f.CheckIndexes("key", body[f.Indexes.From:f.Indexes.To]); err != nil || !checked {
		t.Fatalf("indexes: %t, %v", checked, err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	if f.Rows != file.NumRows() || len(f.Columns) != len(file.Schema().Columns()) {
		t.Fatalf("%d rows, %d columns", f.Rows, len(f.Columns))
	}
	pages, filters := 0, 0
	for g, group := range file.RowGroups() {
		for c, chunk := range group.ColumnChunks() {
			if name := file.Schema().Columns()[c][0]; f.Columns[c].Name != name || f.Column(name) != c {
				t.Fatalf("column %d is %q, not %q", c, f.Columns[c].Name, name)
			}
			k := &f.Groups[g].Chunks[c]
			spans, err := parquetfile.ReadOffsetIndex(body[k.OffsetIndex.From:k.OffsetIndex.To], k.Data, k.To, f.Groups[g].Rows)
			if err != nil {
				t.Fatal(err)
			}
			if found, err := parquetfile.FindPages(body[k.Data:k.To], k.Data, f.Groups[g].Rows); err != nil || !slices.Equal(found, spans) {
				t.Errorf("column %q: pages found are %v, %v, not %v", f.Columns[c].Name, found, err, spans)
			}
			for _, rows := range []int64{f.Groups[g].Rows - 1, f.Groups[g].Rows + 1} {
				if _, err := parquetfile.FindPages(body[k.Data:k.To], k.Data, rows); err == nil {
					t.Errorf("column %q: pages of %d rows are found for %d", f.Columns[c].Name, f.Groups[g].Rows, rows)
				}
			}
			if _, err := parquetfile.FindPages(body[k.Data:k.To-1], k.Data, f.Groups[g].Rows); err == nil {
				t.Errorf("column %q: pages are found where the last one is cut", f.Columns[c].Name)
			}
			bounds, err := parquetfile.ReadColumnIndex(&f.Columns[c].Field, body[k.ColumnIndex.From:k.ColumnIndex.To], len(spans))
			if err != nil {
				t.Fatal(err)
			}
			offsets, _ := chunk.OffsetIndex()
			index, _ := chunk.ColumnIndex()
			if len(spans) != offsets.NumPages() {
				t.Fatalf("%d pages, not %d", len(spans), offsets.NumPages())
			}
			for p := range spans {
				pages++
				if spans[p].Offset != offsets.Offset(p) || int64(spans[p].First) != offsets.FirstRowIndex(p) || spans[p].Bytes != offsets.CompressedPageSize(p) {
					t.Errorf("column %q page %d: %+v", f.Columns[c].Name, p, spans[p])
				}
				b := &bounds[p]
				if b.Nulls != index.NullCount(p) || (b.Least == nil) != index.NullPage(p) {
					t.Errorf("column %q page %d: %+v", f.Columns[c].Name, p, b)
				}
				if b.Least != nil && (!bytes.Equal(b.Least, index.MinValue(p).Bytes()) || !bytes.Equal(b.Largest, index.MaxValue(p).Bytes())) {
					t.Errorf("column %q page %d: bounds %x and %x, not %v and %v", f.Columns[c].Name, p, b.Least, b.Largest, index.MinValue(p), index.MaxValue(p))
				}
			}
			if k.Bloom.Len() == 0 {
				continue
			}
			filters++
			filter, err := f.Filter("key", k, body[k.Bloom.From:k.Bloom.To])
			if err != nil {
				t.Fatal(err)
			}
			if f.Columns[c].Name == "trace_id" {
				for i := range 1000 {
					if !filter.Has(fmt.Sprintf("trace-%d", i)) {
						t.Fatalf("the filter has not trace-%d", i)
					}
				}
				wrong := 0
				for i := range 1000 {
					if filter.Has(fmt.Sprintf("other-%d", i)) {
						wrong++
					}
				}
				if wrong > 100 {
					t.Errorf("the filter has %d of 1000 values that are not there", wrong)
				}
			}
		}
	}
	if pages < 30 || filters < 2 {
		t.Errorf("only %d pages and %d filters", pages, filters)
	}
}

// TestDamagedIndexesAndFilters: no byte of them can change unseen.
func TestDamagedIndexesAndFilters(t *testing.T) {
	body := footerFile(t)
	f, err := ParseFooter("key", int64(len(body)), body)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(s Span, check func(b []byte) error) {
		for at := s.From; at < s.To; at += max(1, s.Len()/1500) {
			b := bytes.Clone(body[s.From:s.To])
			b[at-s.From] ^= 1 << (at % 8)
			if err := check(b); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("byte %d of [%d, %d): %v", at, s.From, s.To, err)
			}
		}
	}
	damage(f.Indexes, func(b []byte) error {
		_, err := f.CheckIndexes("key", b)
		return err
	})
	k := &f.Groups[0].Chunks[f.Column("trace_id")]
	damage(k.Bloom, func(b []byte) error {
		_, err := f.Filter("key", k, b)
		return err
	})
}

// FuzzIndexes: readers of indexes take any bytes, and memory no more than those.
func FuzzIndexes(f *testing.F) {
	f.Add([]byte{0x19, 0x1C, 0x16, 0x08, 0x15, 0x64, 0x16, 0x00, 0x00, 0x00}, uint8(1))
	f.Add([]byte{0x19, 0x11, 0x02, 0x19, 0x18, 0x01, 0x61, 0x19, 0x18, 0x01, 0x62, 0x15, 0x02, 0x19, 0x16, 0x00, 0x00}, uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, pages uint8) {
		for _, kind := range []parquetfile.Kind{parquetfile.String, parquetfile.Int64, parquetfile.Boolean} {
			bounds, err := parquetfile.ReadColumnIndex(&parquetfile.Field{Kind: kind}, b, int(pages))
			if err == nil && len(bounds) != int(pages) {
				t.Fatalf("%d bounds of %d pages", len(bounds), pages)
			}
		}
		spans, err := parquetfile.ReadOffsetIndex(b, 4, 1004, 100)
		rows := 0
		for _, s := range spans {
			rows += s.Rows
		}
		if err == nil && rows != 100 {
			t.Fatalf("%d rows of 100", rows)
		}
	})
}
