package parquetfile

import (
	"bytes"
	"fmt"
	"testing"
)

// TestCodedValuesLieInMemoryOnce: rows of a dictionary that is too large to be interned take no more than the dictionary, however
// many they are.
func TestCodedValuesLieInMemoryOnce(t *testing.T) {
	const values, rows = 100, 4000
	d := &Dictionary{}
	for v := range values {
		d.text = appendPlain(d.text, fmt.Appendf(bytes.Repeat([]byte{'x'}, 50_000), "%d", v))
		d.ends = append(d.ends, uint32(len(d.text)))
	}
	f := &Field{Name: "c", Kind: String}
	c := NewColumn("c", 1, String)
	for from := 0; from < rows; from += 1000 {
		p := &Page{Field: f, Rows: 1000, count: 1000, dict: d}
		for i := range p.Rows {
			p.codes = append(p.codes, int32((from+i)*7%values))
		}
		c.AppendPage(from, p, p.Rows)
	}
	for row := range rows {
		if _, text, ok := c.At(row); !ok || !bytes.Equal(text, d.Text(row*7%values)) {
			t.Fatalf("row %d: %t, %d bytes", row, ok, len(text))
		}
	}
	if kept := int64(c.Kept()); kept > 5*d.Kept() {
		t.Errorf("%d bytes for a dictionary of %d", kept, d.Kept())
	}
}
