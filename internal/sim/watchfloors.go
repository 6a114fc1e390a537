package sim

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
	"github.com/togodb/togo/placements"
)

// keeping is what the settings have said so far of how long things are kept.
type keeping struct {
	values   map[event.TenantID]tenants.Values
	shortest map[keptTable]time.Duration // that ever held; absent: always for ever
	expires  int                         // that compactors append
}

type keptTable struct {
	tenant event.TenantID
	table  shardlog.Table
}

var keptTables = []shardlog.Table{shardlog.TableEvents, shardlog.TableDeadLetters}

// settingsChanged notes a record of the settings' chain.
func (v *watch) settingsChanged(body []byte) error {
	var r struct {
		Tenant event.TenantID `json:"tenant"`
		Values tenants.Values `json:"values"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return err
	}
	k := &v.keeping
	k.values[r.Tenant] = r.Values
	for _, t := range v.anybody() {
		own, def := k.values[t], k.values[""]
		events := setting(own.Retention, def.Retention, 0)
		letters := setting(own.LettersRetention, def.LettersRetention, events)
		for i, keep := range []time.Duration{events, letters} {
			at := keptTable{t, keptTables[i]}
			if old, ok := k.shortest[at]; keep > 0 && (!ok || keep < old) {
				k.shortest[at] = keep
			}
		}
	}
	return nil
}

func setting(own, def *tenants.Span, or time.Duration) time.Duration {
	switch {
	case own != nil:
		return time.Duration(*own)
	case def != nil:
		return time.Duration(*def)
	}
	return or
}

// anybody are all who have, or may have, something: "" stands for those without a name yet.
func (v *watch) anybody() []event.TenantID {
	out := []event.TenantID{"", event.Unroutable}
	for _, t := range v.w.plan.tenants {
		out = append(out, event.TenantID(t))
	}
	return out
}

// expired: a compactor raises no floor above what somebody's retention asked for, ever, by the
// true time; that of all tenants not above that of any who may hold something in the shard.
func (v *watch) expired(l *logWatch, by string, x *shardlog.Expire) error {
	if !strings.HasPrefix(by, "compactor") {
		return nil // operators do as they please
	}
	v.keeping.expires++
	for _, f := range x.Floors {
		who := []event.TenantID{f.Tenant}
		if f.Tenant == "" {
			who = v.anybody()
		}
		for _, t := range who {
			if t == event.Unroutable && f.Table == shardlog.TableEvents {
				continue
			}
			most, _ := l.state.Floor(t, f.Table)
			if keep, ok := v.keeping.shortest[keptTable{t, f.Table}]; ok {
				most = max(most, event.Timestamp(v.w.trueTime().Add(-keep).UnixNano()))
			}
			if f.Floor > most && v.mayHold(l, t, f.Table, f.Floor) {
				return fmt.Errorf("%s raises the floor of %q's %s to %s; what %q keeps begins at %s or before", by, f.Tenant, f.Table, f.Floor, t, most)
			}
		}
	}
	return nil
}

// mayHold says whether a tenant may have something below a time in the shard.
func (v *watch) mayHold(l *logWatch, t event.TenantID, table shardlog.Table, below event.Timestamp) bool {
	if t == "" {
		return true // whoever comes
	}
	holds := table == shardlog.TableDeadLetters && slices.Contains(v.table.DeadShards(), l.state.Shard()) ||
		slices.Contains(v.table.ShardsOf(t, placements.Beginning, below), l.state.Shard())
	l.state.Fragments(t, math.MinInt64, math.MaxInt64, func(f shardlog.Fragment) bool {
		holds = holds || f.Table == table && f.Min < below
		return !holds
	})
	return holds
}
