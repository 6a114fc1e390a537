package agg

import (
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// concat is string_agg.
type concat struct {
	name      string
	separator string
	max       int // bytes of one text, 0: any
	texts     [][]byte
	set       []bool
	meter     *memory.Meter
}

func (c *concat) grow(total int) (err error) {
	if c.set, err = grow(c.set, total, false, 1, c.meter); err != nil {
		return err
	}
	c.texts, err = grow(c.texts, total, nil, 24, c.meter)
	return err
}

func (c *concat) Add(groups []uint32, n int, args []*vec.Vector, total int) error {
	if err := c.grow(total); err != nil || allNull(args[0]) {
		return err
	}
	v := args[0]
	in := v.Values()
	for i := range n {
		if v.IsNull(i) {
			continue
		}
		if err := c.append(group(groups, i), in.Texts[v.Index(i)]); err != nil {
			return err
		}
	}
	return nil
}

func (c *concat) append(g uint32, text string) error {
	b := c.texts[g]
	more := len(text)
	if c.set[g] {
		more += len(c.separator)
	}
	if c.max > 0 && len(b)+more > c.max {
		return fail.New(fail.TooLarge, "%s: a text of more than %d bytes, the limit; group by more, or aggregate fewer rows", c.name, c.max)
	}
	if len(b)+more > cap(b) {
		bigger := max(len(b)+more, 2*cap(b))
		if err := c.meter.Take(int64(bigger - cap(b))); err != nil {
			return err
		}
		b = append(make([]byte, 0, bigger), b...)
	}
	if c.set[g] {
		b = append(b, c.separator...)
	}
	c.texts[g], c.set[g] = append(b, text...), true
	return nil
}

func (c *concat) Merge(other State, to []uint32, total int) error {
	if err := c.grow(total); err != nil {
		return err
	}
	o := other.(*concat)
	for g, set := range o.set {
		if !set {
			continue
		}
		if err := c.append(to[g], string(o.texts[g])); err != nil {
			return err
		}
	}
	return nil
}

func (c *concat) Result(from, to, total int) (*vec.Vector, error) {
	if err := c.grow(total); err != nil {
		return nil, err
	}
	out := vec.Nulls(vec.Text, to-from)
	for i := range out.Nulls {
		if c.set[from+i] {
			out.Nulls[i], out.Texts[i] = false, string(c.texts[from+i])
		}
	}
	return out, nil
}
