package parquetfile

import "slices"

// ChunkWriter writes one column of a row group from runs of rows of other files' pages,
// in the order in which they are added. It holds numbers, or codes with their dictionary,
// of one row group; of byte arrays that do not repeat a page alone.
type ChunkWriter struct {
	w      *Writer
	k      *chunk
	intern *Column // of byte arrays, while they repeat
	rows   int
}

// Chunk begins the next column of the row group. The ChunkWriter's Close ends it.
func (w *Writer) Chunk(column int) *ChunkWriter {
	c := &ChunkWriter{w: w, k: w.chunk(column)}
	w.levels, w.nums, w.loose, w.codes = w.levels[:0], w.nums[:0], w.loose[:0], w.codes[:0]
	if c.k.f.Kind.Text() {
		if w.intern == nil {
			w.intern = NewColumn("", 0, String)
		}
		w.intern.Reset("", 0, String, keepIntern)
		c.intern = w.intern
	}
	return c
}

// keepIntern bounds each buffer of the column that interns values.
const keepIntern = 4 << 20

// Add takes the next n rows of a page, whose column has the same kind.
func (c *ChunkWriter) Add(p *Page, n int) error {
	if c.intern != nil && p.dict == nil {
		// Until it is known whether values repeat, no more than that takes.
		if m := internProbe - len(c.intern.codes); m > 0 && m < n {
			if err := c.add(p, m); err != nil {
				return err
			}
			n -= m
		}
	}
	return c.add(p, n)
}

func (c *ChunkWriter) add(p *Page, n int) error {
	row, value := p.row, p.value
	values := p.skip(n)
	var levels []byte
	if len(p.levels) > 0 {
		levels = p.levels[row:p.row]
	}
	text := c.k.f.Kind.Text()
	if !text || c.intern != nil {
		c.addLevels(levels, n)
	}
	c.rows += n
	switch {
	case text && c.intern == nil && levels == nil && p.dict == nil:
		return c.k.plainRun(&p.Values, value, values)
	case text && c.intern == nil:
		return c.addPlain(p, levels, value, values)
	case text:
		return c.addInterned(p, value, values)
	case p.dict != nil:
		c.w.nums = grown2(c.w.nums, values)
		out := c.w.nums[len(c.w.nums)-values:]
		for i, code := range p.codes[value : value+values] {
			out[i] = p.dict.nums[code]
		}
	default:
		c.w.nums = append(c.w.nums, p.nums[value:value+values]...)
	}
	return nil
}

// grown2 is s with n more elements, whose values are not set.
func grown2[T any](s []T, n int) []T {
	if len(s)+n <= cap(s) {
		return s[:len(s)+n]
	}
	next := make([]T, len(s)+n, max(2*cap(s), len(s)+n))
	copy(next, s)
	return next
}

// addLevels keeps the levels of n rows; none stand for rows that all have a value, and
// are not spelled out until a row has none.
func (c *ChunkWriter) addLevels(levels []byte, n int) {
	w := c.w
	switch {
	case c.k.f.Required:
	case len(levels) > 0:
		c.spell(c.rows)
		w.levels = append(w.levels, levels...)
	case len(w.levels) > 0:
		c.spell(c.rows + n)
	}
}

// spell makes levels as long as rows, by ones.
func (c *ChunkWriter) spell(rows int) {
	for n := rows - len(c.w.levels); n > 0; n = rows - len(c.w.levels) {
		c.w.levels = append(c.w.levels, allOnes[:min(n, len(allOnes))]...)
	}
}

// AddEmpty adds n rows of a file that has no such column: nulls, or zeros where a value is
// required.
func (c *ChunkWriter) AddEmpty(n int) error {
	c.rows += n
	switch {
	case c.k.f.Required && c.k.f.Kind.Text():
		panic("parquetfile: a required column of byte arrays is missing in a file")
	case c.k.f.Required:
		for range n {
			c.w.nums = append(c.w.nums, 0)
		}
	case c.k.f.Kind.Text() && c.intern == nil:
		for range n {
			if err := c.k.null(); err != nil {
				return err
			}
		}
	default:
		c.spell(c.rows - n)
		c.w.levels = append(c.w.levels, make([]byte, n)...)
	}
	return nil
}

func (c *ChunkWriter) addInterned(p *Page, value, values int) error {
	in := c.intern
	before := len(in.codes)
	if p.dict == nil {
		for i := value; i < value+values; i++ {
			in.codes = append(in.codes, in.internValue(p.Text(i)))
		}
	} else {
		remap := p.dict.remapFor(c)
		for _, code := range p.codes[value : value+values] {
			if remap[code] == 0 {
				remap[code] = in.internValue(p.dict.Text(int(code))) + 1
			}
			in.codes = append(in.codes, remap[code]-1)
		}
	}
	if before < internProbe && len(in.codes) >= internProbe && !in.mayPay() || in.tooMany() {
		return c.spread()
	}
	return nil
}

// remapFor is the dictionary's map to the codes of the chunk that c writes.
func (d *Dictionary) remapFor(c *ChunkWriter) []int32 {
	if d.owner != c {
		d.owner = c
		d.remap = grown(d.remap, d.len())
		clear(d.remap)
	}
	return d.remap
}

// spread ends interning: what was taken so far is written plain.
func (c *ChunkWriter) spread() error {
	in := c.intern
	c.intern = nil
	c.k.startPlain()
	value := 0
	for row := range c.rows {
		if len(c.w.levels) > 0 && c.w.levels[row] == 0 {
			if err := c.k.null(); err != nil {
				return err
			}
			continue
		}
		if err := c.k.plain(in.value(int32(value))); err != nil {
			return err
		}
		value++
	}
	return nil
}

