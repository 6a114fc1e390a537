package snapshot

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/queryset"
)

var noPause = chain.Backoff{Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}

// world is a store with a writer, and a follower of its own.
type world struct {
	t     *testing.T
	store *objstore.Fault
	set   *queryset.Set
	f     *Follower
	gen   *queryset.Events
	now   time.Duration
	floor event.Timestamp // no row below it is committed
}

func newWorld(t *testing.T, shards int) *world { return newSpread(t, shards, shards) }

// newSpread has the tenant in some of the shards.
func newSpread(t *testing.T, shards, spread int) *world {
	t.Helper()
	w := &world{t: t, store: objstore.NewFault(objstore.NewMemory()), gen: queryset.NewEvents("acme", 1)}
	var err error
	if w.set, err = queryset.New(t.Context(), w.store.Inner(), queryset.Config{Shards: shards, Spread: spread}); err != nil {
		t.Fatal(err)
	}
	w.f = w.follower(Config{})
	return w
}

func (w *world) follower(cfg Config) *Follower {
	w.t.Helper()
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return queryset.Begin.Add(w.now) }
	}
	cfg.Store, cfg.Meta, cfg.Placements, cfg.Logger = w.store, w.set.Meta, w.set.Placements, slog.New(slog.DiscardHandler)
	f, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

