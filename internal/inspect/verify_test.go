package inspect

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
)

var quiet = slog.New(slog.DiscardHandler)

// world is a small store, made by the real encoders and logs.
type world struct {
	t       *testing.T
	ctx     context.Context
	store   *objstore.Memory
	meta    objstore.Meta
	hasher  *event.Hasher
	table   *placements.Table
	columns *fragment.Registry
	logs    []*shardlog.Log
	states  []*shardlog.State
	intake  event.Source
	offset  int64 // of the next intake record
}

const worldShards = 3

// noon is within one data bucket and one id bucket for the next minutes.
var noon = event.Timestamp(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixNano())

func newWorld(t *testing.T) *world {
	w := &world{t: t, ctx: t.Context(), store: objstore.NewMemory()}
	w.meta = objstore.NewMeta(objstore.MetaDefaults{}, noon.Time())
	w.meta.Seed = objstore.Seed{1} // it decides which shard holds what
	w.must(w.store.PutIfAbsent(w.ctx, objstore.MetaKey, objstore.EncodeMeta(w.meta)))
	w.hasher = event.NewHasher(event.Seed(w.meta.Seed))
	k, err := placements.NewKeeper(placements.Config{Store: w.store, Hasher: w.hasher, Logger: quiet})
	w.must(err)
	genesis := placements.NewGenesis(worldShards)
	genesis.Default.Spread = worldShards
	_, err = k.Init(w.ctx, genesis)
	w.must(err)
	w.table, err = k.Extend(w.ctx, noon)
	w.must(err)
	w.columns = fragment.NewRegistry(w.store, fragment.RegistryConfig{})
	w.intake = event.Source{Cluster: "c", Topic: event.TopicID{1}, Partition: 0}
	for id := range worldShards {
		l := shardlog.OpenWith(w.store, event.ShardID(id), shardlog.Config{Logger: quiet})
		s := shardlog.NewState(event.ShardID(id))
		_, _, err := l.Claim(w.ctx, s, "test", "1")
		w.must(err)
		w.logs, w.states = append(w.logs, l), append(w.states, s)
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// row makes an event of its own intake record.
func (w *world) row(id string, at event.Timestamp) fragment.Row {
	w.offset++
	return fragment.Row{
		Timestamp: at, ID: []byte(id), IngestedAt: at, Format: event.FormatJSON, Payload: []byte(`{"n":1}`),
		Source: &w.intake, Offset: w.offset - 1,
	}
}

func (w *world) letter(at event.Timestamp) fragment.Row {
	r := w.row("", at)
	r.ID, r.Letter = event.LetterID(event.Origin{Source: *r.Source, Offset: r.Offset}), &fragment.Letter{Reason: event.ReasonMalformed}
	return r
}

func (w *world) home(tenant event.TenantID, r fragment.Row) event.ShardID {
	s, ok := w.table.Shard(tenant, r.Timestamp, w.hasher.Routing(r.ID))
	if !ok {
		w.t.Fatalf("%s lies above the horizon", r.Timestamp)
	}
	return s
}

// part is one fragment of a commit.
type part struct {
	tenant event.TenantID
	kind   fragment.Kind
	rows   []fragment.Row
}

// how bends a commit before it is written.
type how struct {
	ids    func([]idseg.Entry) []idseg.Entry
	record func(*shardlog.Append)
	intake func(*shardlog.IntakeSet)
}

// commit writes files and record of one append.
func (w *world) commit(shard event.ShardID, h how, parts ...part) {
	w.t.Helper()
	s := w.states[shard]
	seq := s.Seq() + 1
	a := &shardlog.Append{Epoch: s.Epoch(), Seq: seq}
	var entries []idseg.Entry
	intake := shardlog.NewIntake()
	for n, p := range parts {
		bucket := bucketOf(p.rows[0].Timestamp, w.meta.DataBucketSeconds)
		f, err := fragment.Encode(w.ctx, fragment.Input{Tenant: p.tenant, Kind: p.kind, Bucket: bucket, Seq: seq, Rows: p.rows}, w.columns)
		w.must(err)
		key := fmt.Sprintf("data/%s/%d/%s-%d-%d.parquet", p.tenant, bucket, shard, seq, n)
		w.must(w.store.PutIfAbsent(w.ctx, key, f.Body))
		a.Fragments = append(a.Fragments, shardlog.Fragment{
			Key: key, Tenant: p.tenant, Table: tableOf(p.kind), Bucket: bucket, Rows: f.Rows, Bytes: int64(len(f.Body)), Sum: f.Sum,
			Min: f.Min, Max: f.Max, SeqMin: seq, SeqMax: seq,
		})
		for _, r := range p.rows {
			entries = append(entries, idseg.Entry{
				Tenant: p.tenant, Bucket: bucketOf(r.Timestamp, w.meta.IDBucketSeconds),
				ID: w.hasher.Identity(p.tenant, r.Timestamp, r.ID), Payload: w.hasher.Payload(r.Payload),
			})
			intake.Add(shardlog.SourceFrom(*r.Source), r.Offset)
		}
		a.Ledger.Events += f.Rows
		if p.kind == fragment.Events {
			a.Ledger.Stored += f.Rows
		} else {
			a.Ledger.Dead += f.Rows
		}
	}
	if h.ids != nil {
		entries = h.ids(entries)
	}
	body, buckets, err := idseg.Encode(entries, idseg.DefaultConfig())
	w.must(err)
	a.IDs = &shardlog.IDSegment{Key: fmt.Sprintf("ids/%s/%d", shard, seq), Bytes: int64(len(body)), Sum: objstore.Sum(body), IDs: a.Ledger.Events}
	for _, b := range buckets {
		a.IDs.Buckets = append(a.IDs.Buckets, shardlog.IDBucket{Bucket: b.Bucket, IDs: b.IDs, Offset: b.Offset, Length: b.Length})
	}
	w.must(w.store.PutIfAbsent(w.ctx, a.IDs.Key, body))
	src := shardlog.Source{Cluster: "c", Topic: strings.Repeat("ab", 16), Partition: int32(shard)}
	from := int64(0)
	if at, ok := s.SourceOf(src); ok {
		from = at.Next
	}
	a.Progress = []shardlog.Progress{{Source: src, From: from, Next: from + 1, LeaderEpoch: -1, Records: 1}}
	if h.intake != nil {
		h.intake(intake)
	}
	a.Intake = intake.ToIntake()
	if h.record != nil {
		h.record(a)
	}
	won, _, err := w.logs[shard].Append(w.ctx, s, &shardlog.Record{Kind: shardlog.KindAppend, Append: a})
	w.must(err)
	if !won {
		w.t.Fatal("lost a race against nobody")
	}
}

// fill commits some events and letters of three tenants where they belong.
func (w *world) fill() {
	w.t.Helper()
	for round := range 2 {
		for _, tenant := range []event.TenantID{"acme", "globex", "initech"} {
			byShard := map[event.ShardID][]fragment.Row{}
			for n := range 5 {
				r := w.row(fmt.Sprintf("%d-%d", round, n), noon+event.Timestamp(round)*1e9+event.Timestamp(n))
				byShard[w.home(tenant, r)] = append(byShard[w.home(tenant, r)], r)
			}
			for _, s := range slices.Sorted(maps.Keys(byShard)) {
				w.commit(s, how{}, part{tenant, fragment.Events, byShard[s]}, part{tenant, fragment.DeadLetters, []fragment.Row{w.letter(noon)}})
			}
		}
	}
}

// busiest is the shard with the longest log.
func (w *world) busiest() event.ShardID {
	best := w.states[0]
	for _, s := range w.states {
		if s.Position() > best.Position() {
			best = s
		}
	}
	return best.Shard()
}

func (w *world) open() *View {
	w.t.Helper()
	v, err := Open(w.ctx, w.store, quiet)
	w.must(err)
	return v
}

func (w *world) openDamaged() *View {
	w.t.Helper()
	v, err := OpenDamaged(w.ctx, w.store, quiet)
	w.must(err)
	return v
}

// expect verifies, and wants failures of this check alone; none of "".
func (w *world) expect(check Check, place string) {
	w.t.Helper()
	r, err := w.openDamaged().Verify(w.ctx, []IntakeRange{{Topic: "events", Source: w.intake, Committed: w.offset}}, "")
	w.must(err)
	for _, c := range checks {
		res := r.Results[c]
		if failed := res.Failed > 0; failed != (c == check) {
			w.t.Errorf("%q: %d failures: %v", c, res.Failed, res.Examples)
		}
		if c == check && !strings.Contains(strings.Join(res.Examples, "\n"), place) {
			w.t.Errorf("%q names %v, want %q", c, res.Examples, place)
		}
		if check == "" && res.Checked == 0 {
			w.t.Errorf("%q looked at nothing", c)
		}
	}
	var out bytes.Buffer
	w.must(r.Write(&out))
	if check != "" && !strings.Contains(out.String(), "FAILED "+string(check)) {
		w.t.Errorf("the report does not say what failed:\n%s", out.String())
	}
}

// anyFile returns a live fragment.
func (w *world) anyFile(table shardlog.Table) File {
	for _, tenant := range w.open().Tenants() {
		if files := w.open().Files(tenant, table, Always); len(files) > 0 {
			return files[0]
		}
	}
	w.t.Fatal("no file")
	return File{}
}

func (w *world) overwrite(key string, change func([]byte) []byte) {
	w.t.Helper()
	body, err := w.store.Get(w.ctx, key)
	w.must(err)
	w.must(w.store.Put(w.ctx, key, change(bytes.Clone(body))))
}

func flip(b []byte) []byte { b[len(b)/2] ^= 1; return b }

func TestAGoodStorePasses(t *testing.T) {
	w := newWorld(t)
	w.fill()
	w.expect("", "")
	w.must(w.logs[0].Checkpoint(w.ctx, w.states[0]))
	w.fill2()
	w.expect("", "")
}

// fill2 goes on in another bucket.
func (w *world) fill2() {
	r := w.row("later", noon+event.Timestamp(2*time.Hour)-event.Timestamp(24*time.Hour))
	w.commit(w.home("acme", r), how{}, part{"acme", fragment.Events, []fragment.Row{r}})
}

// TestExpiredRowsAreNoBreach: ids stay longer than the rows below a floor.
func TestExpiredRowsAreNoBreach(t *testing.T) {
	w := newWorld(t)
	w.fill()
	for id, s := range w.states {
		floor := noon + event.Timestamp(2*time.Hour)
		won, _, err := w.logs[id].Append(w.ctx, s, &shardlog.Record{Kind: shardlog.KindExpire, Expire: &shardlog.Expire{Floors: []shardlog.Floor{
			{Tenant: "acme", Table: shardlog.TableEvents, Floor: floor},
			{Tenant: "acme", Table: shardlog.TableDeadLetters, Floor: floor},
		}}})
		w.must(err)
		if !won {
			t.Fatal("lost a race")
		}
	}
	if n := len(w.open().Files("acme", shardlog.TableEvents, Always)); n != 0 {
		t.Fatalf("%d files of acme are live", n)
	}
	w.expect("", "")
}

func TestRowsOfASpan(t *testing.T) {
	w := newWorld(t)
	w.fill()
	w.fill2()
	count := func(s Span) (n int) {
		for e, err := range w.open().Events(w.ctx, "acme", s) {
			w.must(err)
			if e.Timestamp < s.From || e.Timestamp >= s.To {
				t.Errorf("%s is outside of [%s, %s)", e.Timestamp, s.From, s.To)
			}
			n++
		}
		return n
	}
	for _, tc := range []struct {
		span Span
		want int
	}{
		{Always, 11}, {Span{noon, Always.To}, 10}, {Span{Always.From, noon}, 1}, {Span{}, 0}, {Span{noon, noon}, 0},
		{Span{From: noon, To: noon + 1}, 1}, {Span{From: noon + 1, To: noon + 5}, 4}, {Span{From: noon + 5, To: noon + 1e9}, 0},
	} {
		if got := count(tc.span); got != tc.want {
			t.Errorf("[%s, %s): %d events, want %d", tc.span.From, tc.span.To, got, tc.want)
		}
	}
	letters := 0
	for l, err := range w.open().Letters(w.ctx, "acme", Always) {
		w.must(err)
		if l.Reason != event.ReasonMalformed {
			t.Errorf("reason %s", l.Reason)
		}
		letters++
	}
	var rows, sums int64
	for _, s := range w.open().Where("acme") {
		rows, sums = rows+s.Rows, sums+s.Letters
	}
	if rows != 11 || sums != int64(letters) || letters == 0 {
		t.Errorf("where: %d rows, %d letters; read %d letters", rows, sums, letters)
	}
	if at := w.open().LastCommit(w.busiest()); time.Since(at) > time.Minute {
		t.Errorf("last commit %s", at)
	}
}

func TestNoStore(t *testing.T) {
	if _, err := Open(t.Context(), objstore.NewMemory(), quiet); err == nil || !strings.Contains(err.Error(), "togo.json") {
		t.Errorf("got %v", err)
	}
}
