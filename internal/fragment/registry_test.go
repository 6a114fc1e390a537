package fragment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

func need(paths ...string) []PathType {
	var out []PathType
	for _, p := range paths {
		out = append(out, PathType{p, String})
	}
	return out
}

func ensure(t *testing.T, r *Registry, tenant event.TenantID, n []PathType) *Columns {
	t.Helper()
	c, err := r.Ensure(context.Background(), tenant, n)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestListsGrowAndAreRead(t *testing.T) {
	store := objstore.NewMemory()
	a := NewRegistry(store, RegistryConfig{})
	if c := ensure(t, a, "t", nil); c.Version != 0 || len(c.All()) != 0 {
		t.Fatalf("a new tenant has %+v", c)
	}
	for i := range 20 {
		c := ensure(t, a, "t", need(fmt.Sprint("p", i)))
		if c.Version != uint64(i+1) || len(c.All()) != i+1 {
			t.Fatalf("step %d: version %d, %d columns", i, c.Version, len(c.All()))
		}
	}
	for range 2 { // what is there costs no request
		before := store.Len()
		if c := ensure(t, a, "t", need("p0", "p19")); c.Version != 20 || store.Len() != before {
			t.Fatal("a list with all that is needed was extended")
		}
	}
	b := NewRegistry(store, RegistryConfig{})
	c := ensure(t, b, "t", nil)
	if c.Version != 20 || fmt.Sprint(c.All()) != fmt.Sprint(ensure(t, a, "t", nil).All()) {
		t.Fatalf("another process reads version %d: %v", c.Version, c.All())
	}
	if c := ensure(t, b, "other", nil); len(c.All()) != 0 {
		t.Fatal("tenants share a list")
	}
}

// Many processes and goroutines, each adding its own: all columns are there in the end,
// and who saw a column under a name and id finds it so in every later version.
func TestLostRacesGoOn(t *testing.T) {
	store := objstore.NewMemory()
	var mu sync.Mutex
	seen := map[PathType]Column{}
	var wg sync.WaitGroup
	for p := range 4 {
		r := NewRegistry(store, RegistryConfig{})
		for g := range 4 {
			wg.Go(func() {
				for i := range 8 {
					n := []PathType{{fmt.Sprint("own", p, g, i), Int64}, {fmt.Sprint("shared", i), Type(1 + (p+g)%5)}}
					c, err := r.Ensure(context.Background(), "t", n)
					if err != nil {
						t.Error(err)
						return
					}
					for _, x := range n {
						col, ok := c.Lookup(x.Path, x.Type)
						if !ok {
							t.Errorf("%v was not granted", x)
						}
						mu.Lock()
						if old, ok := seen[x]; ok && old != col {
							t.Errorf("%v was %v and is %v", x, old, col)
						}
						seen[x] = col
						mu.Unlock()
					}
				}
			})
		}
	}
	wg.Wait()
	c := ensure(t, NewRegistry(store, RegistryConfig{}), "t", nil)
	for x, col := range seen {
		if got, _ := c.Lookup(x.Path, x.Type); got != col {
			t.Errorf("%v was %v and is %v", x, col, got)
		}
	}
	if len(c.All()) != len(seen) {
		t.Errorf("%d columns, %d asked for", len(c.All()), len(seen))
	}
	checkNames(t, c)
}

func TestAFullListGrantsNoMore(t *testing.T) {
	store := objstore.NewMemory()
	r := NewRegistry(store, RegistryConfig{MaxColumns: 3})
	c := ensure(t, r, "t", need("a", "b", "c", "d", "e"))
	if len(c.All()) != 3 || !c.Full() {
		t.Fatalf("%v", c.All())
	}
	objects := store.Len()
	if c = ensure(t, r, "t", need("x")); len(c.All()) != 3 || store.Len() != objects {
		t.Fatalf("%v", c.All())
	}
	// A list that was made under a higher bound stays whole.
	wide := NewRegistry(store, RegistryConfig{MaxColumns: 10})
	ensure(t, wide, "t", need("x", "y"))
	low := NewRegistry(store, RegistryConfig{MaxColumns: 3})
	if c = ensure(t, low, "t", need("z")); len(c.All()) != 5 || c.Version != 2 {
		t.Fatalf("%v", c.All())
	}
	if _, ok := c.Lookup("y", String); !ok {
		t.Fatal("y is lost")
	}
}

// The bound of a tenant may change under way: what is cached follows it.
func TestABoundOfItsOwn(t *testing.T) {
	bounds := map[event.TenantID]int{"a": 2, "b": 3}
	store := objstore.NewMemory()
	r := NewRegistry(store, RegistryConfig{MaxColumns: 1, MaxColumnsOf: func(t event.TenantID) int { return bounds[t] }})
	for _, step := range []struct {
		tenant event.TenantID
		bound  int
		need   []PathType
		want   int
	}{
		{"a", 2, need("p", "q", "r"), 2}, {"b", 3, need("p", "q", "r", "s"), 3},
		{"a", 4, need("r"), 3}, {"a", 1, need("s"), 3}, {"a", 4, need("s", "t"), 4}, {"b", 3, need("s"), 3},
	} {
		bounds[step.tenant] = step.bound
		if c := ensure(t, r, step.tenant, step.need); len(c.All()) != step.want || c.Full() != (step.want >= step.bound) {
			t.Errorf("%+v: %v, full %v", step, c.All(), c.Full())
		}
		// Another process, which has nothing cached, says the same.
		other := NewRegistry(store, RegistryConfig{MaxColumns: step.bound})
		if c := ensure(t, other, step.tenant, step.need); len(c.All()) != step.want {
			t.Errorf("%+v, another process: %v", step, c.All())
		}
	}
}

// countingStore counts the requests of each kind.
type countingStore struct {
	objstore.Store
	mu   sync.Mutex
	gets int
	fail func(key string) error // of writes that are applied all the same
}

func (s *countingStore) Get(ctx context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	s.gets++
	s.mu.Unlock()
	return s.Store.Get(ctx, key)
}

func (s *countingStore) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	err := s.Store.PutIfAbsent(ctx, key, body)
	if err == nil && s.fail != nil {
		return s.fail(key)
	}
	return err
}

