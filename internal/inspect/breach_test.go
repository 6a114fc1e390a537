package inspect

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// breach breaks one promise on a good store; place is how the report must name it.
type breach struct {
	check Check
	do    func(w *world) (place string)
}

// rowFor makes a row whose home is the same for all of the tenants.
func (w *world) rowFor(at event.Timestamp, home event.ShardID, tenants ...event.TenantID) fragment.Row {
	r := w.row("", at)
	for i := 0; ; i++ {
		r.ID = fmt.Appendf(nil, "row-%d-%d", r.Offset, i)
		if !slices.ContainsFunc(tenants, func(t event.TenantID) bool { return w.home(t, r) != home }) {
			return r
		}
	}
}

// events commits rows of one tenant in a fragment each, and returns their keys.
func (w *world) events(shard event.ShardID, h how, tenant event.TenantID, rows ...[]fragment.Row) []string {
	w.t.Helper()
	var parts []part
	for _, r := range rows {
		parts = append(parts, part{tenant, fragment.Events, r})
	}
	w.commit(shard, h, parts...)
	var keys []string
	last, err := w.logs[shard].ReadAfter(w.ctx, w.states[shard].Position()-1, 1)
	w.must(err)
	for _, f := range last[0].Record.Append.Fragments {
		keys = append(keys, f.Key)
	}
	return keys
}

// segment is a live id segment.
func (w *world) segment() shardlog.IDSegment {
	var out shardlog.IDSegment
	w.open().Shards[w.busiest()].Segments(func(s shardlog.IDSegment) bool { out = s; return false })
	return out
}

// rewrite replaces the newest record of a shard's log by one that is changed.
func (w *world) rewrite(shard event.ShardID, change func(*shardlog.Record)) string {
	w.t.Helper()
	head := w.states[shard].Position()
	key := fmt.Sprintf("shards/%s/log/%s", shard, head)
	w.overwrite(key, func(b []byte) []byte {
		r, err := shardlog.Decode(b)
		w.must(err)
		change(&r)
		b, err = shardlog.Encode(&r)
		w.must(err)
		return b
	})
	return fmt.Sprintf("shard %s, position %d", shard, uint64(head))
}

var objectBreaches = map[string]breach{
	"an events file is gone": {CheckObjects, func(w *world) string {
		key := w.anyFile(shardlog.TableEvents).Key
		w.must(w.store.Delete(w.ctx, key))
		return "fragment " + key + " is missing"
	}},
	"a letters file is gone": {CheckObjects, func(w *world) string {
		key := w.anyFile(shardlog.TableDeadLetters).Key
		w.must(w.store.Delete(w.ctx, key))
		return "fragment " + key + " is missing"
	}},
	"an id segment is gone": {CheckObjects, func(w *world) string {
		key := w.segment().Key
		w.must(w.store.Delete(w.ctx, key))
		return "id segment " + key + " is missing"
	}},
	"a byte of a file": {CheckObjects, func(w *world) string {
		key := w.anyFile(shardlog.TableEvents).Key
		w.overwrite(key, flip)
		return "fragment " + key + " has the checksum"
	}},
	"a byte of an id segment": {CheckObjects, func(w *world) string {
		key := w.segment().Key
		w.overwrite(key, flip)
		return "id segment " + key + " has the checksum"
	}},
	"a file cut off": {CheckObjects, func(w *world) string {
		f := w.anyFile(shardlog.TableEvents)
		w.overwrite(f.Key, func(b []byte) []byte { return b[:len(b)-1] })
		return fmt.Sprintf("%s has %d bytes, its record says %d", f.Key, f.Bytes-1, f.Bytes)
	}},
	"another file under the key": {CheckObjects, func(w *world) string {
		files := w.open().Files("acme", shardlog.TableEvents, Always)
		w.overwrite(files[0].Key, func([]byte) []byte { b, _ := w.store.Get(w.ctx, files[1].Key); return b })
		return files[0].Key
	}},
}

