package shard

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"strconv"
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

// world is a Kafka partition, a store and writers that share them, all under
// the hand of a test: nothing happens but what it asks for.
type world struct {
	t      testing.TB
	hasher *event.Hasher
	table  *placements.Table
	store  *objstore.Memory
	log    *shardlog.Log
	files  map[string]FilePlan // what was uploaded, by key

	source event.Source // the topic as it is now
	parts  map[event.Source]*partition
	intake int64 // next offset of the one intake partition

	now     time.Time
	nonces  int
	config  Config
	writers map[string]*writer
	out     strings.Builder
}

// partition is one incarnation of the shard topic's partition.
type partition struct {
	records []Record // ascending; holes hold nothing
	start   int64
	end     int64
	epoch   int32
	cuts    map[int32]int64 // where a leader epoch ended
}

// writer is a core and what it waits for.
type writer struct {
	name    string
	core    *Core
	queue   []Effect
	held    []Effect
	hold    map[string]bool
	source  event.Source
	reading bool
	paused  bool
	at      int64
	epoch   int32
	gen     Generation
	batch   int
	stopped *Stop
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var quiet = slog.New(slog.DiscardHandler)

func newWorld(t testing.TB) *world {
	w := &world{
		t: t, hasher: event.NewHasher(event.Seed{1, 2, 3}), store: objstore.NewMemory(),
		files: map[string]FilePlan{}, parts: map[event.Source]*partition{}, now: start, writers: map[string]*writer{},
		config: Config{
			FlushBytes: 1 << 20, FlushAge: 5 * time.Second, SmallTenantBytes: 0, SmallTenantAge: time.Minute,
			MemoryBytes: 64 << 20, ParkedBytes: 8 << 20, DedupBytes: 8 << 20, DedupTenantBytes: 4 << 20,
			MaxOpen: 1000, LateAfter: 30 * time.Second,
		},
	}
	w.log = shardlog.OpenWith(w.store, 0, shardlog.Config{Parallel: 1, Logger: quiet, Now: func() time.Time { return w.now },
		NewNonce: func() string { w.nonces++; return fmt.Sprintf("%032x", w.nonces) }})
	keeper, err := placements.NewKeeper(placements.Config{Store: w.store, Hasher: w.hasher, Logger: quiet, Now: func() time.Time { return w.now }})
	w.must(err)
	_, err = keeper.Init(context.Background(), placements.NewGenesis(1))
	w.must(err)
	w.table, err = keeper.Extend(context.Background(), event.Timestamp(w.now.Add(time.Minute).UnixNano()))
	w.must(err)
	w.newTopic("T1")
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) newTopic(name string) {
	src := event.Source{Cluster: "k"}
	copy(src.Topic[:], name)
	w.source = src
	w.parts[src] = &partition{cuts: map[int32]int64{}}
}

func (w *world) part() *partition { return w.parts[w.source] }

func (p *partition) add(r Record) {
	r.Offset, r.LeaderEpoch = p.end, p.epoch
	p.records = append(p.records, r)
	p.end++
}

// from is the first records at or after an offset, in memory that is lent.
func (p *partition) from(offset int64, n int) []Record {
	i := sort.Search(len(p.records), func(i int) bool { return p.records[i].Offset >= offset })
	records := slices.Clone(p.records[i:min(len(p.records), i+n)])
	for i := range records {
		l := &lent{value: bytes.Clone(records[i].Value)}
		records[i].Value, records[i].Memory = l.value, l
	}
	return records
}

// lent is memory that somebody else writes to as soon as it was given back.
type lent struct {
	value []byte
	back  bool
}

func (l *lent) Recycle() {
	if l.back {
		panic("memory was given back twice")
	}
	l.back = true
	for i := range l.value {
		l.value[i] ^= 0x55
	}
}

// check is what Kafka says of a position.
func (p *partition) check(offset int64, epoch int32) *Trouble {
	if end, ok := p.cuts[epoch]; ok && epoch >= 0 && end < offset {
		return &Trouble{Kind: HistoryCut, Start: p.start, End: p.end, EpochEnd: end}
	}
	if offset < p.start || offset > p.end {
		return &Trouble{Kind: OutOfRange, Start: p.start, End: p.end}
	}
	return nil
}

// epochEnd is where a leader epoch ended.
func (p *partition) epochEnd(epoch int32) (int64, error) {
	if end, ok := p.cuts[epoch]; ok {
		return end, nil
	}
	return p.end, nil
}

// accept is the gap of an operator who accepts what a source has lost.
func (w *world) accept(source event.Source) *shardlog.Gap {
	s, err := w.log.Load(context.Background())
	w.must(err)
	src, _ := s.SourceOf(shardlog.SourceFrom(source))
	p := w.parts[source]
	has := shardlog.Kept{Current: source == w.source, Start: p.start, End: p.end}
	w.must(has.Ask(src, p.epochEnd))
	there := has.There()
	for o := there.From; o < there.Next; o++ {
		if i := sort.Search(len(p.records), func(i int) bool { return p.records[i].Offset >= o }); i == len(p.records) || p.records[i].Offset != o {
			has.Gone = shardlog.AddRanges(has.Gone, []shardlog.Range{{From: o, Next: o + 1}})
		}
	}
	return s.Accept(src, has, -1, "test", "me")
}

// parseItems reads "id@seconds=payload", "!reason=payload" and "~offsets",
// each with "#offset" to name its intake offset.
func (w *world) envelope(line string) []byte {
	tenant, rest, _ := strings.Cut(line, ":")
	env := event.Envelope{Tenant: event.TenantID(tenant), PlacementVersion: uint64(w.table.Version())}
	offset, index := w.intake, int32(0)
	w.intake++
	for _, word := range strings.Fields(rest) {
		word, at, explicit := strings.Cut(word, "#")
		it := event.Item{Kind: event.KindEvent, Format: event.FormatJSON}
		it.Origin = event.Origin{Source: event.Source{Cluster: "in"}, Offset: offset, Index: index, LeaderEpoch: 1}
		if explicit {
			n, err := strconv.ParseInt(at, 10, 64)
			w.must(err)
			it.Origin.Offset, it.Origin.Index = n, 0
		} else {
			index++
		}
		it.FirstSeen = event.Timestamp((1_000_000 + it.Origin.Offset) * 1e9)
		head, payload, _ := strings.Cut(word, "=")
		it.Payload = []byte(payload)
		switch {
		case strings.HasPrefix(head, "~"):
			n, err := strconv.ParseInt(head[1:], 10, 64)
			w.must(err)
			it.Kind, it.SkipTo, it.Payload, it.Format = event.KindSkipped, offset+n, nil, 0
			w.intake = offset + n
		case strings.HasPrefix(head, "!"):
			it.Kind, it.Reason = event.KindDead, event.Reason(head[1:])
		default:
			id, sec, _ := strings.Cut(head, "@")
			ts, err := strconv.ParseInt(sec, 10, 64)
			w.must(err)
			it.Timestamp, it.ID, it.HasID = event.Timestamp(ts*1e9), []byte(id), id != "-"
			if !it.HasID {
				it.ID = event.PositionID(it.Origin)
			}
		}
		env.Items = append(env.Items, it)
	}
	return event.AppendEnvelope(nil, &env)
}

// claim makes a writer the owner.
func (w *world) claim(name string) *writer {
	s, err := w.log.Load(context.Background())
	w.must(err)
	epoch, nonce, err := w.log.Claim(context.Background(), s, name, "i-"+name)
	w.must(err)
	wr := &writer{name: name, hold: map[string]bool{}, batch: 1000}
	wr.core = New(Params{
		Shard: 0, Owner: name, Epoch: epoch, Nonce: nonce[len(nonce)-4:], Hasher: w.hasher,
		DataBucketSeconds: 3600, IDBucketSeconds: 600, Config: w.config,
	}, w.now)
	w.writers[name] = wr
	w.step(wr, Loaded{State: s, Table: w.table})
	w.step(wr, Topic{Source: w.source, Name: "shards"})
	return wr
}

func (w *world) step(wr *writer, in Input) {
	wr.queue = append(wr.queue, wr.core.Step(w.now, in)...)
}

// run does what a writer wants until it wants nothing, or only what is held.
func (w *world) run(wr *writer) {
	for i := 0; i < 100_000; i++ {
		if len(wr.queue) > 0 {
			e := wr.queue[0]
			wr.queue = wr.queue[1:]
			if wr.hold[kind(e)] {
				wr.held = append(wr.held, e)
				continue
			}
			w.do(wr, e)
			continue
		}
		if !w.fetch(wr) {
			return
		}
	}
	w.t.Fatal("a writer never rests")
}

func kind(e Effect) string { return strings.TrimPrefix(fmt.Sprintf("%T", e), "shard.") }

// fetch brings the next batch, if there is one.
func (w *world) fetch(wr *writer) bool {
	if !wr.reading || wr.paused {
		return false
	}
	p := w.parts[wr.source]
	if trouble := p.check(wr.at, wr.epoch); trouble != nil {
		wr.reading = false
		w.step(wr, KafkaTrouble{wr.gen, wr.source, *trouble})
		return true
	}
	records := p.from(wr.at, wr.batch)
	if len(records) == 0 {
		return false
	}
	last := records[len(records)-1]
	wr.at, wr.epoch = last.Offset+1, last.LeaderEpoch
	w.step(wr, Batch{Gen: wr.gen, Source: wr.source, Records: records, LogStart: p.start, End: p.end})
	return true
}

// do carries one effect out and brings its answer.
func (w *world) do(wr *writer, e Effect) {
	ctx := context.Background()
	switch e := e.(type) {
	case Inspect:
		p := w.parts[e.Source]
		in := Inspected{Gen: e.Gen, Source: e.Source, Start: p.start, End: p.end}
		if e.Offset >= 0 {
			in.Trouble = p.check(e.Offset, e.LeaderEpoch)
		}
		w.step(wr, in)
	case ReadFrom:
		w.logf(wr, "read from %d", e.Offset)
		wr.reading, wr.paused, wr.source, wr.at, wr.epoch, wr.gen = true, false, e.Source, e.Offset, e.LeaderEpoch, e.Gen
	case Pause:
		w.logf(wr, "pause")
		wr.paused = true
	case Resume:
		w.logf(wr, "resume")
		wr.paused = false
	case ReadIDs:
		data, err := w.store.GetRange(ctx, e.Load.Key, e.Load.Offset, e.Load.Length)
		w.step(wr, IDsRead{e.Gen, e.Load, data, err})
	case NeedPlacements:
		w.step(wr, Placements{w.table})
	case Encode:
		w.step(wr, w.encode(e))
	case Append:
		won, found, stored, err := w.log.Settle(ctx, e.Head, e.Record)
		w.logf(wr, "%s at %d: %s", e.Record.Kind, uint64(found.Position), settled(won, found))
		if won && found.Append != nil {
			w.logAppend(found.Append)
		}
		w.step(wr, Appended{e.Gen, won, found, stored, err})
	case Checkpoint:
		w.must(w.log.WriteCheckpoint(ctx, e.Plan))
		w.step(wr, Checkpointed{e.Gen, e.Plan, nil})
	case CommitGroup:
	case Reload:
		w.logf(wr, "reload: %s", e.Why)
		wr.reading = false
		w.reload(wr)
	case Stop:
		wr.reading = false
		wr.stopped = &e
		w.logf(wr, "stop: %s: %v", e.Reason, e.Err)
	default:
		w.t.Fatalf("unknown effect %T", e)
	}
}

func settled(won bool, found shardlog.Record) string {
	if won {
		return "won"
	}
	return "found a " + string(found.Kind)
}

func (w *world) reload(wr *writer) {
	s, err := w.log.Load(context.Background())
	w.must(err)
	w.step(wr, Loaded{State: s, Table: w.table})
	w.step(wr, Topic{Source: w.source, Name: "shards"})
}

// encode "uploads" a flight.
func (w *world) encode(e Encode) Encoded {
	in := Encoded{Gen: e.Gen, Flight: e.Flight}
	for _, f := range e.Files {
		if _, twice := w.files[f.Key]; twice {
			w.t.Fatalf("%s is uploaded twice", f.Key)
		}
		f.Input.Rows = slices.Clone(f.Input.Rows)
		for i, r := range f.Input.Rows {
			f.Input.Rows[i].Payload, f.Input.Rows[i].ID = slices.Clone(r.Payload), slices.Clone(r.ID)
		}
		w.files[f.Key] = f
		in.Files = append(in.Files, fileOf(f))
	}
	in.IDs = w.encodeIDs(e.IDs)
	return in
}

// fileOf is what an uploaded fragment is said to be.
func fileOf(p FilePlan) EncodedFile {
	file := EncodedFile{Rows: int64(len(p.Input.Rows)), Bytes: 1, Sum: objstore.Sum([]byte(p.Key)), Min: 1<<63 - 1, Max: -1 << 63}
	for _, r := range p.Input.Rows {
		file.Min, file.Max = min(file.Min, r.Timestamp), max(file.Max, r.Timestamp)
	}
	return file
}

func (w *world) encodeIDs(p *IDPlan) *EncodedIDs {
	if p == nil {
		return nil
	}
	body, buckets, err := idseg.Encode(p.Entries, idseg.DefaultConfig())
	w.must(err)
	w.must(w.store.PutIfAbsent(context.Background(), p.Key, body))
	return &EncodedIDs{Bytes: int64(len(body)), Sum: objstore.Sum(body), Buckets: buckets}
}

func (w *world) logf(wr *writer, format string, args ...any) {
	fmt.Fprintf(&w.out, "%s: %s\n", wr.name, fmt.Sprintf(format, args...))
}

func (w *world) logAppend(a *shardlog.Append) {
	for _, p := range a.Progress {
		fmt.Fprintf(&w.out, "  [%d,%d) opened %v closed %v: %d records, %d control\n", p.From, p.Next, p.Opened, p.Closed, p.Records, p.Control)
	}
	l := a.Ledger
	fmt.Fprintf(&w.out, "  %d events: %d stored, %d duplicate, %d conflict, %d dead\n", l.Events, l.Stored, l.Duplicate, l.Conflict, l.Dead)
	for _, f := range a.Fragments {
		fmt.Fprintf(&w.out, "  %s: %d rows\n", f.Key, f.Rows)
	}
	if a.IDs != nil {
		fmt.Fprintf(&w.out, "  %s: %d ids\n", a.IDs.Key, a.IDs.IDs)
	}
}

// rows are the live rows of the store, as text, sorted.
func (w *world) rows() []string {
	s, err := w.log.Load(context.Background())
	w.must(err)
	var out []string
	s.Fragments("", -1<<40, 1<<40, func(f shardlog.Fragment) bool {
		plan, ok := w.files[f.Key]
		if !ok {
			w.t.Fatalf("%s is committed and was never uploaded", f.Key)
		}
		for _, r := range plan.Input.Rows {
			out = append(out, rowText(f.Tenant, plan.Input.Kind, r))
		}
		return true
	})
	slices.Sort(out)
	return out
}

func rowText(tenant event.TenantID, k fragment.Kind, r fragment.Row) string {
	if k == fragment.DeadLetters {
		return fmt.Sprintf("%s letter of %d: %s=%s", tenant, r.Offset, r.Letter.Reason, r.Payload)
	}
	return fmt.Sprintf("%s %s@%d=%s", tenant, r.ID, int64(r.Timestamp)/1e9, r.Payload)
}