func (c *ChunkWriter) addPlain(p *Page, levels []byte, value, values int) error {
	rows := len(levels)
	if rows == 0 {
		rows = values
	}
	for row := range rows {
		var err error
		switch {
		case len(levels) > 0 && levels[row] == 0:
			err = c.k.null()
		case p.dict != nil:
			err = c.k.plain(p.dict.Text(int(p.codes[value])))
			value++
		default:
			err = c.k.plain(p.Text(value))
			value++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Collect takes the next n rows of a page in the order in which the files have them, all
// rows of one file before those of the next; CloseInOrder puts them in theirs. A
// column is either collected or added. Of byte arrays only coded pages keep it small.
func (c *ChunkWriter) Collect(p *Page, n int) {
	row, value := p.row, p.value
	values := p.skip(n)
	var levels []byte
	if len(p.levels) > 0 {
		levels = p.levels[row:p.row]
	}
	c.addLevels(levels, n)
	c.rows += n
	w := c.w
	if c.intern != nil {
		w.codes = grown2(w.codes, n)
		c.collectCodes(p, w.codes[len(w.codes)-n:], levels, value, values)
		return
	}
	w.loose = grown2(w.loose, n)
	out := w.loose[len(w.loose)-n:]
	switch {
	case levels != nil:
		for i, level := range levels {
			if out[i] = 0; level == 0 {
				continue
			}
			if p.dict != nil {
				out[i] = p.dict.nums[p.codes[value]]
			} else {
				out[i] = p.nums[value]
			}
			value++
		}
	case p.dict != nil:
		nums := p.dict.nums
		for i, code := range p.codes[value : value+values] {
			out[i] = nums[code]
		}
	default:
		copy(out, p.nums[value:value+values])
	}
}

// collectCodes gives each row its code; that of rows without a value means nothing.
func (c *ChunkWriter) collectCodes(p *Page, out []int32, levels []byte, value, values int) {
	in := c.intern
	var remap []int32
	if p.dict != nil {
		remap = p.dict.remapFor(c)
	}
	at := 0
	for v := value; v < value+values; v++ {
		for levels != nil && levels[at] == 0 {
			out[at] = 0
			at++
		}
		if p.dict == nil {
			out[at] = in.internValue(p.Text(v))
		} else {
			code := p.codes[v]
			if remap[code] == 0 {
				remap[code] = in.internValue(p.dict.Text(int(code))) + 1
			}
			out[at] = remap[code] - 1
		}
		at++
	}
	clear(out[at:])
}

// CollectEmpty is AddEmpty for columns that are collected.
func (c *ChunkWriter) CollectEmpty(n int) {
	w := c.w
	if !c.k.f.Required {
		c.spell(c.rows)
		w.levels = append(w.levels, make([]byte, n)...)
	}
	c.rows += n
	if c.intern != nil {
		w.codes = append(w.codes, make([]int32, n)...)
	} else {
		w.loose = append(w.loose, make([]int64, n)...)
	}
}

// CloseInOrder writes the rows that were collected in this order and ends the column.
func (c *ChunkWriter) CloseInOrder(order []int32) error {
	return c.w.done(c.k, c.closeInOrder(order))
}

func (c *ChunkWriter) closeInOrder(order []int32) error {
	w := c.w
	var levels []byte
	if len(w.levels) > 0 {
		c.spell(c.rows)
		w.marks = grown(w.marks, len(order))
		levels = w.marks
		for i, row := range order {
			levels[i] = w.levels[row]
		}
	}
	if c.intern != nil {
		return c.closeCodes(order, levels)
	}
	w.nums = grown(w.nums, len(order))
	if levels == nil {
		for i, row := range order {
			w.nums[i] = w.loose[row]
		}
		return c.k.numbers(nil, w.nums, len(order))
	}
	n := 0
	for i, row := range order {
		w.nums[n] = w.loose[row]
		n += int(levels[i])
	}
	return c.k.numbers(levels, w.nums[:n], len(order))
}

func (c *ChunkWriter) closeCodes(order []int32, levels []byte) error {
	w, in := c.w, c.intern
	w.remap = grown(w.remap, len(order)) // the codes in order
	n := 0
	if levels == nil {
		n = len(order)
		for i, row := range order {
			w.remap[i] = w.codes[row]
		}
	} else {
		for i, row := range order {
			w.remap[n] = w.codes[row]
			n += int(levels[i])
		}
	}
	codes := w.remap[:n]
	value := func(code int32) []byte { return in.at(in.views[code]) }
	if n > 0 && 2*len(in.views) <= n && !in.tooMany() {
		return c.k.coded(levels, codes, value, len(in.views), len(order))
	}
	marks := slices.Clone(levels) // a plain chunk has marks of its own
	c.k.startPlain()
	for i := range order {
		var err error
		if marks != nil && marks[i] == 0 {
			err = c.k.null()
		} else {
			err = c.k.plain(value(codes[0]))
			codes = codes[1:]
		}
		if err != nil {
			return err
		}
	}
	return c.k.endPlain()
}

// Close writes what is left of the column and ends it.
func (c *ChunkWriter) Close() error {
	return c.w.done(c.k, c.close())
}

func (c *ChunkWriter) close() error {
	w, k := c.w, c.k
	if len(w.levels) > 0 {
		c.spell(c.rows)
	}
	if !k.f.Kind.Text() {
		return k.numbers(w.levels, w.nums, c.rows)
	}
	if in := c.intern; in != nil {
		if len(in.codes) > 0 && in.pays() {
			dict := func(code int32) []byte { return in.at(in.views[code]) }
			return k.coded(w.levels, in.codes, dict, len(in.views), c.rows)
		}
		if err := c.spread(); err != nil {
			return err
		}
	}
	return k.endPlain()
}
