package scan

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"github.com/togodb/togo/internal/fragment"
)

// footers keeps the footers of files that were opened lately, up to some bytes. Files never change, so a footer that
// is kept is right as long as it is asked for.
type footers struct {
	mu    sync.Mutex
	most  int64
	bytes int64
	byKey map[string]*list.Element
	order *list.List // of *kept, the one used last in front
}

type kept struct {
	key    string
	footer *fragment.Footer
}

func newFooters(most int64) *footers {
	return &footers{most: most, byKey: map[string]*list.Element{}, order: list.New()}
}

func (c *footers) get(key string) *fragment.Footer {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*kept).footer
}

func (c *footers) put(key string, f *fragment.Footer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil || f.Memory > c.most {
		return
	}
	c.byKey[key] = c.order.PushFront(&kept{key, f})
	for c.bytes += f.Memory; c.bytes > c.most; {
		e := c.order.Back()
		old := c.order.Remove(e).(*kept)
		delete(c.byKey, old.key)
		c.bytes -= old.footer.Memory
	}
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

// get reads bytes of a fragment.
func (s *Scanner) get(ctx context.Context, f *Fragment, from, n int64, stats *Stats) (piece, error) {
	data, err := s.ranges.GetRange(ctx, f.Key, from, n, stats)
	if err != nil {
		return piece{}, err
	}
	if int64(len(data)) != n {
		return piece{}, fmt.Errorf("%w: %s: %d bytes at %d asked for, %d got: the object is shorter than %d bytes", fragment.ErrCorrupt, f.Key, n, from, len(data), f.Bytes)
	}
	return piece{from, data}, nil
}

// footer gives a fragment's footer, and what was read of the object's end, if it was.
func (s *Scanner) footer(ctx context.Context, f *Fragment, stats *Stats) (*fragment.Footer, piece, error) {
	if footer := s.footers.get(f.Key); footer != nil {
		return footer, piece{}, nil
	}
	n := min(f.Bytes, fragment.TailBytes)
	if n <= 0 {
		return nil, piece{}, fmt.Errorf("%w: %s: a fragment of %d bytes", fragment.ErrCorrupt, f.Key, f.Bytes)
	}
	tail, err := s.get(ctx, f, f.Bytes-n, n, stats)
	if err != nil {
		return nil, piece{}, err
	}
	need, err := fragment.FooterBytes(f.Key, tail.data)
	if err != nil {
		return nil, piece{}, err
	}
	if need > n && need <= f.Bytes {
		if tail, err = s.get(ctx, f, f.Bytes-need, need, stats); err != nil {
			return nil, piece{}, err
		}
	}
	footer, err := fragment.ParseFooter(f.Key, f.Bytes, tail.data)
	if err != nil {
		return nil, piece{}, err
	}
	s.footers.put(f.Key, footer)
	return footer, tail, nil
}
