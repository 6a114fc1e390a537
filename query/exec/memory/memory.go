// Package memory counts the bytes that a query keeps while it runs, against its limit, and holds the texts that it keeps.
package memory

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/togodb/togo/query/fail"
)

// Pool is the memory of all queries of a process: each is sure of some, and what is beyond that they share. So a query
// that needs much cannot take from another what that one is sure of.
type Pool struct {
	sure, shared int64
	used         atomic.Int64 // of what is shared
}

// NewPool makes one: sure are bytes of each query, shared those of all.
func NewPool(sure, shared int64) *Pool { return &Pool{sure: sure, shared: shared} }

// Account makes one of the pool; p may be nil. Close must be called when nothing that it counts is kept.
func (p *Pool) Account(limit int64) *Account { return &Account{limit: limit, pool: p} }

// Used is how much of what is shared is taken.
func (p *Pool) Used() int64 { return p.used.Load() }

// move is what the pool sees of an account that went from one number of bytes to another.
func (p *Pool) move(from, to int64) (full bool) {
	n := max(to-p.sure, 0) - max(from-p.sure, 0)
	return n != 0 && p.used.Add(n) > p.shared && n > 0
}

// Account is one query's, for all of its workers.
type Account struct {
	limit int64 // 0: none
	pool  *Pool // nil: none
	used  atomic.Int64
	ctx   context.Context // nil: none
}

// NewAccount makes one; limit 0 is none.
func NewAccount(limit int64) *Account { return &Account{limit: limit} }

// Watch makes the account's meters tell when the query's context has ended. It is called before there are any.
func (a *Account) Watch(ctx context.Context) { a.ctx = ctx }

// Used is how many bytes are taken, rounded up by each meter.
func (a *Account) Used() int64 { return a.used.Load() }

// Room tells whether n more bytes could be taken now.
func (a *Account) Room(n int64) bool {
	used := a.used.Load()
	if a.limit > 0 && used+n > a.limit {
		return false
	}
	if a.pool == nil {
		return true
	}
	more := max(used+n-a.pool.sure, 0) - max(used-a.pool.sure, 0)
	return more == 0 || a.pool.used.Load()+more <= a.pool.shared
}

// Close gives all back to the pool, whatever meters still hold.
func (a *Account) Close() { a.give(a.used.Load()) }

func (a *Account) take(n int64) error {
	used := a.used.Add(n)
	full := a.pool != nil && a.pool.move(used-n, used)
	switch {
	case a.limit > 0 && used > a.limit:
		return fail.New(fail.TooLarge, "the query needs more memory than its limit of %d MiB for groups, rows to be sorted and the like; "+
			"read a shorter time range, group by fewer distinct values, or add a LIMIT", (a.limit+1<<20-1)>>20)
	case full:
		return fail.New(fail.Unavailable, "the query needs more than %d MiB of memory for groups, rows to be sorted and the like, and other queries hold what there is; "+
			"try again, or read a shorter time range", (a.pool.sure+1<<20-1)>>20)
	}
	return nil
}

func (a *Account) give(n int64) {
	used := a.used.Add(-n)
	if a.pool != nil {
		a.pool.move(used+n, used)
	}
}

// step is how much a meter takes at once, so that workers seldom meet at the account.
const step = 32 << 10

// Meter takes bytes for one goroutine.
type Meter struct {
	account *Account
	held    int64 // taken of the account
	left    int64 // of that: free
}

// Meter makes one.
func (a *Account) Meter() *Meter { return &Meter{account: a} }

// Take takes n bytes; the error is a fail.TooLarge.
func (m *Meter) Take(n int64) error {
	if m.left -= n; m.left >= 0 {
		return nil
	}
	more := -m.left + step
	m.left += more
	m.held += more
	return m.account.take(more)
}

// Stopped is the error of the query's context once that has ended: long work asks now and then.
func (m *Meter) Stopped() error {
	if m.account.ctx == nil {
		return nil
	}
	return m.account.ctx.Err()
}

// Sibling is another meter of the same account.
func (m *Meter) Sibling() *Meter { return m.account.Meter() }

// Release gives all back.
func (m *Meter) Release() {
	m.account.give(m.held)
	m.held, m.left = 0, 0
}

// Give gives n bytes back.
func (m *Meter) Give(n int64) {
	if m.left += n; m.left > 2*step {
		m.account.give(m.left - step)
		m.held += step - m.left
		m.left = step
	}
}

// blockSize is the size of an Arena's blocks; longer texts get one of their own.
const blockSize = 32 << 10

// Arena keeps copies of texts in few allocations. They live as long as any of them is held.
type Arena struct {
	meter *Meter
	block strings.Builder
}

// NewArena makes one.
func NewArena(m *Meter) *Arena { return &Arena{meter: m} }

// Keep is a copy of s.
func (a *Arena) Keep(s string) (string, error) {
	if len(s) == 0 {
		return "", nil
	}
	if len(s) > blockSize/4 {
		return strings.Clone(s), a.meter.Take(int64(len(s)))
	}
	if a.block.Cap()-a.block.Len() < len(s) {
		if err := a.meter.Take(blockSize); err != nil {
			return "", err
		}
		a.block = strings.Builder{}
		a.block.Grow(blockSize)
	}
	// The builder has room: it does not move, so that the string that it shows stays.
	at := a.block.Len()
	a.block.WriteString(s)
	return a.block.String()[at:], nil
}
