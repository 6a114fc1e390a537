package fragment

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// RegistryConfig bounds a Registry.
type RegistryConfig struct {
	MaxColumns int // a tenant; 0 is DefaultMaxColumns
	// MaxColumnsOf, if set, is asked for each tenant's bound instead; its answer may change
	// at any time, and counts for what is added from then on.
	MaxColumnsOf func(event.TenantID) int
	CacheBytes   int64 // of column lists in memory; 0 is DefaultCacheBytes
	// NewNonce makes the nonces of lists; nil is chain.NewNonce.
	NewNonce func() string
	// Backoff is the pause between tries of a write.
	Backoff chain.Backoff
}

// DefaultCacheBytes holds about 100 full lists, or 2,000 of fifty columns.
const DefaultCacheBytes = 64 << 20

// Validate says what is wrong with a configuration.
func (c RegistryConfig) Validate() error {
	if c.MaxColumns < 0 || c.CacheBytes < 0 {
		return fmt.Errorf("fragment: max_columns %d and cache bytes %d must not be negative", c.MaxColumns, c.CacheBytes)
	}
	return nil
}

// Registry keeps the column lists of tenants: one chain a tenant, columns/<tenant>,
// each record the whole list. It is safe for concurrent use, by any number of
// processes on one store.
//
// A list only grows, so an old version is never wrong, only short: a caller whose
// need is met by the cached version is served without a request. Who adds columns
// does so at the position after the version that it knows; a lost race shows the
// winner's list, on which it goes on.
type Registry struct {
	store  objstore.Store
	config RegistryConfig

	mu      sync.Mutex
	tenants map[event.TenantID]*list.Element // of *cached
	lru     *list.List                       // front: used last
	bytes   int64
}

// cached is one tenant's newest known list.
type cached struct {
	tenant event.TenantID
	load   sync.Mutex // held over the requests for this tenant: one at a time asks the store

	columns *Columns // guarded by Registry.mu; nil before the first load
	bytes   int64    // counted in Registry.bytes
}

// NewRegistry is a registry on a store.
func NewRegistry(store objstore.Store, config RegistryConfig) *Registry {
	if config.MaxColumns == 0 {
		config.MaxColumns = DefaultMaxColumns
	}
	if config.CacheBytes == 0 {
		config.CacheBytes = DefaultCacheBytes
	}
	if config.NewNonce == nil {
		config.NewNonce = chain.NewNonce
	}
	return &Registry{store: store, config: config, tenants: map[event.TenantID]*list.Element{}, lru: list.New()}
}

// Ensure is ColumnSource's.
func (r *Registry) Ensure(ctx context.Context, tenant event.TenantID, need []PathType) (*Columns, error) {
	most := r.config.MaxColumns
	if r.config.MaxColumnsOf != nil {
		most = r.config.MaxColumnsOf(tenant)
	}
	entry, columns := r.entry(tenant)
	if columns = columns.bounded(most); columns != nil && (columns.has(need) || columns.Full()) {
		return columns, nil
	}
	entry.load.Lock()
	defer entry.load.Unlock()
	if _, columns = r.entry(tenant); columns == nil {
		var err error
		if columns, err = r.newest(ctx, tenant, most); err != nil {
			return nil, err
		}
		r.keep(entry, columns)
	}
	columns = columns.bounded(most)
	for !columns.has(need) && !columns.Full() {
		next := columns.With(need)
		if len(next.list) == len(columns.list) {
			break // what is missing is never granted: paths over the bound
		}
		var err error
		if columns, err = r.append(ctx, tenant, next, most); err != nil {
			return nil, err
		}
		r.keep(entry, columns)
	}
	return columns, nil
}

// Newest is the tenant's list as the store has it now: a list that holds every column of every fragment that was
// committed before the call. It costs one request where nothing was added.
func (r *Registry) Newest(ctx context.Context, tenant event.TenantID) (*Columns, error) {
	entry, _ := r.entry(tenant)
	entry.load.Lock()
	defer entry.load.Unlock()
	_, columns := r.entry(tenant)
	if columns == nil {
		var err error
		if columns, err = r.newest(ctx, tenant, r.config.MaxColumns); err != nil {
			return nil, err
		}
	}
	for {
		next, err := r.Version(ctx, tenant, columns.Version+1)
		if errors.Is(err, objstore.ErrNotFound) {
			r.keep(entry, columns)
			return columns, nil
		}
		if err != nil {
			return nil, err
		}
		columns = next
	}
}

