package tenants

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// maxTenants bounds the tenants with values of their own: each costs some hundred bytes
// in memory and in checkpoints.
const maxTenants = 100_000

// Table is one version of the settings; immutable, safe for concurrent use.
type Table struct {
	bucket  time.Duration // the store's data bucket
	builtin Settings
	version Version
	link    link // of the record of this version
	own     map[event.TenantID]Values
}

// Version is the table's version; 0 if nothing was ever set.
func (t *Table) Version() Version { return t.version }

// Get is what holds for a tenant; of "", for a tenant without values of its own.
func (t *Table) Get(tenant event.TenantID) Settings {
	own := t.own[""]
	if v, ok := t.own[tenant]; ok {
		own = v
	}
	return resolve(own, t.own[""], t.builtin)
}

// Own is what was set for a tenant; of "", for the default.
func (t *Table) Own(tenant event.TenantID) Values { return t.own[tenant] }

// Tenants lists those with values of their own, ascending.
func (t *Table) Tenants() []event.TenantID {
	names := slices.Sorted(maps.Keys(t.own))
	return slices.DeleteFunc(names, func(n event.TenantID) bool { return n == "" })
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// apply folds a record into the next version. stored is the record's bytes as they
// are (or will be) in the store. t stays as it was. Any error is ErrRefused.
func (t *Table) apply(r record, stored []byte) (*Table, error) {
	if r.Version != t.version+1 {
		return nil, refuse("version %d after version %d", r.Version, t.version)
	}
	if r.Prev != nil && *r.Prev != t.link {
		return nil, refuse("version %d does not link to version %d as it was read: the store was rolled back and gone on, or a record was changed", r.Version, t.version)
	}
	next := *t
	next.version = r.Version
	next.link = link{Nonce: r.Nonce, Sum: objstore.Sum(stored)}
	next.own = maps.Clone(t.own)
	if err := next.set(r.Tenant, r.Values); err != nil {
		return nil, err
	}
	return &next, nil
}

// set changes a table that is not shared yet.
func (t *Table) set(tenant event.TenantID, v Values) error {
	if err := checkOwner(tenant, v); err != nil {
		return refuse("tenant %q: %v", tenant, err)
	}
	if err := v.check(t.bucket); err != nil {
		return refuse("%s: %v", ownerName(tenant), err)
	}
	if v.IsZero() {
		delete(t.own, tenant)
		return nil
	}
	if _, there := t.own[tenant]; !there && len(t.own) >= maxTenants {
		return refuse("%d tenants have settings of their own already; set the default's, or unset others", len(t.own))
	}
	if t.own == nil {
		t.own = map[event.TenantID]Values{}
	}
	t.own[tenant] = v
	return nil
}

func ownerName(t event.TenantID) string {
	if t == "" {
		return "default"
	}
	return fmt.Sprintf("tenant %q", t)
}

// read folds a record as found in the store; a refusal is corruption.
func (t *Table) read(stored []byte) (*Table, error) {
	r, err := decodeRecord(stored)
	if errors.Is(err, ErrFormat) {
		return nil, fmt.Errorf("settings of tenants, version %d: %w", t.version+1, err)
	}
	var next *Table
	if err == nil {
		next, err = t.apply(r, stored)
	}
	if err != nil {
		return nil, fmt.Errorf("%w at version %d: %v", ErrCorrupt, t.version+1, err)
	}
	return next, nil
}

// checkpoint is a whole table as stored.
type checkpoint struct {
	Format  int             `json:"format"`
	Version Version         `json:"version"`
	Link    link            `json:"link"` // to the record of this version
	Sum     string          `json:"sum"`  // objstore.Sum of Own's bytes
	Own     json.RawMessage `json:"own"`
}

// encode gives the table as it is stored. Equal tables give equal bytes.
func (t *Table) encode() ([]byte, error) {
	own, err := json.Marshal(t.own)
	if err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}
	return json.Marshal(checkpoint{Format: Format, Version: t.version, Link: t.link, Sum: objstore.Sum(own), Own: own})
}

// restore reads what encode wrote, by the rules of the fold; t is the empty table.
func (t *Table) restore(b []byte) (*Table, error) {
	var c checkpoint
	if err := decode(b, &c); err != nil {
		return nil, err
	}
	if c.Version == 0 || c.Link.Nonce == "" || c.Link.Sum == "" {
		return nil, errors.New("no version or no link")
	}
	if sum := objstore.Sum(c.Own); sum != c.Sum {
		return nil, fmt.Errorf("its table has the checksum %s, not %s", sum, c.Sum)
	}
	var own map[event.TenantID]Values
	if err := chain.DecodeStrict(c.Own, &own); err != nil {
		return nil, err
	}
	next := *t
	next.version, next.link, next.own = c.Version, c.Link, nil
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if err := next.set(name, own[name]); err != nil {
			return nil, err
		}
	}
	return &next, nil
}

func equal(a, b Values) bool { return reflect.DeepEqual(a, b) }
