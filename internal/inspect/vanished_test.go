package inspect

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

func (w *world) append(shard event.ShardID, r *shardlog.Record) {
	w.t.Helper()
	won, _, err := w.logs[shard].Append(w.ctx, w.states[shard], r)
	w.must(err)
	if !won {
		w.t.Fatal("lost a race")
	}
}

// TestWhatWasCollectedSinceTheViewIsNoBreach: a view is older than a collection. Reading on
// says so, verifying passes over it; what the log still names is missing all the same.
func TestWhatWasCollectedSinceTheViewIsNoBreach(t *testing.T) {
	w := newWorld(t)
	w.fill()
	v := w.open()
	files := v.Files("acme", shardlog.TableEvents, Always)
	for id := range w.states {
		w.append(event.ShardID(id), &shardlog.Record{Kind: shardlog.KindExpire, Expire: &shardlog.Expire{Floors: []shardlog.Floor{
			{Tenant: "acme", Table: shardlog.TableEvents, Floor: noon + event.Timestamp(2*time.Hour)},
		}}})
	}
	for _, f := range files {
		w.must(w.store.Delete(w.ctx, f.Key))
	}
	r, err := v.Verify(w.ctx, nil, "")
	w.must(err)
	if r.Failed() > 0 || r.Vanished != int64(len(files)) || r.Results[CheckObjects].Note == "" {
		t.Errorf("%d failed, %d of %d vanished, %q: %v", r.Failed(), r.Vanished, len(files), r.Results[CheckObjects].Note, r.Results[CheckObjects].Examples)
	}
	var last error
	for _, err := range v.Events(w.ctx, "acme", Always) {
		last = err
	}
	if !errors.Is(last, ErrVanished) {
		t.Errorf("reading on: %v", last)
	}
	w.expect("", "")

	left := w.open().Files("globex", shardlog.TableEvents, Always)
	w.must(w.store.Delete(w.ctx, left[0].Key))
	w.expect(CheckObjects, left[0].Key)
	for _, err := range w.open().Events(w.ctx, "globex", Always) {
		last = err
	}
	if errors.Is(last, ErrVanished) || !errors.Is(last, objstore.ErrNotFound) {
		t.Errorf("a file that the log names is missing: %v", last)
	}
}

// TestWhatWasSetAsideIsNoBreach: its rows are out of sight, its identities stay.
func TestWhatWasSetAsideIsNoBreach(t *testing.T) {
	w := newWorld(t)
	w.fill()
	f := w.anyFile(shardlog.TableEvents)
	w.overwrite(f.Key, flip)
	w.append(f.Shard, &shardlog.Record{Kind: shardlog.KindQuarantine, Quarantine: &shardlog.Quarantine{Key: f.Key, Reason: "flipped"}})
	w.expect("", "")
	if slices.ContainsFunc(w.open().Files(f.Tenant, f.Table, Always), func(o File) bool { return o.Key == f.Key }) {
		t.Error("what was set aside is still read")
	}
}

// TestDroppedIdentitiesAreNoBreach: below the end of the ids a merge of segments leaves them out, and a
// row may still be there, in a file that reaches above its floor.
func TestDroppedIdentitiesAreNoBreach(t *testing.T) {
	w := newWorld(t)
	w.fill()
	below := int64(noon)/1e9 + 1200
	x := &shardlog.Expire{IDsBelow: &below}
	for _, table := range []shardlog.Table{shardlog.TableEvents, shardlog.TableDeadLetters} {
		x.Floors = append(x.Floors, shardlog.Floor{Table: table, Floor: event.Timestamp(below * 1e9)})
	}
	w.append(0, &shardlog.Record{Kind: shardlog.KindExpire, Expire: x})
	v := w.open()
	for bucket, want := range map[int64]int64{below - 600: 0, below: 1} {
		r := newReport()
		l := newIDLedger()
		l.row(0, "acme", bucket, event.Hash{1})
		l.compare(r, v)
		if r.Failed() != want {
			t.Errorf("a row of id bucket %d without its identity, which went below %d: %d failures", bucket, below, r.Failed())
		}
	}
}
