package parquetfile

import (
	"bytes"
	"encoding/binary"

	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/format"
)

func appendPlain(dst, b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(b))), b...)
}

// startPlain begins a chunk of byte arrays whose values and nulls come by plain and null,
// ended by endPlain.
func (k *chunk) startPlain() {
	k.start()
	k.meta.Encoding = append(k.meta.Encoding, format.Plain)
	k.w.body, k.w.hashes, k.w.marks = k.w.body[:0], k.w.hashes[:0], k.w.marks[:0]
}

func (k *chunk) null() error {
	if k.rows-k.pageRow == PageRows {
		if err := k.plainPage(); err != nil {
			return err
		}
	}
	k.rows++
	k.w.marks = append(k.w.marks, 0)
	return nil
}

func (k *chunk) plain(b []byte) error {
	if n := k.rows - k.pageRow; n == PageRows || n > 0 && len(k.w.body)+4+len(b) > PageBytes {
		if err := k.plainPage(); err != nil {
			return err
		}
	}
	k.rows++
	k.values++
	if !k.f.Required {
		k.w.marks = append(k.w.marks, 1)
	}
	at := len(k.w.body) + 4
	k.w.body = appendPlain(k.w.body, b)
	if k.f.Bloom {
		k.w.hashes = append(k.w.hashes, bloom.XXH64{}.Sum64(b))
	}
	k.widen(at)
	return nil
}

// plainRun adds values of another page.
func (k *chunk) plainRun(v *Values, from, n int) error {
	for i := from; i < from+n; i++ {
		if err := k.plain(v.Text(i)); err != nil {
			return err
		}
	}
	return nil
}

// widen takes the value body[from:] into the bounds of the page. Most values lie between
// them by their first eight bytes.
func (k *chunk) widen(from int) {
	body := k.w.body
	b := body[from:]
	head := uint64(0)
	if len(b) >= 8 {
		head = binary.BigEndian.Uint64(b)
		if k.values > 1 && head > k.lowHead && head < k.highHead {
			return
		}
	} else {
		for i, c := range b {
			head |= uint64(c) << (56 - 8*i)
		}
	}
	if k.values == 1 || bytes.Compare(b, body[k.low[0]:k.low[1]]) < 0 {
		k.low, k.lowHead = [2]int{from, len(body)}, head
	}
	if k.values == 1 || bytes.Compare(b, body[k.high[0]:k.high[1]]) > 0 {
		k.high, k.highHead = [2]int{from, len(body)}, head
	}
}

// plainPage writes the page that was filled.
func (k *chunk) plainPage() error {
	var least, largest []byte
	if k.values > 0 {
		least, largest = cutLeast(k.w.body[k.low[0]:k.low[1]]), cutLargest(k.w.body[k.high[0]:k.high[1]])
	}
	err := k.dataPage(k.w.marks, k.pageRow, k.rows, k.values, format.Plain, least, largest)
	k.w.body, k.w.marks = k.w.body[:0], k.w.marks[:0]
	k.pageRow, k.values = k.rows, 0
	return err
}

func (k *chunk) endPlain() error {
	if k.rows > k.pageRow {
		if err := k.plainPage(); err != nil {
			return err
		}
	}
	k.end(k.rows)
	if k.f.Bloom {
		k.bloom()
	}
	return nil
}
