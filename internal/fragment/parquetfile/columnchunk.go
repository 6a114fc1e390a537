package parquetfile

// write writes the column's rows of a row group.
func (c *Column) write(k *chunk, rows []int32) error {
	w := k.w
	c.gather(w, rows)
	if !c.text() {
		w.nums = grown(w.nums, len(w.values))
		for i, v := range w.values {
			w.nums[i] = c.nums[v]
		}
		return k.numbers(w.levels, w.nums, len(rows))
	}
	if c.interned && c.pays() && len(w.values) > 0 {
		w.remap = grown(w.remap, len(c.views))
		clear(w.remap)
		w.codes, w.dict = w.codes[:0], w.dict[:0]
		for _, v := range w.values {
			interned := c.codes[v]
			if w.remap[interned] == 0 {
				w.dict = append(w.dict, interned)
				w.remap[interned] = int32(len(w.dict))
			}
			w.codes = append(w.codes, w.remap[interned]-1)
		}
		dict := func(code int32) []byte { return c.at(c.views[w.dict[code]]) }
		return k.coded(w.levels, w.codes, dict, len(w.dict), len(rows))
	}
	k.startPlain()
	value, warmed := 0, 0
	for i := range rows {
		var err error
		if value == warmed {
			warmed = min(value+warmValues, len(w.values))
			w.warm ^= c.warm(w.values[value:warmed])
		}
		if len(w.levels) > 0 && w.levels[i] == 0 {
			err = k.null()
		} else {
			err = k.plain(c.value(w.values[value]))
			value++
		}
		if err != nil {
			return err
		}
	}
	return k.endPlain()
}

// warmValues is how many values warm reads at once.
const warmValues = 64

// warm reads a byte at both ends of each value. In the file's order values lie anywhere in the
// arena: copied one after the other each would wait for memory, read so they wait together.
func (c *Column) warm(values []int32) (sum byte) {
	for _, v := range values {
		if b := c.value(v); len(b) > 0 {
			sum ^= b[0] ^ b[len(b)-1]
		}
	}
	return sum
}

// gather lists the row group's levels and values in the rows' order.
func (c *Column) gather(w *Writer, rows []int32) {
	pos := c.places(w.pos)
	w.levels, w.values = w.levels[:0], w.values[:0]
	if pos == nil {
		w.values = append(w.values, rows...)
		return
	}
	for _, row := range rows {
		p := pos[row]
		if p < 0 {
			w.levels = append(w.levels, 0)
			continue
		}
		w.levels = append(w.levels, 1)
		w.values = append(w.values, p)
	}
}

// AppendPage adds the next n rows of a page, whose column has the same kind, as rows from
// row on, behind all rows so far.
func (c *Column) AppendPage(row int, p *Page, n int) {
	for i := range n {
		number, text, ok := p.Peek(0)
		value := p.value
		p.Skip(1)
		switch {
		case !ok:
		case c.text() && !c.interned && p.dict != nil:
			c.appendCoded(row+i, p.dict, p.codes[value], text)
		case c.text():
			c.AppendBytes(row+i, text)
		default:
			c.AppendInt(row+i, number)
		}
	}
}

// appendCoded adds a value of a dictionary; those of one code lie in memory once. (A dictionary of few
// large values may stand for gigabytes of rows.)
func (c *Column) appendCoded(row int, d *Dictionary, code int32, text []byte) {
	if d.viewsOf != c {
		d.viewsOf, d.views = c, make([]int32, d.len())
	}
	if known := d.views[code]; known > 0 {
		c.place(row)
		c.views = append(c.views, c.views[known-1])
		return
	}
	c.AppendBytes(row, text)
	d.views[code] = int32(len(c.views))
}

// textBytes adds the sizes of the byte arrays to those of their rows, if there are any,
// and gives their sum.
func (c *Column) textBytes(sizes []int) (total int) {
	for k := range c.n {
		n := len(c.value(int32(k)))
		total += n
		if sizes != nil {
			sizes[c.row(k)] += n
		}
	}
	return total
}
