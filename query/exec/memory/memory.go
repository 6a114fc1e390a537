// Package memory counts the bytes that a query keeps while it runs, against its limit, and holds the texts that it keeps.
package memory

import (
	"strings"
	"sync/atomic"

	"github.com/togodb/togo/query/fail"
)

// Account is one query's, for all of its workers.
type Account struct {
	limit int64 // 0: none
	used  atomic.Int64
}

// NewAccount makes one; limit 0 is none.
func NewAccount(limit int64) *Account { return &Account{limit: limit} }

// Used is how many bytes are taken, rounded up by each meter.
func (a *Account) Used() int64 { return a.used.Load() }

func (a *Account) take(n int64) error {
	if used := a.used.Add(n); a.limit > 0 && used > a.limit {
		return fail.New(fail.TooLarge, "the query needs more memory than its limit of %d MiB for groups, rows to be sorted and the like; "+
			"read a shorter time range, group by fewer distinct values, or add a LIMIT", (a.limit+1<<20-1)>>20)
	}
	return nil
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

// Sibling is another meter of the same account.
func (m *Meter) Sibling() *Meter { return m.account.Meter() }

// Release gives all back.
func (m *Meter) Release() {
	m.account.used.Add(-m.held)
	m.held, m.left = 0, 0
}

// Give gives n bytes back.
func (m *Meter) Give(n int64) {
	if m.left += n; m.left > 2*step {
		m.account.used.Add(step - m.left)
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
