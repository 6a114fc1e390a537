package placements

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

func runKeeper(t *testing.T, store objstore.Store) *Keeper {
	t.Helper()
	k, err := NewKeeper(Config{Store: store, Hasher: testHasher(), Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestRunKeepsTheHorizonAhead: three processes for half an hour write one record a
// minute between them, and each has its horizon ahead at every moment.
func TestRunKeepsTheHorizonAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		store := objstore.NewMemory()
		var keepers []*Keeper
		done := make(chan error)
		for range 3 {
			k := runKeeper(t, store)
			if _, err := k.Init(ctx, NewGenesis(2)); err != nil {
				t.Fatal(err)
			}
			keepers = append(keepers, k)
			go func() { done <- k.Run(ctx) }()
		}
		const minutes = 30
		for second := range minutes * 60 {
			time.Sleep(time.Second)
			synctest.Wait()
			for i, k := range keepers {
				ahead := k.Current().Horizon().Time().Sub(time.Now())
				if least := margin - k.cfg.Poll - 2*time.Second; ahead < least || ahead > lead {
					t.Fatalf("second %d: horizon of process %d is %s ahead", second, i, ahead)
				}
			}
		}
		if n := keepers[0].Current().Version(); n > minutes+5 {
			t.Errorf("%d records in %d minutes", n, minutes)
		}
		cancel()
		for range keepers {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestRunOverAStoreThatIsDown: 503 to everything for five minutes, then it goes on by itself.
func TestRunOverAStoreThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		fault := objstore.NewFault(objstore.NewMemory())
		k := runKeeper(t, fault)
		if _, err := k.Init(ctx, NewGenesis(2)); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- k.Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		before := k.Current().Horizon()
		fault.Add(objstore.Rule{Effect: objstore.FailBefore, Err: objstore.ErrUnavailable, Times: -1})
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if h := k.Current().Horizon(); h != before {
			t.Errorf("horizon moved from %s to %s without a store", before, h)
		}
		if time.Until(before.Time()) > 0 {
			t.Fatalf("the outage was too short for this test")
		}
		fault.Clear()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if ahead := time.Until(k.Current().Horizon().Time()); ahead < margin-10*time.Second {
			t.Errorf("horizon is %s ahead ten seconds after the store came back", ahead)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestRunOverAHungStore: a write that hangs for twenty minutes ends with its round, and
// meanwhile others who wait for the chain can give up.
func TestRunOverAHungStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		fault := objstore.NewFault(objstore.NewMemory())
		k := runKeeper(t, fault)
		if _, err := k.Init(ctx, NewGenesis(2)); err != nil {
			t.Fatal(err)
		}
		fault.Add(objstore.Rule{Op: objstore.OpPutIfAbsent, Key: logPrefix + "/**", Delay: 20 * time.Minute, Effect: objstore.Pass})
		done := make(chan error)
		go func() { done <- k.Run(ctx) }()
		time.Sleep(time.Second)
		short, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		if _, err := k.Refresh(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("refresh beside a hung write: %v", err)
		}
		time.Sleep(roundTimeout + 10*time.Second)
		synctest.Wait()
		if k.Current().Horizon() == Beginning {
			t.Error("the next round did not raise the horizon")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestRunStopsAtCorruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := objstore.NewMemory()
		k := runKeeper(t, store)
		if _, err := k.Init(t.Context(), NewGenesis(2)); err != nil {
			t.Fatal(err)
		}
		store.Put(t.Context(), k.log.Key(2), []byte(`{"format":1,"version":2,"kind":"extend","nonce":"x","prev":{"nonce":"y","sum":"z"},"time_ms":0,"extend":{"horizon":5}}`))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := k.Run(ctx); !errors.Is(err, ErrCorrupt) {
			t.Errorf("Run over a broken chain: %v", err)
		}
	})
}

func TestAtLeastWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := objstore.NewFault(objstore.NewMemory())
		writer, router := runKeeper(t, fault), runKeeper(t, fault.Inner())
		if _, err := router.Init(t.Context(), NewGenesis(2)); err != nil {
			t.Fatal(err)
		}
		if err := writer.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := make(chan Version)
		go func() {
			table, err := writer.AtLeast(t.Context(), 2)
			if err != nil {
				t.Error(err)
				close(got)
				return
			}
			got <- table.Version()
		}()
		synctest.Wait()
		fault.Add(objstore.Rule{Op: objstore.OpGet, Effect: objstore.FailBefore, Times: 2})
		if _, err := router.Extend(t.Context(), stamp(time.Now())); err != nil {
			t.Fatal(err)
		}
		if v := <-got; v != 2 {
			t.Errorf("version %d", v)
		}

		// A version that nobody makes: until the context ends.
		short, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if _, err := writer.AtLeast(short, 3); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait for a version that does not come: %v", err)
		}
	})
}

// TestAdmitManyAtOnce: more tenants than one record holds, from several routers at once.
func TestAdmitManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := objstore.NewMemory()
		genesis := NewGenesis(4)
		genesis.Admission.MaxTenants = 2500
		now := stamp(time.Now())
		var requests []Request
		for i := range 3000 {
			requests = append(requests, Request{event.TenantID("t" + strings.Repeat("x", i%7) + event.ShardID(i).String()), now})
		}
		tables := make([]*Table, 3)
		var all sync.WaitGroup
		for i := range tables {
			k := runKeeper(t, store)
			all.Go(func() {
				if _, err := k.Init(t.Context(), genesis); err != nil {
					t.Error(err)
					return
				}
				if _, err := k.Extend(t.Context(), now); err != nil {
					t.Error(err)
					return
				}
				table, err := k.Admit(t.Context(), requests...)
				if err != nil {
					t.Error(err)
				}
				tables[i] = table
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
		for i, r := range requests {
			want := Accepted
			if i >= genesis.Admission.MaxTenants {
				want = Refused
			}
			for _, table := range tables {
				if got := table.Admits(r.Tenant, now); got != want {
					t.Fatalf("tenant %d: %s, want %s", i, got, want)
				}
			}
		}
		if v := tables[0].Version(); v > 6 {
			t.Errorf("%d records for 2500 tenants", v)
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	store := objstore.NewMemory()
	for _, cfg := range []Config{
		{Hasher: testHasher()},
		{Store: store},
		{Store: store, Hasher: testHasher(), Poll: 2 * time.Minute},
		{Store: store, Hasher: testHasher(), CheckpointEvery: -1},
	} {
		if _, err := NewKeeper(cfg); err == nil {
			t.Errorf("accepted %+v", cfg)
		}
	}
}
