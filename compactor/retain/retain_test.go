package retain

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
	"github.com/togodb/togo/placements"
)

const (
	hour = int64(3600)
	day  = 24 * hour
	// noon is the now of the tables, in seconds.
	noon = int64(1_772_366_400)
)

func at(second int64) event.Timestamp { return event.Timestamp(second) * 1e9 }

// keeps is a table of settings: retention and letters' retention of each tenant, in hours.
type keeps map[event.TenantID][2]int64

func (k keeps) Get(t event.TenantID) tenants.Settings {
	hours, ok := k[t]
	if !ok {
		hours = k[""]
	}
	return tenants.Settings{Retention: time.Duration(hours[0]) * time.Hour, LettersRetention: time.Duration(hours[1]) * time.Hour}
}

func (k keeps) Tenants() (out []event.TenantID) {
	for t := range k {
		if t != "" {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

// rig is a shard log to which commits and expires are appended.
type rig struct {
	t   *testing.T
	log *shardlog.Log
	s   *shardlog.State
	n   int64
}

func newRig(t *testing.T) *rig {
	g := &rig{t: t, s: shardlog.NewState(0)}
	g.log = shardlog.OpenWith(objstore.NewMemory(), 0, shardlog.Config{Logger: slog.New(slog.DiscardHandler), CheckpointRecords: 1 << 30})
	if _, _, err := g.log.Claim(t.Context(), g.s, "test", "1"); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *rig) append(r *shardlog.Record) {
	g.t.Helper()
	if won, _, err := g.log.Append(g.t.Context(), g.s, r); err != nil || !won {
		g.t.Fatalf("append: %v, %v", won, err)
	}
}

// one is an event or a letter: a fragment of one row, and its identity.
type one struct {
	tenant event.TenantID
	table  shardlog.Table
	second int64
	key    string
}

// commit stores one, in a commit of its own.
func (g *rig) commit(o one) one {
	g.t.Helper()
	g.n++
	seq := g.s.Seq() + 1
	c := shardlog.Creator{Shard: 0, Epoch: g.s.Epoch(), Nonce: g.s.ClaimNonce(), Number: uint64(g.n)}
	bucket := floorDiv(o.second, hour) * hour
	o.key = c.FragmentKey(o.table, o.tenant, bucket)
	ledger := shardlog.Ledger{Events: 1, Stored: 1}
	if o.table == shardlog.TableDeadLetters {
		ledger = shardlog.Ledger{Events: 1, Dead: 1}
	}
	g.append(&shardlog.Record{Kind: shardlog.KindAppend, Append: &shardlog.Append{
		Epoch: g.s.Epoch(), Seq: seq, Ledger: ledger, LowWater: g.s.LowWater(),
		Fragments: []shardlog.Fragment{{
			Key: o.key, Tenant: o.tenant, Table: o.table, Bucket: bucket, Rows: 1, Bytes: 1, Sum: objstore.Sum(nil),
			Min: at(o.second), Max: at(o.second), SeqMin: seq, SeqMax: seq,
		}},
		IDs: &shardlog.IDSegment{Key: c.SegmentKey(), Bytes: 20, Sum: objstore.Sum(nil), IDs: 1,
			Buckets: []shardlog.IDBucket{{Bucket: floorDiv(o.second, 600) * 600, IDs: 1, Length: 20}}},
		Progress: []shardlog.Progress{{
			Source: shardlog.Source{Cluster: "c", Topic: strings.Repeat("ab", 16)}, From: g.n - 1, Next: g.n, LeaderEpoch: -1, Records: 1,
		}},
	}})
	return o
}

func (g *rig) event(t event.TenantID, second int64) {
	g.commit(one{t, shardlog.TableEvents, second, ""})
}

func (g *rig) letter(t event.TenantID, second int64) {
	g.commit(one{t, shardlog.TableDeadLetters, second, ""})
}

func rules(k keeps) Rules { return Rules{Settings: k, DataBucketSeconds: hour, IDBucketSeconds: 600} }

// show is a record as text, in hours before noon.
func show(x *shardlog.Expire) string {
	if x == nil {
		return "nothing"
	}
	var out []string
	for _, f := range x.Floors {
		name := string(f.Tenant)
		if name == "" {
			name = "all"
		}
		out = append(out, fmt.Sprintf("%s %s -%dh", name, f.Table, (noon-int64(f.Floor)/1e9)/hour))
	}
	if x.IDsBelow != nil {
		out = append(out, fmt.Sprintf("ids -%dh", (noon-*x.IDsBelow)/hour))
	}
	return strings.Join(out, ", ")
}

func TestExpire(t *testing.T) {
	const now = noon + 1800 // floors go down to the hour
	for name, tc := range map[string]struct {
		keeps keeps
		have  func(*rig)
		want  string
	}{
		"nothing is set":                 {keeps{}, func(g *rig) { g.event("acme", 0) }, "nothing"},
		"an empty shard":                 {keeps{"": {24, 24}}, func(*rig) {}, "nothing"},
		"nothing is old":                 {keeps{"": {24, 24}}, func(g *rig) { g.event("acme", noon-day); g.letter("acme", noon-day) }, "nothing"},
		"the last second of the bucket":  {keeps{"": {24, 24}}, func(g *rig) { g.event("acme", noon-day-1) }, "all dead_letters -24h, all events -24h, ids -24h"},
		"letters are kept longer":        {keeps{"": {24, 48}}, func(g *rig) { g.event("acme", noon-day-1) }, "all events -24h"},
		"old letters":                    {keeps{"": {24, 48}}, func(g *rig) { g.letter("acme", noon-3*day) }, "all dead_letters -48h, all events -24h, ids -48h"},
		"letters for ever":               {keeps{"": {24, 0}}, func(g *rig) { g.event("acme", noon-3*day); g.letter("acme", noon-3*day) }, "all events -24h"},
		"one keeps more than all others": {keeps{"": {24, 24}, "acme": {72, 72}}, func(g *rig) { g.event("b", noon-2*day); g.event("acme", noon-2*day) }, "b events -24h"},
		"and its own are old, too":       {keeps{"": {24, 24}, "acme": {72, 72}}, func(g *rig) { g.event("b", noon-4*day); g.event("acme", noon-4*day) }, "all dead_letters -72h, all events -72h, ids -72h"},
		"one for ever":                   {keeps{"": {24, 24}, "acme": {0, 0}}, func(g *rig) { g.event("b", noon-4*day); g.event("acme", 0) }, "b events -24h"},
		"one less than all others":       {keeps{"": {72, 72}, "acme": {24, 24}}, func(g *rig) { g.event("b", noon-2*day); g.event("acme", noon-2*day); g.letter("acme", noon-2*day) }, "acme dead_letters -24h, acme events -24h"},
		"at the floor of all tenants":    {keeps{"": {72, 0}, "acme": {24, 0}}, func(g *rig) { g.event("acme", noon-3*day) }, "acme events -24h"},
		"on both sides of it":            {keeps{"": {72, 0}, "acme": {24, 0}}, func(g *rig) { g.event("acme", noon-2*day); g.event("acme", noon-4*day) }, "all events -72h, acme events -24h"},
		"only one has a retention":       {keeps{"acme": {24, 24}}, func(g *rig) { g.event("b", 0); g.event("acme", 0) }, "acme events -24h"},
		"letters without a tenant":       {keeps{"": {24, 24}, event.Unroutable: {0, 48}}, func(g *rig) { g.letter(event.Unroutable, noon-3*day) }, "all dead_letters -48h, all events -24h, ids -48h"},
		"before 1970":                    {keeps{"": {24, 24}}, func(g *rig) { g.event("acme", -1) }, "all dead_letters -24h, all events -24h, ids -24h"},
		"a floor that is there": {keeps{"": {48, 48}}, func(g *rig) {
			g.append(&shardlog.Record{Kind: shardlog.KindExpire, Expire: &shardlog.Expire{Floors: []shardlog.Floor{{Table: shardlog.TableEvents, Floor: at(noon - day)}}}})
		}, "nothing"},
		"and letters that are old": {keeps{"": {48, 48}}, func(g *rig) {
			g.append(&shardlog.Record{Kind: shardlog.KindExpire, Expire: &shardlog.Expire{Floors: []shardlog.Floor{{Table: shardlog.TableEvents, Floor: at(noon - day)}}}})
			g.letter("acme", noon-3*day)
		}, "all dead_letters -48h, all events -24h, ids -48h"},
		"a letter below its floor": {keeps{"": {48, 24}}, func(g *rig) {
			below := noon - 2*day
			g.append(&shardlog.Record{Kind: shardlog.KindExpire, Expire: &shardlog.Expire{IDsBelow: &below, Floors: []shardlog.Floor{{Table: shardlog.TableEvents, Floor: at(below)}, {Table: shardlog.TableDeadLetters, Floor: at(noon - day)}}}})
			g.letter("acme", noon-3*day)
		}, "all dead_letters -24h"},
		"a retention that was made longer": {keeps{"": {0, 0}, "acme": {240, 240}}, func(g *rig) {
			g.append(&shardlog.Record{Kind: shardlog.KindExpire, Expire: &shardlog.Expire{Floors: []shardlog.Floor{{Tenant: "acme", Table: shardlog.TableEvents, Floor: at(noon - day)}}}})
			g.event("b", noon-20*day)
			g.letter("acme", noon-20*day)
		}, "acme dead_letters -240h"},
		"an erased tenant": {keeps{"": {24, 24}}, func(g *rig) {
			g.append(&shardlog.Record{Kind: shardlog.KindErase, Erase: &shardlog.Erase{Tenant: "acme", Floor: at(noon + 180)}})
			g.event("b", noon-2*day)
		}, "all dead_letters -24h, all events -24h, ids -24h"},
		"a fragment set aside": {keeps{"": {24, 24}}, func(g *rig) {
			o := g.commit(one{"acme", shardlog.TableEvents, noon - 2*day, ""})
			g.append(&shardlog.Record{Kind: shardlog.KindQuarantine, Quarantine: &shardlog.Quarantine{Key: o.key, Reason: "test"}})
		}, "all dead_letters -24h, all events -24h, ids -24h"},
	} {
		g := newRig(t)
		tc.have(g)
		x := Expire(g.s, rules(tc.keeps), at(now))
		if got := show(x); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tc.want)
		}
		if x != nil {
			g.append(&shardlog.Record{Kind: shardlog.KindExpire, Expire: x})
			if again := Expire(g.s, rules(tc.keeps), at(now+1799)); again != nil {
				t.Errorf("%s: once more in the same bucket: %s", name, show(again))
			}
		}
	}
}

// TestWhoMayHold: a tenant that keeps all holds nothing back where it is not placed, unless
// it has something there.
func TestWhoMayHold(t *testing.T) {
	g := newRig(t)
	g.event("b", noon-2*day)
	r := rules(keeps{"": {24, 24}, "acme": {0, 0}})
	r.MayHold = func(event.TenantID) (bool, bool) { return false, true }
	if got := show(Expire(g.s, r, at(noon))); got != "all events -24h" {
		t.Errorf("only letters: %s", got)
	}
	r.MayHold = func(event.TenantID) (bool, bool) { return false, false }
	if got := show(Expire(g.s, r, at(noon))); got != "all dead_letters -24h, all events -24h, ids -24h" {
		t.Errorf("nothing: %s", got)
	}
	g.event("acme", noon-3*day)
	if got := show(Expire(g.s, r, at(noon))); got != "b events -24h" {
		t.Errorf("but it has: %s", got)
	}
}

func TestHolders(t *testing.T) {
	k, err := placements.NewKeeper(placements.Config{Store: objstore.NewMemory(), Hasher: event.NewHasher(event.Seed{}), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	genesis := placements.NewGenesis(4)
	genesis.Default.Shards, genesis.DeadLetters = placements.Shards{0}, placements.Shards{2}
	if _, err := k.Init(t.Context(), genesis); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Extend(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Propose(t.Context(), placements.SetTenant("acme", placements.Shards{1}, nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Extend(t.Context(), k.Current().Horizon()); err != nil {
		t.Fatal(err)
	}
	for shard, want := range []string{"acme true true, b true true, _ false false", "acme true true, b false false, _ false false", "acme false true, b false true, _ false true", "acme false false, b false false, _ false false"} {
		hold := Holders(k.Current(), event.ShardID(shard), time.Unix(0, int64(k.Current().Horizon())-1))
		text := func(t event.TenantID) string { e, l := hold(t); return fmt.Sprint(e, " ", l) }
		if got := "acme " + text("acme") + ", b " + text("b") + ", _ " + text(event.Unroutable); got != want {
			t.Errorf("shard %d: %s, want %s", shard, got, want)
		}
	}
}

// TestOldPlacements: a table that is older than now knows too little.
func TestOldPlacements(t *testing.T) {
	table := placements.Empty(event.NewHasher(event.Seed{}))
	if Holders(table, 0, time.Unix(noon, 0)) != nil {
		t.Error("by placements without a horizon somebody holds nothing")
	}
}

func TestClock(t *testing.T) {
	now := time.Unix(noon, 0)
	for _, tc := range []struct {
		own, store time.Time
		want       event.Timestamp
	}{
		{now, now.Add(time.Hour), at(noon)}, {now.Add(time.Hour), now, at(noon)},
		{now, time.Time{}, none}, {time.Time{}, now, none},
		{now.AddDate(1000, 0, 0), now.AddDate(2000, 0, 0), 1<<63 - 1},
	} {
		if got := Clock(tc.own, tc.store); got != tc.want {
			t.Errorf("%s, %s: %s", tc.own, tc.store, got)
		}
	}
	// A store without a date, and times at the ends of the range, expire nothing wrongly.
	g := newRig(t)
	g.event("acme", noon)
	for _, now := range []event.Timestamp{none, none + 1, at(noon - 1000*day)} {
		if got := Expire(g.s, rules(keeps{"": {24, 24}}), now); got != nil {
			t.Errorf("at %s: %s", now, show(got))
		}
	}
}

// TestAgainstTheModel drives a shard with random commits, settings, erasures and time, and
// holds it against a model that knows single rows.
func TestAgainstTheModel(t *testing.T) {
	records, gone, ids := 0, 0, 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := &model{t: t, seed: seed, g: newRig(t), floors: map[slot]int64{}}
		names := []event.TenantID{"a", "b", "c", event.Unroutable}
		m.keeps = keeps{}
		now := noon
		for range 60 {
			switch r.IntN(6) {
			case 0:
				now += r.Int64N(8 * hour)
			case 1:
				t := append(names, "")[r.IntN(len(names)+1)]
				m.keeps[t] = [2]int64{r.Int64N(4) * 12, r.Int64N(4) * 12}
			case 2:
				if r.IntN(4) == 0 {
					m.erase(names[r.IntN(3)], now+180)
				}
			default:
				n := r.IntN(len(names))
				table := shardlog.TableEvents
				if n == 3 || r.IntN(3) == 0 {
					table = shardlog.TableDeadLetters
				}
				m.commit(one{names[n], table, now - r.Int64N(3*day), ""})
			}
			if r.IntN(3) > 0 {
				continue
			}
			before := len(m.rows)
			if m.expire(now) {
				records++
			}
			gone += before - len(m.rows)
			ids += m.dropped
			m.check(now)
		}
	}
	if records < 500 || gone < 500 || ids < 100 {
		t.Errorf("too little happened: %d records, %d rows gone, %d times ids", records, gone, ids)
	}
	t.Logf("%d records, %d rows gone, %d times ids", records, gone, ids)
}

// model knows each row that was stored, and when which floor was asked for.
type model struct {
	t       *testing.T
	seed    uint64
	g       *rig
	keeps   keeps
	rows    []one
	floors  map[slot]int64 // seconds: the highest that was ever asked for while something was below
	dropped int
	lastIDs int64
}

// commit stores a row as a writer does: an event below its floor is a letter of its Kafka time.
func (m *model) commit(o one) {
	if floor, _ := m.g.s.Floor(o.tenant, o.table); o.table == shardlog.TableEvents && at(o.second) < floor {
		return
	}
	m.rows = append(m.rows, m.g.commit(o))
}

func (m *model) erase(t event.TenantID, floor int64) {
	if f, _ := m.g.s.Floor(t, shardlog.TableEvents); f > at(floor) {
		return
	}
	m.g.append(&shardlog.Record{Kind: shardlog.KindErase, Erase: &shardlog.Erase{Tenant: t, Floor: at(floor)}})
	m.rows = slices.DeleteFunc(m.rows, func(o one) bool { return o.tenant == t })
}

func (m *model) keep(o one) int64 {
	k := m.keeps.Get(o.tenant)
	if o.table == shardlog.TableEvents {
		return int64(k.Retention / time.Second)
	}
	return int64(k.LettersRetention / time.Second)
}

// expire does what a compactor's turn does, and says whether there was something to do.
func (m *model) expire(now int64) bool {
	m.t.Helper()
	state := m.g.s.Clone()
	x := Expire(m.g.s, rules(m.keeps), at(now))
	if x != nil {
		m.g.append(&shardlog.Record{Kind: shardlog.KindExpire, Expire: x})
	}
	m.dropped = 0
	if b := m.g.s.IDsBelow(); b != m.lastIDs {
		m.lastIDs, m.dropped = b, 1
	}
	kept := m.rows[:0]
	for _, o := range m.rows {
		_, live := m.g.s.Fragment(o.key)
		keep := m.keep(o)
		floor, _ := state.Floor(o.tenant, o.table)
		ends := floorDiv(o.second, hour)*hour + hour // of its bucket
		due := keep > 0 && ends <= now-keep || at(o.second) < floor
		if live == due {
			m.t.Fatalf("seed %d, at %d: %+v kept for %d s, floor %s: live %v\nrecord %s", m.seed, now, o, keep, floor, live, show(x))
		}
		if live {
			kept = append(kept, o)
		}
	}
	m.rows = kept
	return x != nil
}

// check: identities are there for every row that is, and for every event that may still
// come; what nobody needs is gone.
func (m *model) check(now int64) {
	m.t.Helper()
	buckets := map[int64]bool{}
	for _, b := range m.g.s.IDBuckets() {
		buckets[b] = true
	}
	for _, o := range m.rows {
		if b := floorDiv(o.second, 600) * 600; !buckets[b] {
			m.t.Fatalf("seed %d: the identity of %+v is gone", m.seed, o)
		}
	}
	// The lowest time at which anybody may still hold an event or a letter.
	lowest := at(now + 1000*day)
	for _, t := range append(m.keeps.Tenants(), "", "stranger") {
		for _, table := range bothTables {
			if t == event.Unroutable && table == shardlog.TableEvents {
				continue
			}
			floor, _ := m.g.s.Floor(t, table)
			if keep := m.keep(one{tenant: t, table: table}); keep > 0 {
				floor = max(floor, at(floorDiv(now-keep, hour)*hour))
			}
			lowest = min(lowest, floor)
		}
	}
	if below := m.g.s.IDsBelow(); below > -1<<33 && at(below) > lowest {
		m.t.Fatalf("seed %d: identities below %d are gone, but somebody may hold an event from %s on", m.seed, below, lowest)
	}
	for b := range buckets {
		if lowest > at(-1<<32) && at(b+600) <= lowest {
			m.t.Fatalf("seed %d: the identities of %d are kept, but nobody holds anything below %s", m.seed, b, lowest)
		}
	}
}

// BenchmarkExpire is a look at a shard with a hundred thousand fragments of a hundred tenants, of which
// one keeps all: nothing is due, or half of it lies below the floors of others.
func BenchmarkExpire(b *testing.B) {
	s := shardlog.NewState(0)
	log := shardlog.OpenWith(objstore.NewMemory(), 0, shardlog.Config{Logger: slog.New(slog.DiscardHandler), CheckpointRecords: 1 << 30})
	if _, _, err := log.Claim(b.Context(), s, "bench", "1"); err != nil {
		b.Fatal(err)
	}
	for hours := range int64(1000) {
		a := &shardlog.Append{Epoch: s.Epoch(), Seq: s.Seq() + 1, LowWater: uint64(hours) * 100, Ledger: shardlog.Ledger{Events: 100, Stored: 100}}
		for t := range int64(100) {
			bucket := noon - (1000-hours)*hour
			a.Fragments = append(a.Fragments, shardlog.Fragment{
				Key: fmt.Sprintf("data/t%d/%d-%d.parquet", t, hours, t), Tenant: event.TenantID(fmt.Sprint("t", t)), Table: shardlog.TableEvents, Bucket: bucket,
				Rows: 1, Bytes: 1, Sum: objstore.Sum(nil), Min: at(bucket), Max: at(bucket + 1), SeqMin: a.Seq, SeqMax: a.Seq,
			})
		}
		a.IDs = &shardlog.IDSegment{Key: fmt.Sprintf("ids/%d", hours), Bytes: 20, Sum: objstore.Sum(nil), IDs: 100, Buckets: []shardlog.IDBucket{{Bucket: noon - (1000-hours)*hour, IDs: 100, Length: 20}}}
		a.Progress = []shardlog.Progress{{Source: shardlog.Source{Cluster: "c", Topic: strings.Repeat("ab", 16)}, From: hours, Next: hours + 1, LeaderEpoch: -1, Records: 1}}
		if _, _, err := log.Append(b.Context(), s, &shardlog.Record{Kind: shardlog.KindAppend, Append: a}); err != nil {
			b.Fatal(err)
		}
	}
	for name, k := range map[string]keeps{
		"nothing is old": {"": {1000, 1000}, "t0": {0, 0}},
		"half is old":    {"": {500, 500}, "t0": {0, 0}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if x := Expire(s, rules(k), at(noon)); (x == nil) != (name == "nothing is old") {
					b.Fatal(show(x))
				}
			}
		})
	}
}