func TestTheHeadIsFoundInFewRequests(t *testing.T) {
	store := objstore.NewMemory()
	r := NewRegistry(store, RegistryConfig{})
	for i := range 300 {
		ensure(t, r, "t", need(fmt.Sprint("p", i)))
	}
	s := &countingStore{Store: store}
	if c := ensure(t, NewRegistry(s, RegistryConfig{}), "t", nil); c.Version != 300 || s.gets > 20 {
		t.Errorf("version %d with %d requests", c.Version, s.gets)
	}
}

func TestALostAnswerIsOurOwn(t *testing.T) {
	lost := map[string]bool{}
	s := &countingStore{Store: objstore.NewMemory(), fail: func(key string) error {
		if !lost[key] {
			lost[key] = true
			return errors.New("connection reset after the write")
		}
		return nil
	}}
	r := NewRegistry(s, RegistryConfig{})
	c := ensure(t, r, "t", need("a"))
	if c.Version != 1 || len(c.All()) != 1 {
		t.Fatalf("version %d: %v", c.Version, c.All())
	}
	if c = ensure(t, r, "t", need("b")); c.Version != 2 {
		t.Fatalf("version %d", c.Version)
	}
}

func TestCacheStaysWithinItsBound(t *testing.T) {
	store := objstore.NewMemory()
	r := NewRegistry(store, RegistryConfig{CacheBytes: 20_000})
	for round := range 2 {
		for i := range 50 {
			tenant := event.TenantID(fmt.Sprint("t", i))
			if c := ensure(t, r, tenant, need("a", "b", "c")); c.Version != 1 {
				t.Fatalf("round %d, %s: version %d", round, tenant, c.Version)
			}
			if r.bytes > 20_000 || r.lru.Len() != len(r.tenants) {
				t.Fatalf("%d bytes, %d entries, %d tenants", r.bytes, r.lru.Len(), len(r.tenants))
			}
		}
	}
	if len(r.tenants) < 2 {
		t.Error("nothing is cached")
	}
}

