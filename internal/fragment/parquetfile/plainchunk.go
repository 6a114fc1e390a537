package parquetfile

import (
	"bytes"
	"encoding/binary"
	"sort"

	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/format"
)

func appendPlain(dst, b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(b))), b...)
}

func (k *chunk) pageBytes() int { return k.w.packers[k.column].pageBytes() }

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
	if n := k.rows - k.pageRow; n == PageRows || n > 0 && len(k.w.body)+4+len(b) > k.pageBytes() {
		if err := k.plainPage(); err != nil {
			return err
		}
	}
	k.rows++
	if !k.f.Required {
		k.w.marks = append(k.w.marks, 1)
	}
	at := len(k.w.body) + 4
	k.w.body = appendPlain(k.w.body, b)
	k.took(at, len(k.w.body))
	return nil
}

// took takes the value body[from:to] into what the page and the chunk say of their values.
func (k *chunk) took(from, to int) {
	k.values++
	if k.f.Bloom {
		k.w.hashes = append(k.w.hashes, bloom.XXH64{}.Sum64(k.w.body[from:to]))
	}
	k.widen(from, to)
}

// plainRun adds values of another page, as many at once as the page at hand has room for.
func (k *chunk) plainRun(v *Values, from, n int) error {
	w := k.w
	for n > 0 {
		start := v.start(from)
		m := k.room(v, from, n, start)
		if m == 0 {
			if err := k.plainPage(); err != nil {
				return err
			}
			continue
		}
		shift := len(w.body) - int(start)
		w.body = append(w.body, v.text[start:v.ends[from+m-1]]...)
		if !k.f.Required {
			w.marks = append(w.marks, allOnes[:m]...)
		}
		k.rows += m
		at := int(start)
		for _, end := range v.ends[from : from+m] {
			k.took(shift+at+4, shift+int(end))
			at = int(end)
		}
		from, n = from+m, n-m
	}
	return nil
}

// room is how many of the next n values fit into the page at hand; an empty one takes one
// of any size.
func (k *chunk) room(v *Values, from, n int, start uint32) int {
	taken := k.rows - k.pageRow
	n = min(n, PageRows-taken)
	left := k.pageBytes() - len(k.w.body)
	if n == 0 || int(v.ends[from+n-1]-start) <= left {
		return n
	}
	m := sort.Search(n, func(i int) bool { return int(v.ends[from+i]-start) > left })
	if taken == 0 {
		m = max(m, 1)
	}
	return m
}

// widen takes the value body[from:to] into the bounds of the page. Most values lie between
// them by their first eight bytes.
func (k *chunk) widen(from, to int) {
	body := k.w.body
	b := body[from:to]
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
		k.low, k.lowHead = [2]int{from, to}, head
	}
	if k.values == 1 || bytes.Compare(b, body[k.high[0]:k.high[1]]) > 0 {
		k.high, k.highHead = [2]int{from, to}, head
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
