// Package oracle is a plain ledger of what was sent, and what must therefore be
// stored. It knows nothing of how Togo works: it is what the tests end to end
// and the demo believe instead of Togo's own counts.
package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"sort"
)

// Key is the identity of an event, its timestamp left out: who uses the oracle
// gives one id one timestamp.
type Key struct{ Tenant, ID string }

// Ledger counts what was acknowledged.
type Ledger struct {
	first map[Key]string          // canonical payload that was sent first
	all   map[Key]map[string]bool // every payload sent under the key
	sent  int
	dup   int
	conf  int
	bad   int
}

// New is an empty ledger.
func New() *Ledger {
	return &Ledger{first: map[Key]string{}, all: map[Key]map[string]bool{}}
}

// Sent notes an event.
func (l *Ledger) Sent(k Key, payload []byte) error {
	c, err := Canonical(payload)
	if err != nil {
		return fmt.Errorf("event %v: %w", k, err)
	}
	l.sent++
	first, again := l.first[k]
	switch {
	case !again:
		l.first[k] = c
		l.all[k] = map[string]bool{}
	case first == c:
		l.dup++
	default:
		l.conf++
	}
	l.all[k][c] = true
	return nil
}

// SentBad notes a record that no event can be made of.
func (l *Ledger) SentBad() { l.sent++; l.bad++ }

// Counts of what was sent: all records, distinct events, exact copies, copies with
// another payload, and bad records.
func (l *Ledger) Counts() (sent, unique, duplicates, conflicts, bad int) {
	return l.sent, len(l.first), l.dup, l.conf, l.bad
}

// Tenants that must have events.
func (l *Ledger) Tenants() []string {
	set := map[string]bool{}
	for k := range l.first {
		set[k.Tenant] = true
	}
	out := make([]string, 0, len(set))
	for t := range set {
		out = append(out, t)
	}
	sort.Strings(out)
	return out
}

// Stored is what was found: for each key the payloads of its rows.
type Stored map[Key][]string

// Add notes a row.
func (s Stored) Add(k Key, payload []byte) error {
	c, err := Canonical(payload)
	if err != nil {
		return fmt.Errorf("row %v: %w", k, err)
	}
	s[k] = append(s[k], c)
	return nil
}

// Compare names each event that is missing or damaged (lost), and each row that
// was never sent or is there more than once (extra).
func (l *Ledger) Compare(s Stored) (lost, extra []string) {
	for k := range l.first {
		rows := s[k]
		switch {
		case len(rows) == 0:
			lost = append(lost, fmt.Sprintf("%s/%s is not stored", k.Tenant, k.ID))
			continue
		case !l.all[k][rows[0]]:
			lost = append(lost, fmt.Sprintf("%s/%s has another payload: %s", k.Tenant, k.ID, rows[0]))
		}
		for range rows[1:] {
			extra = append(extra, fmt.Sprintf("%s/%s is stored again", k.Tenant, k.ID))
		}
	}
	for k := range s {
		if _, ok := l.first[k]; !ok {
			extra = append(extra, fmt.Sprintf("%s/%s was never sent", k.Tenant, k.ID))
		}
	}
	sort.Strings(lost)
	sort.Strings(extra)
	return lost, extra
}

// Canonical is a JSON text that is equal for equal values: keys sorted, numbers
// as exact fractions.
func Canonical(text []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", fmt.Errorf("%.200q: %w", text, err)
	}
	out, err := json.Marshal(exact(v))
	return string(out), err
}

func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		if r, ok := new(big.Rat).SetString(v.String()); ok {
			return map[string]string{"number": r.RatString()}
		}
		return v
	case map[string]any:
		for k, e := range v {
			v[k] = exact(e)
		}
	case []any:
		for i, e := range v {
			v[i] = exact(e)
		}
	}
	return v
}