func TestDamagedAndNewerListsStop(t *testing.T) {
	for _, test := range []struct {
		body string
		want error
	}{
		{`{"format":1,"tenant":"t","columns":[{"path":"a","type":"float","name":"a","field_id":100}]}`, ErrCorrupt},
		{`{"format":1,"tenant":"other","columns":[]}`, ErrCorrupt},
		{`{"format":1,"tenant":"t","columns":[{"path":"a","type":"json","name":"a","field_id":101}]}`, ErrCorrupt},
		{`{`, ErrCorrupt},
		{`{"format":2,"tenant":["t"]}`, ErrNewerFormat},
	} {
		store := objstore.NewMemory()
		log := chain.Log{Store: store, Prefix: "columns/t"}
		if err := store.Put(t.Context(), log.Key(1), []byte(test.body)); err != nil {
			t.Fatal(err)
		}
		_, err := NewRegistry(store, RegistryConfig{}).Ensure(t.Context(), "t", need("a"))
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v", test.body, err)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	if (RegistryConfig{MaxColumns: -1}).Validate() == nil || (RegistryConfig{}).Validate() != nil {
		t.Error("Validate")
	}
}

// dyingStore ends its process's context with the crash.
type dyingStore struct {
	objstore.Store
	die func()
}

func (s dyingStore) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	err := s.Store.PutIfAbsent(ctx, key, body)
	if errors.Is(err, objstore.ErrCrashed) {
		s.die()
	}
	return err
}

// A process that dies at its k-th store operation, before or after it took effect, leaves
// a list that others extend; nothing that it was granted is ever lost or renamed.
func TestACrashAtAnyOperationLeavesAGoodList(t *testing.T) {
	for k := 1; ; k++ {
		crashed := false
		for _, applied := range []bool{false, true} {
			store := objstore.NewMemory()
			fault := objstore.NewFault(store)
			fault.CrashAt(k, applied)
			granted := map[PathType]Column{}
			ctx, cancel := context.WithCancel(t.Context())
			r := NewRegistry(dyingStore{fault, cancel}, RegistryConfig{})
			for i := range 4 {
				n := need(fmt.Sprint("p", i), fmt.Sprint("q", i%2))
				c, err := r.Ensure(ctx, "t", n)
				if err != nil {
					crashed = true
					break
				}
				for _, x := range n {
					granted[x], _ = c.Lookup(x.Path, x.Type)
				}
			}
			cancel()
			after := NewRegistry(store, RegistryConfig{})
			c := ensure(t, after, "t", need("later"))
			for x, col := range granted {
				if got, ok := c.Lookup(x.Path, x.Type); !ok || got != col {
					t.Fatalf("crash at %d (applied %v): %v was %v and is %v", k, applied, x, col, got)
				}
			}
			checkNames(t, c)
		}
		if !crashed {
			if k < 6 {
				t.Fatalf("only %d operations", k)
			}
			return
		}
	}
}

// A write that was given up on and lands later is a lost race for whoever comes after.
func TestALateWriteIsALostRace(t *testing.T) {
	store := objstore.NewMemory()
	fault := objstore.NewFault(store, objstore.Rule{Op: objstore.OpPutIfAbsent, Effect: objstore.LandLater})
	ctx, cancel := context.WithCancel(t.Context())
	dead := NewRegistry(fault, RegistryConfig{})
	ensure(t, dead, "t", nil)
	cancel()
	if _, err := dead.Ensure(ctx, "t", need("late")); err == nil {
		t.Fatal("the write was not held back")
	}
	r := NewRegistry(store, RegistryConfig{})
	ensure(t, r, "t", nil)
	if err := fault.Land(); err != nil {
		t.Fatal(err)
	}
	c := ensure(t, r, "t", need("mine"))
	if _, ok := c.Lookup("late", String); !ok || c.Version != 2 || len(c.All()) != 2 {
		t.Fatalf("version %d: %v", c.Version, c.All())
	}
}