func (w *world) commit(n int) {
	w.t.Helper()
	rows := slices.DeleteFunc(w.gen.Next(n), func(r queryset.Row) bool { return r.Timestamp < w.floor })
	if err := w.set.Commit(w.t.Context(), rows...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) at(f *Follower, kind fragment.Kind, want *Vector) *Snapshot {
	w.t.Helper()
	s, err := f.At(w.t.Context(), w.gen.Tenant, kind, want)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func keysOf(list []shardlog.Fragment) []string {
	var out []string
	for _, f := range list {
		out = append(out, fmt.Sprintf("%s %d %s %v", f.Key, f.Rows, f.Sum, f.Ranges))
	}
	slices.Sort(out)
	return out
}

// all are the fragments of a snapshot.
func all(s *Snapshot) []string {
	var list []shardlog.Fragment
	for _, f := range s.Fragments(math.MinInt64, Unbounded) {
		list = append(list, f.Fragment)
	}
	return keysOf(list)
}

func (w *world) live(table shardlog.Table) []string {
	w.t.Helper()
	list, err := w.set.Live(w.t.Context(), w.gen.Tenant, table)
	if err != nil {
		w.t.Fatal(err)
	}
	return keysOf(list)
}

func (w *world) same(what string, got, want []string) {
	w.t.Helper()
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: %d fragments, want %d:\n%q\n%q", what, len(got), len(want), got, want)
	}
}

func TestPresentIsWhatTheLogsName(t *testing.T) {
	w := newWorld(t, 3)
	for range 5 {
		w.commit(100)
		if err := w.set.Commit(t.Context(), w.gen.Letters(3)...); err != nil {
			t.Fatal(err)
		}
		w.now += time.Second
		for kind, table := range map[fragment.Kind]shardlog.Table{fragment.Events: shardlog.TableEvents, fragment.DeadLetters: shardlog.TableDeadLetters} {
			s := w.at(w.f, kind, nil)
			want := w.live(table)
			w.same(kind.String(), all(s), want)
			if s.Considered != int64(len(want)) || len(s.Vector.Shards) != 3 || s.Past {
				t.Errorf("%d considered of %d, %d shards, past %v", s.Considered, len(want), len(s.Vector.Shards), s.Past)
			}
		}
	}
}

// Letters may lie where no event does, and the highest floor of all shards counts in each.
func TestShardsAndFloors(t *testing.T) {
	w := newSpread(t, 5, 2)
	w.commit(40)
	events, letters := w.at(w.f, fragment.Events, nil), w.at(w.f, fragment.DeadLetters, nil)
	if len(events.Vector.Shards) != 2 || len(letters.Vector.Shards) != 5 {
		t.Fatalf("%v and %v", events.Vector, letters.Vector)
	}
	if _, err := w.f.At(t.Context(), "acme", fragment.DeadLetters, &events.Vector); fail.CodeOf(err) != fail.Request {
		t.Errorf("letters by a snapshot of events: %v", err)
	}
	if events.Floor != math.MinInt64 {
		t.Errorf("floor %s", events.Floor)
	}
	for i, one := range events.Vector.Shards {
		floor := event.Timestamp(queryset.Begin.UnixNano() + int64(2-i)*1e9)
		l := shardlog.OpenWith(w.store.Inner(), one.Shard, shardlog.Config{Logger: slog.New(slog.DiscardHandler)})
		s, err := l.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := &shardlog.Record{Kind: shardlog.KindExpire, Expire: &shardlog.Expire{Floors: []shardlog.Floor{{Tenant: "acme", Table: shardlog.TableEvents, Floor: floor}}}}
		if won, _, err := l.Append(t.Context(), s, r); err != nil || !won {
			t.Fatal(won, err)
		}
		w.now += time.Second
		if s := w.at(w.f, fragment.Events, nil); s.Floor != event.Timestamp(queryset.Begin.UnixNano()+2e9) {
			t.Errorf("floor %s after shard %s got %s", s.Floor, one.Shard, floor)
		}
	}
}

// What was committed MaxAge ago is seen; until then nothing is asked of the store, and without queries nothing at all.
func TestPollsWhenAskedOnly(t *testing.T) {
	w := newWorld(t, 2)
	done := 0
	calls := func() int { n := w.store.Ops() - done; done += n; return n }
	w.commit(50)
	before := all(w.at(w.f, fragment.Events, nil))
	w.commit(50)
	calls()
	w.now += time.Second - 1
	w.same("within the second", all(w.at(w.f, fragment.Events, nil)), before)
	if n := calls(); n > 0 {
		t.Errorf("%d calls of the store within the second", n)
	}
	w.now += 1
	w.same("after the second", all(w.at(w.f, fragment.Events, nil)), w.live(shardlog.TableEvents))
	if n := calls(); n == 0 || n > 10 {
		t.Errorf("%d calls of the store for two shards", n)
	}
	calls()
	w.now += 3 * time.Hour
	w.f.trim()
	if n := calls(); n > 0 {
		t.Errorf("%d calls of the store while nobody asks", n)
	}
	w.f.mu.Lock()
	states := len(w.f.shards)
	w.f.mu.Unlock()
	if states > 0 {
		t.Errorf("%d states kept while nobody asks", states)
	}
	w.same("after a long time", all(w.at(w.f, fragment.Events, nil)), w.live(shardlog.TableEvents))
}

func TestVectorText(t *testing.T) {
	w := newWorld(t, 3)
	w.commit(20)
	v := w.at(w.f, fragment.Events, nil).Vector
	v.Columns = 7
	token := w.f.Token(v)
	back, err := w.f.ParseVector(token, "acme")
	if err != nil || back.String() != v.String() || back.Tenant != "acme" {
		t.Fatalf("%v, %v; want %v", back, err, v)
	}
	refused := func(what, token string, tenant event.TenantID) {
		t.Helper()
		if got, err := w.f.ParseVector(token, tenant); fail.CodeOf(err) != fail.Request || len(got.Shards) > 0 || err.Error() != errForeign.Message {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	refused("another tenant's", token, "acme2")
	refused("nothing", "", "acme")
	for i := range token {
		for _, c := range []byte("A0_=%/\x00") {
			if changed := token[:i] + string(c) + token[i+1:]; changed != token {
				refused("changed", changed, "acme")
			}
		}
		refused("cut", token[:i], "acme")
		refused("longer", token+token[i:], "acme")
	}
	other := newWorld(t, 3)
	other.set.Meta.Seed[3]++
	if _, err := other.follower(Config{}).ParseVector(token, "acme"); fail.CodeOf(err) != fail.Request {
		t.Errorf("another store takes it: %v", err)
	}
}
