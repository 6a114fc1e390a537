package scan

import (
	"bytes"
	"container/list"
	"fmt"
	"slices"
	"sync"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/fragment/parquetfile"
	"github.com/togodb/togo/query/fail"
)

// footers keeps the footers, indexes and Bloom filters of files that were read lately, or their dictionaries, up to some bytes. Files
// never change, so what is kept is right as long as it is asked for.
type footers struct {
	mu    sync.Mutex
	most  int64
	bytes int64
	byKey map[place]*list.Element
	order *list.List // of *known, the one used last in front
}

// place is a file's end, or where a filter or a dictionary lies in it.
type place struct {
	key string
	at  int64 // 0: the end
}

// known is what was read of a file's end, or a filter, or a dictionary. It is immutable.
type known struct {
	place
	filter      *parquetfile.Filter // nil: it is something else
	filterBytes int64
	dict        *dictionary // nil: it is something else

	footer *fragment.Footer
	index  piece // all indexes of the file; empty: not read
	sure   bool  // the indexes have a checksum, and it is right
}

func (k *known) size() int64 {
	switch {
	case k.filter != nil:
		return k.filterBytes + 300
	case k.dict != nil:
		return k.dict.size() + 300
	}
	return k.footer.Memory + int64(len(k.index.data)) + 300
}

func newFooters(most int64) *footers {
	return &footers{most: most, byKey: map[place]*list.Element{}, order: list.New()}
}

// leastKept is how many there is room for, however large: one alone must not take the place of all.
const leastKept = 4

func (c *footers) get(at place) *known {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[at]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*known)
}

// put keeps k in the place of what is known of the same file.
func (c *footers) put(k *known) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[k.place]; e != nil {
		c.remove(e)
	}
	if k.size() > c.most/leastKept {
		return
	}
	c.byKey[k.place] = c.order.PushFront(k)
	for c.bytes += k.size(); c.bytes > c.most; {
		c.remove(c.order.Back())
	}
}

func (c *footers) remove(e *list.Element) {
	k := c.order.Remove(e).(*known)
	delete(c.byKey, k.place)
	c.bytes -= k.size()
}

// piece is bytes of an object, from a place on.
type piece struct {
	from int64
	data []byte
}

func (p piece) has(s fragment.Span) bool {
	return p.from <= s.From && s.To <= p.from+int64(len(p.data))
}

func (p piece) part(s fragment.Span) []byte { return p.data[s.From-p.from : s.To-p.from] }

// get reads bytes of a fragment, and counts them against the request's bound.
func (x *run) get(f *Fragment, from, n int64) (piece, error) {
	if most := x.r.MaxBytes; most > 0 && x.bytes.Add(n) > most {
		return piece{}, fail.New(fail.TooLarge, "the query reads more than %d bytes: ask for a shorter time range or fewer columns, or for values of the columns that the tenant's data is sorted by", most)
	}
	data, err := x.ranges.GetRange(x.ctx, f.Key, from, n, x.stats)
	if err != nil {
		return piece{}, err
	}
	if int64(len(data)) != n {
		return piece{}, fmt.Errorf("%w: %s: %d bytes at %d asked for, %d got: the object is shorter than %d bytes", fragment.ErrCorrupt, f.Key, n, from, len(data), f.Bytes)
	}
	return piece{from, data}, nil
}

// footer gives what is known of a fragment's end, and what was read of it, if it was. If indexes will be wanted they are read with it, as
// far as may be guessed.
func (x *run) footer(f *Fragment, indexes bool) (*known, piece, error) {
	if k := x.footers.get(place{key: f.Key}); k != nil {
		return k, piece{}, nil
	}
	n := x.ends.guess(x.r, f, indexes)
	if n <= 0 {
		return nil, piece{}, fmt.Errorf("%w: %s: a fragment of %d bytes", fragment.ErrCorrupt, f.Key, f.Bytes)
	}
	tail, err := x.get(f, f.Bytes-n, n)
	if err != nil {
		return nil, piece{}, err
	}
	need, err := fragment.FooterBytes(f.Key, tail.data)
	if err != nil {
		return nil, piece{}, err
	}
	if need > n && need <= f.Bytes {
		head, err := x.get(f, f.Bytes-need, need-n)
		if err != nil {
			return nil, piece{}, err
		}
		tail = piece{head.from, slices.Concat(head.data, tail.data)}
	}
	footer, err := fragment.ParseFooter(f.Key, f.Bytes, tail.data)
	if err != nil {
		return nil, piece{}, err
	}
	x.ends.saw(x.r, f, need, footer.Indexes.Len())
	k := &known{place: place{key: f.Key}, footer: footer}
	if at := footer.Indexes; tail.has(at) {
		if k, err = k.withIndex(piece{at.From, bytes.Clone(tail.part(at))}); err != nil {
			return nil, piece{}, err
		}
	}
	x.footers.put(k)
	return k, tail, nil
}

// withIndex adds the file's indexes.
func (k *known) withIndex(index piece) (*known, error) {
	sure, err := k.footer.CheckIndexes(k.key, index.data)
	if err != nil {
		return nil, err
	}
	return &known{place: k.place, footer: k.footer, index: index, sure: sure}, nil
}

// indexes reads the file's indexes, if they are not there.
func (o *opened) indexes(x *run) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known.index.data != nil {
		return nil
	}
	at := o.footer.Indexes
	index, err := x.get(o.Fragment, at.From, at.Len())
	if err != nil {
		return err
	}
	k, err := o.known.withIndex(index)
	if err != nil {
		return err
	}
	o.known = k
	x.footers.put(k)
	return nil
}