var rowBreaches = map[string]breach{
	"the same identity in two files of a shard": {CheckUnique, func(w *world) string {
		r := w.rowFor(noon, 1, "acme")
		first := w.events(1, how{}, "acme", []fragment.Row{r})[0]
		second := w.events(1, how{}, "acme", []fragment.Row{r})[0]
		return fmt.Sprintf("tenant acme: %s at %s is in %s and in %s", r.ID, noon, first, second)
	}},
	"a row in another shard": {CheckRouting, func(w *world) string {
		r := w.rowFor(noon, 2, "acme")
		w.events(0, how{}, "acme", []fragment.Row{r})
		return fmt.Sprintf("tenant acme: %s at %s lies in shard 0; placements at version %s say 2", r.ID, noon, w.table.Version())
	}},
	"another tenant's file": {CheckIsolation, func(w *world) string {
		r := w.rowFor(noon, 0, "acme", "evil")
		key := w.events(0, how{
			record: func(a *shardlog.Append) { a.Fragments[0].Tenant = "evil" },
			ids: func(e []idseg.Entry) []idseg.Entry {
				e[0].Tenant, e[0].ID = "evil", w.hasher.Identity("evil", r.Timestamp, r.ID)
				return e
			},
		}, "acme", []fragment.Row{r})[0]
		return key + " says it holds acme"
	}},
	"another table's file": {CheckIsolation, func(w *world) string {
		r := w.rowFor(noon, 0, "acme")
		return w.events(0, how{record: func(a *shardlog.Append) {
			a.Fragments[0].Table = shardlog.TableDeadLetters
			a.Ledger.Stored, a.Ledger.Dead = 0, 1
		}}, "acme", []fragment.Row{r})[0] + " says it holds acme, events"
	}},
	"a file of another bucket": {CheckIsolation, func(w *world) string {
		key := w.events(0, how{record: func(a *shardlog.Append) { a.Fragments[0].Bucket -= 3600 }}, "acme", []fragment.Row{w.rowFor(noon, 0, "acme")})[0]
		return fmt.Sprintf("%s says it holds acme, events, bucket %d", key, int64(noon)/1e9)
	}},
	"a row outside of its bucket": {CheckIsolation, func(w *world) string {
		rows := []fragment.Row{w.rowFor(noon, 0, "acme"), w.rowFor(noon+3600e9, 0, "acme")}
		return fmt.Sprintf("%s: %s at %s lies outside of its bucket", w.events(0, how{}, "acme", rows)[0], rows[1].ID, rows[1].Timestamp)
	}},
	"rows that the record counts wrongly": {CheckRows, func(w *world) string {
		rows := []fragment.Row{w.rowFor(noon, 0, "acme"), w.rowFor(noon, 0, "acme"), w.rowFor(noon, 0, "acme")}
		key := w.events(0, how{record: func(a *shardlog.Append) { a.Fragments[0].Rows, a.Fragments[1].Rows = 2, 1 }}, "acme", rows[:1], rows[1:])[0]
		return key + " has 1 rows, its record says 2"
	}},
	"a time that the record leaves out": {CheckRows, func(w *world) string {
		rows := []fragment.Row{w.rowFor(noon, 0, "acme"), w.rowFor(noon+7, 0, "acme")}
		key := w.events(0, how{record: func(a *shardlog.Append) { a.Fragments[0].Max-- }}, "acme", rows)[0]
		return fmt.Sprintf("%s: %s at %s lies outside of", key, rows[1].ID, noon+7)
	}},
	"a file that is no Parquet": {CheckRows, func(w *world) string {
		junk := []byte("PAR1 and so on PAR1")
		return w.events(0, how{record: func(a *shardlog.Append) {
			f := &a.Fragments[0]
			f.Bytes, f.Sum = int64(len(junk)), objstore.Sum(junk)
			w.must(w.store.Put(w.ctx, f.Key, junk))
		}}, "acme", []fragment.Row{w.rowFor(noon, 0, "acme")})[0]
	}},
	"an identity in place of another": {CheckIDs, func(w *world) string {
		w.events(0, how{ids: func(e []idseg.Entry) []idseg.Entry { e[0].ID[3] ^= 1; return e }}, "acme", []fragment.Row{w.rowFor(noon, 0, "acme")})
		return fmt.Sprintf("shard 0, tenant acme, id bucket %d:", int64(noon)/1e9)
	}},
	"an identity of another tenant": {CheckIDs, func(w *world) string {
		w.events(0, how{ids: func(e []idseg.Entry) []idseg.Entry { e[0].Tenant = "evil"; return e }}, "acme", []fragment.Row{w.rowFor(noon, 0, "acme")})
		return fmt.Sprintf("shard 0, tenant evil, id bucket %d: those of 0 rows are not the 1", int64(noon)/1e9)
	}},
	"fewer identities than the record says": {CheckIDs, func(w *world) string {
		w.events(0, how{
			ids:    func(e []idseg.Entry) []idseg.Entry { return e[:1] },
			record: func(a *shardlog.Append) { a.IDs.Buckets[0].IDs = 2 },
		}, "acme", []fragment.Row{w.rowFor(noon, 0, "acme"), w.rowFor(noon, 0, "acme")})
		return fmt.Sprintf("ids/0/%d: bucket", w.states[0].Seq())
	}},
	"an intake offset that nobody has classed": {CheckIntake, func(w *world) string {
		w.row("never committed", noon)
		w.events(0, how{}, "acme", []fragment.Row{w.rowFor(noon, 0, "acme")})
		return fmt.Sprintf("topic events, partition 0: offsets %d are below", w.offset-2)
	}},
}

