package placements

import (
	"context"
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/event"
)

// maxBatch bounds the tenants of one admit or place record, so that a record stays
// below a few hundred kilobytes.
const maxBatch = 1000

// Request asks for the admission of a tenant to the rule that holds at the
// Kafka timestamp of its record.
type Request struct {
	Tenant  event.TenantID
	KafkaTS event.Timestamp
}

// errHorizon is a bug of the caller: it read a record that it may not read yet.
var errHorizon = errors.New("the record's Kafka timestamp is not below the horizon")

// Admit returns a table by which no request is to Ask any more: each tenant is in the set
// of its rule, or the set is full. Those that come first in requests enter first.
// Pass many requests at once; each thousand cost one record.
func (k *Keeper) Admit(ctx context.Context, requests ...Request) (*Table, error) {
	t, err := k.loaded()
	if err != nil {
		return nil, err
	}
	for {
		r, err := t.admission(requests)
		if errors.Is(err, ErrNoChange) {
			return t, nil
		} else if err != nil {
			return nil, err
		}
		t, err = k.Propose(ctx, func(t *Table) (Record, error) { r, err = t.admission(requests); return r, err })
		if err != nil {
			return nil, err
		}
	}
}

// admission is the record that admits the first of the requests that are to ask,
// and all others for the same rule, as far as it has room.
func (t *Table) admission(requests []Request) (Record, error) {
	var admit *Admit
	var number, room int
	seen := map[event.TenantID]bool{}
	for _, q := range requests {
		switch t.Admits(q.Tenant, q.KafkaTS) {
		case Later:
			return Record{}, fmt.Errorf("admit tenant %q: %w", q.Tenant, errHorizon)
		case Accepted, Refused:
			continue
		}
		n := t.ruleAt(q.KafkaTS)
		if admit == nil {
			rule := &t.rules[n]
			number, room = n, min(maxBatch, rule.MaxTenants-rule.count)
			admit = &Admit{Rule: rule.From}
		}
		if n == number && len(admit.Tenants) < room && !seen[q.Tenant] {
			seen[q.Tenant] = true
			admit.Tenants = append(admit.Tenants, q.Tenant)
		}
	}
	if admit == nil {
		return Record{}, ErrNoChange
	}
	return Record{Kind: KindAdmit, Admit: admit}, nil
}
