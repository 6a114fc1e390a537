package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
	"github.com/togodb/togo/placements"
)

// watch holds the invariants of the protocols against every object that lands. What it
// knows it has worked out itself, beside the code that it watches; that
// the code's own fold takes each record is asked on top.
type watch struct {
	w     *world
	logs  map[event.ShardID]*logWatch
	named map[string]bool // objects that some record refers to
	table *placements.Table
	tail  tail // of the placement chain

	records map[shardlog.Kind]int // of all logs
	trims   map[string]*trimmed   // by the chain's prefix
	keeping keeping
}

// tail is the newest record of a chain, to which the next must be linked.
type tail struct {
	nonce  string
	stored []byte
}

func (t *tail) isPrev(nonce, sum string) bool {
	return nonce == t.nonce && sum == objstore.Sum(t.stored)
}

// logWatch is one shard's log as it must be.
type logWatch struct {
	state *shardlog.State // by the code's own fold
	head  chain.Position
	tail
	epoch shardlog.Epoch
	owned bool
	seq   uint64
	next  map[shardlog.Source]int64
	open  map[shardlog.Source]map[int64]bool
	objects
	lowWater uint64 // of the epoch's uploads: those below are committed or given up
}

func newWatch(w *world) *watch {
	return &watch{w: w, logs: map[event.ShardID]*logWatch{}, named: map[string]bool{}, table: placements.Empty(w.hasher), records: map[shardlog.Kind]int{}, trims: map[string]*trimmed{},
		keeping: keeping{values: map[event.TenantID]tenants.Values{}, shortest: map[keptTable]time.Duration{}}}
}

func (v *watch) log(id event.ShardID) *logWatch {
	l := v.logs[id]
	if l == nil {
		l = &logWatch{state: shardlog.NewState(id), next: map[shardlog.Source]int64{}, open: map[shardlog.Source]map[int64]bool{}, objects: newObjects()}
		v.logs[id] = l
	}
	return l
}

// isHint: hints are the only objects that change: which placements are the newest, and when a shard's share of the store was listed.
func isHint(key string) bool {
	return key == "placements/newest" || strings.HasPrefix(key, "shards/") && strings.HasSuffix(key, "/listed")
}

// beforePut: who overwrites an object writes the same bytes again.
func (v *watch) beforePut(key string, body []byte) error {
	old, err := v.w.objects.Get(context.Background(), key)
	if err == nil && !bytes.Equal(old, body) && !isHint(key) {
		return fmt.Errorf("object %s is overwritten with other bytes", key)
	}
	return nil
}

// created looks at an object that a process created.
func (v *watch) created(by, key string, body []byte) error {
	if prefix, kind, p := chainOf(key); kind == "base" {
		return v.marked(prefix, p)
	} else if t := v.trim(prefix); kind == "log" && p <= t.base {
		t.phantom++ // nobody may believe in it; who does gives himself away by what he writes next
		return nil
	}
	parts := strings.Split(key, "/")
	switch {
	case strings.HasPrefix(key, "tenants/log/"):
		return v.settingsChanged(body)
	case strings.HasPrefix(key, "placements/log/"):
		return v.placed(parts[2], body)
	case parts[0] == "shards" && len(parts) == 4:
		n, err := strconv.Atoi(parts[1])
		if err != nil {
			return err
		}
		switch parts[2] {
		case "log":
			return v.appended(v.log(event.ShardID(n)), by, parts[3], body)
		case "checkpoint":
			p, err := chain.ParsePosition(parts[3])
			if err == nil && p > v.log(event.ShardID(n)).head {
				err = fmt.Errorf("checkpoint at %d, the log ends at %d", p, v.log(event.ShardID(n)).head)
			}
			return err
		}
	}
	return nil
}

// appended: the history is linear, has one owner an epoch, and names nothing that is
// not there.
func (v *watch) appended(l *logWatch, by, name string, body []byte) error {
	r, err := shardlog.Decode(body)
	if err != nil {
		return err
	}
	p, err := chain.ParsePosition(name)
	switch {
	case err != nil:
		return err
	case p != l.head+1 || r.Position != p:
		return fmt.Errorf("record %d behind %d", p, l.head)
	case l.head > 0 && (r.Prev == nil || !l.isPrev(r.Prev.Nonce, r.Prev.Sum)):
		return errors.New("the record is not linked to its predecessor")
	}
	switch r.Kind {
	case shardlog.KindClaim:
		if r.Claim.Epoch != l.epoch+1 {
			return fmt.Errorf("claim with epoch %d after %d", r.Claim.Epoch, l.epoch)
		}
		l.epoch, l.owned, l.lowWater = r.Claim.Epoch, true, 0
	case shardlog.KindRelease:
		if r.Release.Epoch != l.epoch || !l.owned {
			return fmt.Errorf("release of epoch %d in epoch %d", r.Release.Epoch, l.epoch)
		}
		l.owned = false
	case shardlog.KindAppend:
		if err := v.append(l, r.Append); err != nil {
			return err
		}
	case shardlog.KindGap:
		l.gap(r.Gap)
	case shardlog.KindMergeBegin:
		err = l.begin(&r)
	case shardlog.KindMergeEnd:
		err = v.end(l, r.MergeEnd)
	case shardlog.KindMergeAbort:
		_, err = l.closeJob(r.MergeAbort.Job)
	case shardlog.KindQuarantine:
		err = v.setAside(l, r.Quarantine)
	case shardlog.KindExpire:
		err = v.expired(l, by, r.Expire)
	}
	if err != nil {
		return err
	}
	v.w.Detail(r.Line)
	v.records[r.Kind]++
	if err := l.state.Apply(r, body); err != nil {
		return fmt.Errorf("the fold refuses the record: %w", err)
	}
	if r.Kind == shardlog.KindExpire || r.Kind == shardlog.KindErase {
		l.dropped(v)
	}
	l.head, l.tail = p, tail{r.Nonce, body}
	return nil
}

