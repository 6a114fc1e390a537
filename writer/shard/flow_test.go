package shard

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/shardlog"
)

// flow runs one writer in a time of its own, in which records arrive and the store
// takes a while for each request, so that what a user would see in an hour is
// measured in a second, and is the same each time.
type flow struct {
	*world
	wr      *writer
	due     dues
	seq     int
	reading int // reads of identities under way
	reads   []ReadIDs
	down    func(time.Time) bool // writes fail meanwhile; nil: never
	stuck   func(time.Time) bool // and commits alone; nil: never

	fresh    map[event.TenantID][]time.Duration // of each row stored, from its arrival to its commit
	files    map[event.TenantID]int
	puts     int // all writes to the store
	idReads  int
	commits  int
	memory   int64 // the most that was held
	sent     int64
	onCommit func(*shardlog.Append) // may be nil
}

// What a request takes, as of a store in the same region.
const (
	readTime    = 30 * time.Millisecond
	appendTime  = 40 * time.Millisecond
	uploadTime  = 40 * time.Millisecond
	encodeTime  = 50 * time.Millisecond
	uploaders   = 16
	readers     = 8
	tickTime    = 250 * time.Millisecond
	arrivalTime = 50 * time.Millisecond // records gathered by a router
)

type dueAt struct {
	at  time.Time
	seq int
	do  func()
}

type dues []dueAt

func (d dues) Len() int { return len(d) }
func (d dues) Less(i, j int) bool {
	return cmp.Or(d[i].at.Compare(d[j].at), cmp.Compare(d[i].seq, d[j].seq)) < 0
}
func (d dues) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d *dues) Push(x any)   { *d = append(*d, x.(dueAt)) }
func (d *dues) Pop() any {
	old := *d
	x := old[len(old)-1]
	*d = old[:len(old)-1]
	return x
}

func newFlow(t *testing.T, change func(*Config)) *flow {
	f := &flow{world: newWorld(t), fresh: map[event.TenantID][]time.Duration{}, files: map[event.TenantID]int{}}
	d := Defaults()
	d.MemoryBytes, d.ParkedBytes, d.DedupBytes, d.DedupTenantBytes = 64<<20, 16<<20, 16<<20, 8<<20
	change(&d)
	f.config = d
	return f
}

func (f *flow) after(d time.Duration, do func()) {
	f.seq++
	heap.Push(&f.due, dueAt{f.now.Add(d), f.seq, do})
}

// ev is an event of a flow.
type ev struct {
	at      time.Time
	id      string
	payload []byte
}

// arrive produces one record of the shard topic.
func (f *flow) arrive(tenant event.TenantID, events ...ev) {
	env := event.Envelope{Tenant: tenant, PlacementVersion: uint64(f.table.Version())}
	for i, e := range events {
		it := event.Item{Kind: event.KindEvent, Format: event.FormatJSON, Timestamp: event.Timestamp(e.at.UnixNano()), ID: []byte(e.id), HasID: true,
			FirstSeen: event.Timestamp(f.now.UnixNano()), Payload: e.payload}
		it.Origin = event.Origin{Source: event.Source{Cluster: "in"}, Offset: f.intake, Index: int32(i)}
		env.Items = append(env.Items, it)
		f.intake++
	}
	f.sent += int64(len(events))
	f.part().add(Record{Value: event.AppendEnvelope(nil, &env)})
}

// run lets time pass; each arrival period, produce is called with the time so far.
func (f *flow) run(d time.Duration, produce func(at time.Duration)) {
	begin := f.now
	if f.wr == nil {
		f.wr = f.claim("W")
		f.after(0, f.tick)
	}
	end := begin.Add(d)
	var arrivals func()
	arrivals = func() {
		produce(f.now.Sub(begin))
		if f.now.Add(arrivalTime).Before(end) {
			f.after(arrivalTime, arrivals)
		}
	}
	f.after(0, arrivals)
	f.until(end, func() bool { return false })
}

// drain lets time pass until all is stored.
func (f *flow) drain(most time.Duration) {
	f.t.Helper()
	done := func() bool {
		s := f.wr.core.Status(f.now)
		return s.OpenOffsets == 0 && s.Committed == f.part().end
	}
	f.until(f.now.Add(most), done)
	if !done() {
		f.t.Fatalf("not stored within %s: %+v", most, f.wr.core.Status(f.now))
	}
}

func (f *flow) until(end time.Time, done func() bool) {
	for f.due.Len() > 0 && !f.due[0].at.After(end) && !done() {
		d := heap.Pop(&f.due).(dueAt)
		f.now = d.at
		d.do()
		f.work()
	}
	if !done() {
		f.now = end
	}
}