var logBreaches = map[string]breach{
	"a ledger that does not add up": {CheckLog, func(w *world) string {
		return w.rewrite(w.busiest(), func(r *shardlog.Record) { r.Append.Ledger.Events++ })
	}},
	"a link to another history": {CheckLog, func(w *world) string {
		return w.rewrite(w.busiest(), func(r *shardlog.Record) { r.Prev.Sum = objstore.Sum(nil) })
	}},
	"progress with a gap": {CheckLog, func(w *world) string {
		return w.rewrite(w.busiest(), func(r *shardlog.Record) { r.Append.Progress[0].From++; r.Append.Progress[0].Next++ })
	}},
	"an append of an old epoch": {CheckLog, func(w *world) string {
		return w.rewrite(w.busiest(), func(r *shardlog.Record) { r.Append.Epoch-- })
	}},
	"a record that was changed": {CheckLog, func(w *world) string {
		at := w.states[w.busiest()].Position() - 1
		w.overwrite(fmt.Sprintf("shards/%s/log/%s", w.busiest(), at), func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"time_ms":1`), []byte(`"time_ms":2`), 1)
		})
		return fmt.Sprintf("position %d: ", uint64(at)+1)
	}},
	"a record that is no record": {CheckLog, func(w *world) string {
		at := w.states[w.busiest()].Position() - 1
		w.overwrite(fmt.Sprintf("shards/%s/log/%s", w.busiest(), at), func(b []byte) []byte { return b[:len(b)/2] })
		return fmt.Sprintf("position %d: ", uint64(at))
	}},
	"a record is gone": {CheckLog, func(w *world) string {
		at := w.states[w.busiest()].Position() - 1
		w.must(w.store.Delete(w.ctx, fmt.Sprintf("shards/%s/log/%s", w.busiest(), at)))
		return fmt.Sprintf("position %d: ", uint64(at))
	}},
	"the newest record is gone, and a checkpoint was made of it": {CheckLog, func(w *world) string {
		s := w.states[w.busiest()]
		w.must(w.logs[s.Shard()].Checkpoint(w.ctx, s))
		w.must(w.store.Delete(w.ctx, fmt.Sprintf("shards/%s/log/%s", s.Shard(), s.Position())))
		return fmt.Sprintf("position %d: ", uint64(s.Position()))
	}},
	"a record below a checkpoint is gone": {CheckLog, func(w *world) string {
		s := w.states[w.busiest()]
		w.must(w.logs[s.Shard()].Checkpoint(w.ctx, s))
		w.must(w.store.Delete(w.ctx, fmt.Sprintf("shards/%s/log/%s", s.Shard(), s.Position()-2)))
		return fmt.Sprintf("%d", uint64(s.Position()-2))
	}},
	"a checkpoint with other totals": {CheckCheckpoint, func(w *world) string {
		w.checkpoint(w.busiest(), func(root map[string]any) {
			totals := root["state"].(map[string]any)["totals"].(map[string]any)
			totals["stored"] = 1000
		}, nil)
		return fmt.Sprintf("shard %s at %d: totals", w.busiest(), uint64(w.states[w.busiest()].Position()))
	}},
	"a checkpoint with another fragment": {CheckCheckpoint, func(w *world) string {
		w.checkpoint(w.busiest(), nil, func(day map[string]any) {
			f := day["fragments"].([]any)[0].(map[string]any)
			f["ranges"] = []any{map[string]any{"column": "service", "min": "a", "max": "b"}}
		})
		return "fragment: the records say"
	}},
	"a checkpoint with another floor": {CheckCheckpoint, func(w *world) string {
		w.checkpoint(w.busiest(), func(root map[string]any) {
			root["state"].(map[string]any)["floors"] = map[string]any{"acme": map[string]any{"events": 5, "dead_letters": 0, "erased": 0}}
		}, nil)
		return `floor of "acme"`
	}},
}

// checkpoint writes one of a shard, with its root or its day's manifest changed and
// everything sealed anew, as a fault in the code that makes them would.
func (w *world) checkpoint(shard event.ShardID, root, day func(map[string]any)) {
	w.t.Helper()
	s := w.states[shard]
	w.must(w.logs[shard].Checkpoint(w.ctx, s))
	parse := func(b []byte) map[string]any {
		var m map[string]any
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber() // times have more digits than a float64
		w.must(d.Decode(&m))
		return m
	}
	w.overwrite(fmt.Sprintf("shards/%s/checkpoint/%s", shard, s.Position()), func(b []byte) []byte {
		var seal struct {
			Sum  string          `json:"sum"`
			Root json.RawMessage `json:"root"`
		}
		w.must(json.Unmarshal(b, &seal))
		r := parse(seal.Root)
		if root != nil {
			root(r)
		}
		if day != nil {
			ref := r["days"].([]any)[0].(map[string]any)["manifests"].([]any)[0].(map[string]any)
			w.overwrite(fmt.Sprintf("shards/%s/manifest/%s", shard, ref["name"]), func(packed []byte) []byte {
				zip, err := gzip.NewReader(bytes.NewReader(packed))
				w.must(err)
				text, err := io.ReadAll(zip)
				w.must(err)
				m := parse(text)
				day(m)
				text, err = json.Marshal(m)
				w.must(err)
				var out bytes.Buffer
				into := gzip.NewWriter(&out)
				_, err = into.Write(text)
				w.must(err)
				w.must(into.Close())
				ref["sum"], ref["bytes"] = objstore.Sum(out.Bytes()), out.Len()
				return out.Bytes()
			})
		}
		var err error
		seal.Root, err = json.Marshal(r)
		w.must(err)
		seal.Sum = objstore.Sum(seal.Root)
		b, err = json.Marshal(seal)
		w.must(err)
		return b
	})
}

func TestEachBreachIsFoundAndNamed(t *testing.T) {
	for _, group := range []map[string]breach{objectBreaches, rowBreaches, logBreaches} {
		for name, b := range group {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t)
				w.fill()
				place := b.do(w)
				w.expect(b.check, place)
				_, err := Open(w.ctx, w.store, quiet)
				if damaged := err != nil; damaged != (b.check == CheckLog && name != "a record below a checkpoint is gone") {
					t.Errorf("open for other tools: %v", err)
				}
			})
		}
	}
}

// TestADamagedShardHidesNoOther: what is wrong in another shard is still found.
func TestADamagedShardHidesNoOther(t *testing.T) {
	w := newWorld(t)
	w.fill()
	damaged := w.busiest()
	w.rewrite(damaged, func(r *shardlog.Record) { r.Append.Ledger.Events++ })
	for _, f := range w.openDamaged().Files("acme", shardlog.TableEvents, Always) {
		if f.Shard != damaged {
			w.must(w.store.Delete(w.ctx, f.Key))
			break
		}
	}
	r, err := w.openDamaged().Verify(w.ctx, []IntakeRange{{Source: w.intake, Committed: w.offset}}, "")
	w.must(err)
	if r.Results[CheckLog].Failed != 1 || r.Results[CheckObjects].Failed != 1 || r.Failed() != 2 {
		t.Errorf("%+v", r.Results)
	}
	if note := r.Results[CheckIntake].Note; !strings.Contains(note, "damaged") {
		t.Errorf("intake: %q", note)
	}
}

// TestNothingIsTakenForABreach: what looks alike and is none.
func TestNothingIsTakenForABreach(t *testing.T) {
	w := newWorld(t)
	w.fill()
	// One id in two tenants, at two times, and a letter's id as an event's.
	at := noon - event.Timestamp(24*time.Hour)
	for _, tenant := range []event.TenantID{"acme", "globex"} {
		for n := range event.Timestamp(2) {
			r := w.row("same", at+n)
			w.events(w.home(tenant, r), how{}, tenant, []fragment.Row{r})
		}
	}
	w.expect("", "")
	r, err := w.open().Verify(w.ctx, nil, "no Kafka")
	w.must(err)
	if r.Failed() != 0 || r.Results[CheckIntake].Note != "no Kafka" || r.Results[CheckIntake].Checked != 0 {
		t.Errorf("without Kafka: %+v", r.Results[CheckIntake])
	}
	// Below the log's start Kafka has nothing any more, and a group that has committed
	// nothing vouches for nothing.
	r, err = w.open().Verify(w.ctx, []IntakeRange{
		{Source: event.Source{Cluster: "c", Topic: event.TopicID{9}}, From: 7, Committed: 7},
		{Source: event.Source{Cluster: "c", Topic: event.TopicID{9}, Partition: 1}, From: 0, Committed: -1},
	}, "")
	w.must(err)
	if r.Failed() != 0 {
		t.Errorf("nothing to cover: %+v", r.Results[CheckIntake])
	}
}

// TestExamplesAreBounded: a store in ruins gives a report that can be read.
func TestExamplesAreBounded(t *testing.T) {
	w := newWorld(t)
	w.fill()
	n := 0
	for _, tenant := range w.open().Tenants() {
		for _, f := range w.open().Files(tenant, shardlog.TableEvents, Always) {
			w.must(w.store.Delete(w.ctx, f.Key))
			n++
		}
	}
	r, err := w.open().Verify(w.ctx, nil, "")
	w.must(err)
	if res := r.Results[CheckObjects]; res.Failed != int64(n) || n <= maxExamples || len(res.Examples) != maxExamples {
		t.Errorf("%d of %d failures, %d examples", res.Failed, n, len(res.Examples))
	}
	if r.Results[CheckIDs].Note == "" {
		t.Error("it is not said that identities were not compared")
	}
}

// unreliable fails reads of a key.
type unreliable struct {
	objstore.Store
	key string
}

func (u unreliable) Get(ctx context.Context, key string) ([]byte, error) {
	if key == u.key {
		return nil, objstore.ErrUnavailable
	}
	return u.Store.Get(ctx, key)
}

// TestAStoreThatCannotBeReadIsNoBreach: it is an error, and no finding.
func TestAStoreThatCannotBeReadIsNoBreach(t *testing.T) {
	w := newWorld(t)
	w.fill()
	for _, key := range []string{
		w.anyFile(shardlog.TableEvents).Key, w.segment().Key,
		fmt.Sprintf("shards/%s/log/00000000000000000002", w.busiest()),
	} {
		v := w.open()
		v.Objects = unreliable{w.store, key}
		for id := range v.logs {
			v.logs[id] = shardlog.OpenWith(v.Objects, event.ShardID(id), shardlog.Config{Logger: quiet})
		}
		if r, err := v.Verify(w.ctx, nil, ""); err == nil || r != nil {
			t.Errorf("%s: report %v, error %v", key, r, err)
		}
		if _, err := OpenDamaged(w.ctx, v.Objects, quiet); (err != nil) != strings.HasPrefix(key, "shards/") {
			t.Errorf("open without %s: %v", key, err)
		}
	}
}

// recorder notes the keys that are read.
type recorder struct {
	objstore.Store
	keys []string
}

func (r *recorder) Get(ctx context.Context, key string) ([]byte, error) {
	r.keys = append(r.keys, key)
	return r.Store.Get(ctx, key)
}

// TestOneUnitAtATime: the files that may share an identity are read one after the
// other, each once, so that only their identities are held at a time.
func TestOneUnitAtATime(t *testing.T) {
	w := newWorld(t)
	w.fill()
	w.fill2()
	v := w.open()
	rec := &recorder{Store: w.store}
	v.Objects = rec
	r, err := v.Verify(w.ctx, nil, "")
	w.must(err)
	unitOf := map[string]unit{}
	for _, s := range v.Shards {
		s.Fragments("", -maxBucket, maxBucket, func(f shardlog.Fragment) bool {
			unitOf[f.Key] = unit{f.Tenant, f.Table, f.Bucket}
			return true
		})
	}
	done := map[unit]bool{}
	var last unit
	read := map[string]bool{}
	for _, key := range rec.keys {
		u, ok := unitOf[key]
		if !ok {
			continue // an id segment
		}
		if read[key] || u != last && done[u] {
			t.Errorf("%s of %+v is read again, or after another unit", key, u)
		}
		read[key], done[u], last = true, true, u
	}
	if int64(len(read)) != r.Files || len(done) < 4 {
		t.Errorf("%d of %d files in %d units", len(read), r.Files, len(done))
	}
}
