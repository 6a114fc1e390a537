package query

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/snapshot"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/vec"
)

// errEnough ends a query whose Request.Limit is reached.
var errEnough = errors.New("as many rows as were asked for")

// counter passes an answer on and bounds its rows.
type counter struct {
	out         Sink
	limit, most int64 // 0: none
	rows        int64
	outputs     []exec.Output
	told        bool // the sink has the columns
	begun, more bool
}

// columns notes what the rows have. The sink gets it with the first of them, or at the end: until then the query may be planned anew.
func (c *counter) columns(o []exec.Output) { c.outputs = o }

// tell gives the columns to the sink, once.
func (c *counter) tell() error {
	if c.told {
		return nil
	}
	c.told = true
	return c.out.Columns(c.outputs)
}

func (c *counter) batch(b *vec.Batch) error {
	if b.Len == 0 {
		return nil
	}
	c.begun = true
	if err := c.tell(); err != nil {
		return err
	}
	enough := c.limit > 0 && c.rows+int64(b.Len) > c.limit
	if enough {
		if b = b.Slice(0, int(c.limit-c.rows)); b.Len > 0 {
			if err := c.out.Batch(b); err != nil {
				return err
			}
		}
		c.rows, c.more = c.limit, true
		return errEnough
	}
	if c.rows += int64(b.Len); c.most > 0 && c.rows > c.most {
		return fail.New(fail.TooLarge, "the answer has more than %d rows (max_rows); add a LIMIT, conditions, or aggregate", c.most)
	}
	return c.out.Batch(b)
}

// bounded adds the request's bounds to the conditions. Its limit is the select's where that has none: one row more, which tells
// whether there are more.
func bounded(s *sql.Select, from, to *event.Timestamp, limit int64) {
	if s.Limit == nil && limit > 0 && limit < math.MaxInt64 {
		s.Limit = &sql.Number{Text: strconv.FormatInt(limit+1, 10)}
	}
	if s.From == nil {
		return
	}
	add := func(op string, t *event.Timestamp) {
		if t == nil {
			return
		}
		text := time.Unix(0, int64(*t)).UTC().Format(time.RFC3339Nano)
		var cond sql.Expr = &sql.Binary{Op: op, L: &sql.Ident{Name: "timestamp", Quoted: true}, R: &sql.Typed{Type: sql.TypeName{Name: "TIMESTAMPTZ"}, Text: text}}
		if s.Where != nil {
			cond = &sql.Binary{Op: "AND", L: cond, R: s.Where}
		}
		s.Where = cond
	}
	add(">=", from)
	add("<", to)
}

func positions(v snapshot.Vector) []Position {
	out := make([]Position, len(v.Shards))
	for i, p := range v.Shards {
		out[i] = Position{p.Shard, uint64(p.At)}
	}
	return out
}
