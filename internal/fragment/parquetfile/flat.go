package parquetfile

import (
	"encoding/binary"
	"unsafe"
)

// Flat is a page's values by row. They lie in the memory of the page. What stands for a null is any number, an
// empty text, or code 0.
type Flat struct {
	Nulls   []bool   // nil: no row is null
	Numbers []int64  // of numbers without a dictionary, as Column.AppendInt and its like take them
	Texts   []string // of byte arrays without a dictionary
	Codes   []int32  // with a dictionary
	Runs    []Run    // with a dictionary, in the place of Codes: no row is null, and the codes are these runs
}

// Run is rows of a page that have the same code.
type Run struct {
	End  int // the row behind it
	Code int32
}

// leastRun is how many rows a run has at least, in the mean, for pages to be kept as runs.
const leastRun = 256

// decodeRuns reads n codes below size, behind a byte with their width, if they are a few long runs; else, or if they are damaged, it
// gives none.
func decodeRuns(out []Run, src []byte, n, size int) []Run {
	if len(src) == 0 || src[0] > 32 {
		return nil
	}
	width := int(src[0])
	src = src[1:]
	for at := 0; at < n; {
		header, k := binary.Uvarint(src)
		if k <= 0 || header < 2 || header > uint64(n)<<1|1 {
			return nil
		}
		var codes [maxPacked]int32
		count, bytes, differ := int(header>>1), (width+7)/8, 1
		if header&1 == 1 { // where one run goes over into the next
			count, bytes = 8*count, width*count
			if count > maxPacked || len(src) < k+bytes {
				return nil
			}
			count = min(count, n-at)
			differ = count
			unpack(codes[:count], src[k:k+bytes], width)
		} else {
			if count > n-at || len(src) < k+bytes {
				return nil
			}
			for i, b := range src[k : k+bytes] {
				codes[0] |= int32(b) << (8 * i)
			}
		}
		for i, code := range codes[:differ] {
			if uint32(code) >= uint32(size) {
				return nil
			}
			end := at + count
			if differ > 1 {
				end = at + i + 1
			}
			if last := len(out) - 1; last >= 0 && out[last].Code == code {
				out[last].End = end
			} else if len(out) > n/leastRun {
				return nil
			} else {
				out = append(out, Run{end, code})
			}
		}
		src, at = src[k+bytes:], at+count
	}
	if len(src) > 0 {
		return nil
	}
	return out
}

// maxPacked bounds the codes that stand packed between two runs.
const maxPacked = 64

// Expand gives the codes of a page that was flattened to runs.
func (p *Page) Expand() []int32 {
	p.codes = grown(p.codes, p.Rows)
	at := 0
	for _, r := range p.runs {
		repeat(p.codes[at:r.End], r.Code)
		at = r.End
	}
	return p.codes
}

// Flatten gives the page's values by row. The page then serves for nothing else until another is read into it.
func (p *Page) Flatten() Flat {
	var f Flat
	if len(p.levels) > 0 {
		p.nulls = grown(p.nulls, p.Rows)
		for i, level := range p.levels {
			p.nulls[i] = level == 0
		}
		f.Nulls = p.nulls
	}
	switch {
	case len(p.runs) > 0:
		f.Runs = p.runs
	case p.dict != nil:
		p.codes = spread(p.codes, p.levels, p.Rows)
		f.Codes = p.codes
	case p.Field.Kind.Text():
		p.texts = grown(p.texts, p.Rows)
		p.flatTexts()
		f.Texts = p.texts
	default:
		p.nums = spread(p.nums, p.levels, p.Rows)
		f.Numbers = p.nums
	}
	return f
}

// spread moves values, which stand one after the other, to the rows that have one: from behind, as no value's row lies before
// its place.
func spread[T int32 | int64](values []T, levels []byte, rows int) []T {
	if len(levels) == 0 {
		return values
	}
	n := len(values)
	if cap(values) < rows {
		values = append(make([]T, 0, rows), values...)
	}
	values = values[:rows]
	for i := rows - 1; i >= 0; i-- {
		if levels[i] == 1 {
			n--
			values[i] = values[n]
		} else {
			values[i] = 0
		}
	}
	return values
}

// flatTexts fills texts, by row.
func (p *Page) flatTexts() {
	from := uint32(0)
	if len(p.levels) == 0 {
		for i, end := range p.ends {
			p.texts[i] = textAt(p.text, from+4, end)
			from = end
		}
		return
	}
	k := 0
	for i, level := range p.levels {
		if level == 0 {
			p.texts[i] = ""
			continue
		}
		p.texts[i] = textAt(p.text, from+4, p.ends[k])
		from = p.ends[k]
		k++
	}
}

// textAt is a view of b[from:to].
func textAt(b []byte, from, to uint32) string {
	if from == to {
		return ""
	}
	return unsafe.String(&b[from], int(to-from))
}

// Len is the number of a dictionary's values.
func (d *Dictionary) Len() int { return d.len() }

// Texts are the byte arrays by code. They lie in the dictionary's memory.
func (d *Dictionary) Texts() []string {
	out := make([]string, len(d.ends))
	from := uint32(0)
	for i, end := range d.ends {
		out[i] = textAt(d.text, from+4, end)
		from = end
	}
	return out
}

// Numbers are the numbers by code; the caller leaves them unchanged.
func (d *Dictionary) Numbers() []int64 { return d.nums }