// Version is one version of the tenant's list; the error is objstore.ErrNotFound if there is no such version. Version
// 0 is empty.
func (r *Registry) Version(ctx context.Context, tenant event.TenantID, version uint64) (*Columns, error) {
	if version == 0 {
		return NewColumns(r.config.MaxColumns), nil
	}
	log := r.log(tenant)
	body, err := log.Read(ctx, chain.Position(version))
	if err != nil {
		return nil, fmt.Errorf("read the columns of tenant %q: %w", tenant, err)
	}
	columns, _, err := decodeColumns(body, tenant, version, r.config.MaxColumns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", log.Key(chain.Position(version)), err)
	}
	return columns, nil
}

// Refresh forgets what is cached of a tenant, so that the next Ensure reads the store.
func (r *Registry) Refresh(tenant event.TenantID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.tenants[tenant]; e != nil {
		r.drop(e)
	}
}

func (r *Registry) log(tenant event.TenantID) *chain.Log {
	return &chain.Log{Store: r.store, Prefix: "columns/" + string(tenant), Backoff: r.config.Backoff}
}

// append puts next behind the version that it was made from, and returns the list that
// is there now: next, or the winner's.
func (r *Registry) append(ctx context.Context, tenant event.TenantID, next *Columns, most int) (*Columns, error) {
	nonce := r.config.NewNonce()
	position := next.Version + 1
	isOurs := func(found []byte) bool {
		_, foundNonce, err := decodeColumns(found, tenant, position, most)
		return err == nil && foundNonce == nonce
	}
	out, err := r.log(tenant).Append(ctx, chain.Position(position), next.encode(tenant, nonce), isOurs)
	if err != nil {
		return nil, fmt.Errorf("extend the columns of tenant %q: %w", tenant, err)
	}
	columns, _, err := decodeColumns(out.Body, tenant, position, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.log(tenant).Key(chain.Position(position)), err)
	}
	return columns, nil
}

// newest reads the newest list. Positions have no gaps, so doubling steps and then
// halving ones find the head of a chain of n versions in about 2 log n requests.
func (r *Registry) newest(ctx context.Context, tenant event.TenantID, most int) (*Columns, error) {
	log := r.log(tenant)
	var body []byte
	low, high := uint64(0), uint64(1) // low has a record (or is 0)
	for {
		b, err := log.Read(ctx, chain.Position(high))
		if errors.Is(err, objstore.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the columns of tenant %q: %w", tenant, err)
		}
		low, high, body = high, high*2, b
	}
	for low+1 < high {
		middle := low + (high-low)/2
		b, err := log.Read(ctx, chain.Position(middle))
		switch {
		case errors.Is(err, objstore.ErrNotFound):
			high = middle
		case err != nil:
			return nil, fmt.Errorf("read the columns of tenant %q: %w", tenant, err)
		default:
			low, body = middle, b
		}
	}
	if low == 0 {
		return NewColumns(most), nil
	}
	columns, _, err := decodeColumns(body, tenant, low, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", log.Key(chain.Position(low)), err)
	}
	return columns, nil
}

// entry finds or makes a tenant's place and marks it as used.
func (r *Registry) entry(tenant event.TenantID) (*cached, *Columns) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.tenants[tenant]
	if e == nil {
		e = r.lru.PushFront(&cached{tenant: tenant})
		r.tenants[tenant] = e
	} else {
		r.lru.MoveToFront(e)
	}
	c := e.Value.(*cached)
	return c, c.columns
}

// keep stores a list that is newer than the kept one, and makes room. A place that was
// dropped meanwhile stays dropped: the next caller loads anew.
func (r *Registry) keep(c *cached, columns *Columns) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.tenants[c.tenant]; e == nil || e.Value.(*cached) != c {
		return
	}
	if c.columns != nil && c.columns.Version > columns.Version {
		return
	}
	size := columns.bytes()
	r.bytes += size - c.bytes
	c.columns, c.bytes = columns, size
	for r.bytes > r.config.CacheBytes && r.lru.Len() > 1 {
		r.drop(r.lru.Back())
	}
}

func (r *Registry) drop(e *list.Element) {
	c := r.lru.Remove(e).(*cached)
	delete(r.tenants, c.tenant)
	r.bytes -= c.bytes
}