func (v *watch) append(l *logWatch, a *shardlog.Append) error {
	if a.Epoch != l.epoch || !l.owned {
		return fmt.Errorf("append of epoch %d in epoch %d (owned: %v)", a.Epoch, l.epoch, l.owned)
	}
	if a.Seq <= l.seq {
		return fmt.Errorf("append number %d after %d", a.Seq, l.seq)
	}
	l.seq = a.Seq
	l.lowWater = a.LowWater
	for i := range a.Fragments {
		if err := v.refer(l, object{fragment: &a.Fragments[i]}); err != nil {
			return err
		}
	}
	if a.IDs != nil {
		if err := v.refer(l, object{segment: a.IDs}); err != nil {
			return err
		}
	}
	for _, p := range a.Progress {
		for other, open := range l.open {
			if other != p.Source && len(open) > 0 {
				return fmt.Errorf("reading goes on in %s, with %d open offsets in %s that nobody gave up", p.Source, len(open), other)
			}
		}
		if err := l.progress(&p); err != nil {
			return fmt.Errorf("%s: %w", p.Source, err)
		}
	}
	return nil
}

// progress: every offset is closed once, and holds a record: there is nothing else in the
// shard topic, so what is taken for control offsets are records that Kafka lost.
func (l *logWatch) progress(p *shardlog.Progress) error {
	if p.Control != 0 {
		return fmt.Errorf("%d offsets in [%d,%d) are stepped over as control", p.Control, p.From, p.Next)
	}
	if next, ok := l.next[p.Source]; ok && p.From != next {
		return fmt.Errorf("progress from %d, committed is %d", p.From, next)
	}
	open := l.open[p.Source]
	if open == nil {
		open = map[int64]bool{}
		l.open[p.Source] = open
	}
	for _, r := range p.Closed {
		for o := r.From; o < r.Next; o++ {
			if !open[o] {
				return fmt.Errorf("offset %d is closed again", o)
			}
			delete(open, o)
		}
	}
	for _, r := range p.Opened {
		for o := r.From; o < r.Next; o++ {
			if o < p.From || o >= p.Next {
				return fmt.Errorf("offset %d is opened outside of [%d,%d)", o, p.From, p.Next)
			}
			open[o] = true
		}
	}
	l.next[p.Source] = p.Next
	return nil
}

func (l *logWatch) gap(g *shardlog.Gap) {
	for _, r := range g.Lost {
		for o := range l.open[g.Source] {
			if o >= r.From && o < r.Next {
				delete(l.open[g.Source], o)
			}
		}
	}
	l.next[g.Source] = g.Next
}

// closed says whether a record of a shard's source is committed. One of a later leader
// epoch than was committed has the offset of a record that was cut off.
func (v *watch) closed(id event.ShardID, src event.Source, r *record) bool {
	l := v.log(id)
	s := shardlog.SourceFrom(src)
	state, _ := l.state.SourceOf(s)
	return r.offset < l.next[s] && !l.open[s][r.offset] && r.epoch <= state.LeaderEpoch
}

// placed: the horizon never falls, and nothing below it ever changes.
func (v *watch) placed(name string, body []byte) error {
	r, err := placements.DecodeRecord(body)
	if err != nil {
		return err
	}
	p, err := chain.ParsePosition(name)
	switch {
	case err != nil:
		return err
	case r.Version != v.table.Version()+1 || r.Version.Position() != p:
		return fmt.Errorf("placement version %d behind %d", p, v.table.Version())
	case r.Version > 1 && (r.Prev == nil || !v.tail.isPrev(r.Prev.Nonce, r.Prev.Sum)):
		return errors.New("the placement record is not linked to its predecessor")
	}
	next, err := v.table.Apply(r, body)
	if err != nil {
		return fmt.Errorf("the fold refuses the placement record: %w", err)
	}
	if next.Horizon() < v.table.Horizon() {
		return fmt.Errorf("the horizon falls from %s to %s", v.table.Horizon(), next.Horizon())
	}
	if err := v.unmoved(next); err != nil {
		return err
	}
	v.table, v.tail = next, tail{r.Nonce, body}
	return nil
}

// unmoved asks old and new table for the shards of what was sent lately.
func (v *watch) unmoved(next *placements.Table) error {
	sent := v.w.ledger.sent
	for i := max(0, len(sent)-50); i < len(sent); i++ {
		s := sent[i]
		ts := event.Timestamp(s.ts)
		if ts >= v.table.Horizon() {
			continue
		}
		h := v.w.hasher.Routing([]byte(s.ids[0]))
		before, _ := v.table.Shard(event.TenantID(s.tenant), ts, h)
		if after, ok := next.Shard(event.TenantID(s.tenant), ts, h); !ok || before != after {
			return fmt.Errorf("version %d moves %s at %s, below the horizon %s of the version before, from shard %d to %d",
				next.Version(), s.tenant, ts, v.table.Horizon(), before, after)
		}
		topic := s.topic.name
		if kafka := event.Timestamp(s.at.UnixNano()); kafka < v.table.Horizon() {
			a, _ := v.table.Mapping(topic, kafka)
			if b, ok := next.Mapping(topic, kafka); !ok || a.ID[0] != b.ID[0] {
				return fmt.Errorf("version %d changes the mapping of %s at %s, below the horizon %s", next.Version(), topic, kafka, v.table.Horizon())
			}
		}
	}
	return nil
}