func (f *flow) tick() {
	f.step(f.wr, Tick{})
	f.after(tickTime, f.tick)
}

// work fetches and starts what the core asks for.
func (f *flow) work() {
	for {
		for len(f.wr.queue) > 0 {
			e := f.wr.queue[0]
			f.wr.queue = f.wr.queue[1:]
			f.begin(e)
		}
		if f.wr.stopped != nil {
			f.t.Fatalf("stopped: %v", f.wr.stopped.Err)
		}
		f.memory = max(f.memory, f.wr.core.Status(f.now).MemoryBytes)
		if !f.fetch(f.wr) {
			return
		}
	}
}

func (f *flow) begin(e Effect) {
	switch e := e.(type) {
	case ReadIDs:
		f.idReads++
		f.reads = append(f.reads, e)
		f.readNext()
	case Encode:
		f.encodeAfter(e, encodeTime+uploadTime*time.Duration(len(e.Files)/uploaders+1))
	case Append:
		f.appendAfter(e)
	default:
		f.do(f.wr, e)
	}
}

func (f *flow) readNext() {
	for f.reading < readers && len(f.reads) > 0 {
		e := f.reads[0]
		f.reads = f.reads[1:]
		f.reading++
		f.after(readTime, func() {
			f.reading--
			f.do(f.wr, e)
			f.readNext()
		})
	}
}

// retryTime is the longest pause between two tries of a write.
const retryTime = 5 * time.Second

func (f *flow) encodeAfter(e Encode, d time.Duration) {
	f.after(d, func() {
		if f.down != nil && f.down(f.now) {
			f.encodeAfter(e, retryTime)
			return
		}
		f.puts += len(e.Files)
		for _, p := range e.Files {
			f.files[p.Input.Tenant]++
		}
		if e.IDs != nil {
			f.puts++
		}
		f.step(f.wr, f.upload(e))
	})
}

// upload is world.encode without keeping the rows, but for their arrivals.
func (f *flow) upload(e Encode) Encoded {
	in := Encoded{Gen: e.Gen, Flight: e.Flight}
	for _, p := range e.Files {
		kept := p
		kept.Input.Rows = nil
		for _, r := range p.Input.Rows {
			kept.Input.Rows = append(kept.Input.Rows, fragment.Row{IngestedAt: r.IngestedAt})
		}
		f.world.files[p.Key] = kept
		in.Files = append(in.Files, fileOf(p))
	}
	in.IDs = f.encodeIDs(e.IDs)
	return in
}

func (f *flow) appendAfter(e Append) {
	f.after(appendTime, func() {
		if f.down != nil && f.down(f.now) || f.stuck != nil && f.stuck(f.now) {
			f.after(retryTime, func() { f.appendAfter(e) })
			return
		}
		f.puts++
		won, found, stored, err := f.log.Settle(context.Background(), e.Head, e.Record)
		f.must(err)
		if won && found.Append != nil {
			f.commits++
			if f.onCommit != nil {
				f.onCommit(found.Append)
			}
			for _, file := range found.Append.Fragments {
				for _, r := range f.world.files[file.Key].Input.Rows {
					f.fresh[file.Tenant] = append(f.fresh[file.Tenant], f.now.Sub(time.Unix(0, int64(r.IngestedAt))))
				}
				delete(f.world.files, file.Key)
			}
		}
		f.step(f.wr, Appended{Gen: e.Gen, Won: won, Record: found, Stored: stored, Err: err})
	})
}

// worst is the age below which so much of a tenant's rows were committed.
func (f *flow) worst(tenant event.TenantID, share float64) time.Duration {
	d := slices.Clone(f.fresh[tenant])
	if len(d) == 0 {
		f.t.Fatalf("nothing of %s is stored", tenant)
	}
	slices.Sort(d)
	return d[min(len(d)-1, int(share*float64(len(d))))]
}

func (f *flow) totals() shardlog.Totals {
	s, err := f.log.Load(context.Background())
	f.must(err)
	return s.Totals()
}

// live is a tenant with so many events a second of the last minutes, ten in a record.
func (f *flow) live(tenant event.TenantID, perSecond int, bytes int) func(time.Duration) {
	payload := make([]byte, bytes)
	n := 0
	return func(at time.Duration) {
		for want := int((at + arrivalTime).Seconds() * float64(perSecond)); n < want; {
			var events []ev
			for len(events) < 10 && n < want {
				events = append(events, ev{start.Add(at - 2*time.Hour), fmt.Sprint(tenant, n), payload})
				n++
			}
			f.arrive(tenant, events...)
		}
	}
}
