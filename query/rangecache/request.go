package rangecache

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/scan"
)

// joinGap is how many kept bytes between two ranges that are missing are read again, to save a request.
const joinGap = 64 << 10

// request is one GetRange.
type request struct {
	c        *Cache
	key      string
	from, to int64
	count    *scan.Stats
	pieces   []piece // that are had, ascending, disjoint
}

// piece is a part of the answer.
type piece struct {
	from int64
	data []byte
}

func (p piece) to() int64 { return p.from + int64(len(p.data)) }

// round gets as much of what is missing as can be had, and says whether that is all. What another request was to bring, and gave
// up before the store had answered, is tried again by the next round.
func (r *request) round(ctx context.Context) (done bool, err error) {
	plan := r.plan()
	var wait sync.WaitGroup
	failed := make([]error, len(plan.own))
	for i, f := range plan.own {
		get := func() { failed[i] = r.get(ctx, plan.object, f) }
		if i == len(plan.own)-1 {
			get()
			continue
		}
		wait.Go(get)
	}
	for _, want := range plan.kept {
		if data := r.c.read(plan.object, want.part, want.from, want.to); data != nil {
			r.count.CacheBytes.Add(int64(len(data)))
			r.c.metrics.bytes.WithLabelValues("cache").Add(float64(len(data)))
			r.add(piece{want.from, data})
		}
	}
	wait.Wait()
	if err := errors.Join(failed...); err != nil {
		return false, err
	}
	for _, f := range plan.own {
		r.cut(f)
	}
	for _, f := range plan.others {
		select {
		case <-f.done:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		switch {
		case f.err == nil:
			n := r.cut(f)
			r.count.CacheBytes.Add(n)
			r.c.metrics.bytes.WithLabelValues("shared").Add(float64(n))
		case !f.left:
			return false, f.err // it was tried as often as we would
		}
	}
	return len(r.missing()) == 0, ctx.Err()
}

// plan is who brings what.
type plan struct {
	object *object
	kept   []wanted
	own    []*flight // ours to fetch
	others []*flight
}

// wanted is a range of a kept part.
type wanted struct {
	part     *part
	from, to int64
}

// plan decides it for all that is missing, and enters our own flights.
func (r *request) plan() *plan {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &plan{object: c.object(r.key)}
	var gaps []span
	for _, m := range r.missing() {
		gaps = append(gaps, p.cover(m)...)
	}
	for _, g := range p.join(gaps) {
		f := &flight{from: g.from, to: g.to, done: make(chan struct{})}
		p.object.flights = append(p.object.flights, f)
		p.own = append(p.own, f)
	}
	for _, k := range p.kept {
		c.touch(k.part)
	}
	return p
}

// span is [from, to).
type span struct{ from, to int64 }

// missing are the ranges that no piece has.
func (r *request) missing() []span {
	var out []span
	at := r.from
	for _, p := range r.pieces {
		if p.from > at {
			out = append(out, span{at, p.from})
		}
		at = max(at, p.to())
	}
	if at < r.to {
		out = append(out, span{at, r.to})
	}
	return out
}

// cover finds parts and flights for a range, and returns what neither has.
func (p *plan) cover(m span) (gaps []span) {
	at := m.from
	for at < m.to {
		next := m.to
		var part *part
		var other *flight
		for _, one := range p.object.parts {
			if one.from <= at && at < one.to {
				part = one
			} else if one.from > at {
				next = min(next, one.from)
			}
		}
		for _, one := range p.object.flights {
			if one.from <= at && at < one.to {
				other = one
			} else if one.from > at {
				next = min(next, one.from)
			}
		}
		switch {
		case part != nil:
			next = min(m.to, part.to)
			p.kept = append(p.kept, wanted{part, at, next})
		case other != nil:
			next = min(m.to, other.to)
			if !slices.Contains(p.others, other) {
				p.others = append(p.others, other)
			}
		default:
			gaps = append(gaps, span{at, next})
		}
		at = next
	}
	return gaps
}

// join makes one of gaps that only a little lies between, all of it kept.
func (p *plan) join(gaps []span) []span {
	var out []span
	for _, g := range gaps {
		if n := len(out); n > 0 {
			last := &out[n-1]
			between := span{last.to, g.from}
			if between.to-between.from <= joinGap && p.drop(between) {
				last.to = g.to
				continue
			}
		}
		out = append(out, g)
	}
	return out
}

// drop takes a range out of what is read from kept parts, if it is wholly that.
func (p *plan) drop(s span) bool {
	covered := int64(0)
	inside := func(k wanted) bool { return k.from >= s.from && k.to <= s.to }
	for _, k := range p.kept {
		if inside(k) {
			covered += k.to - k.from
		}
	}
	if covered != s.to-s.from {
		return false
	}
	p.kept = slices.DeleteFunc(p.kept, inside)
	return true
}

// get brings a flight of our own, and tells those who wait for it.
func (r *request) get(ctx context.Context, o *object, f *flight) (err error) {
	defer func() {
		if p := recover(); p != nil { // else they would wait for ever
			f.err = &fail.Error{Code: fail.Internal, Message: "internal error while reading; the log has the details", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
		f.left = ctx.Err() != nil
		r.c.landed(o, f)
		close(f.done)
		err = f.err
	}()
	f.data, f.err = r.c.fetch(ctx, r.key, f.from, f.to, r.count)
	return f.err
}

// cut takes what is missing from a flight, and says how many bytes that were.
func (r *request) cut(f *flight) (n int64) {
	for _, m := range r.missing() {
		from, to := max(m.from, f.from), min(m.to, f.to)
		if from < to {
			r.add(piece{from, f.data[from-f.from : to-f.from : to-f.from]})
			n += to - from
		}
	}
	return n
}

// add puts a piece in its place.
func (r *request) add(p piece) {
	at, _ := slices.BinarySearchFunc(r.pieces, p, func(a, b piece) int { return int(a.from - b.from) })
	r.pieces = slices.Insert(r.pieces, at, p)
}

// bytes is the answer: a piece's own bytes if one is all of it.
func (r *request) bytes() []byte {
	if len(r.pieces) == 1 {
		return r.pieces[0].data
	}
	out := make([]byte, 0, r.to-r.from)
	for _, p := range r.pieces {
		out = append(out, p.data...)
	}
	return out
}
