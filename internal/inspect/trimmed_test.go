package inspect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// trim deletes what can be deleted of a shard's log, after two more checkpoints of its owner.
func (w *world) trim(shard event.ShardID, margin int) (base chain.Position) {
	w.t.Helper()
	for range 2 {
		r := w.rowFor(noon, shard, "acme")
		r.ID = fmt.Appendf(nil, "%s-before-%d", r.ID, w.states[shard].Position())
		for w.home("acme", r) != shard {
			r.ID = append(r.ID, '+')
		}
		w.commit(shard, how{}, part{"acme", fragment.Events, []fragment.Row{r}})
		w.must(w.logs[shard].Checkpoint(w.ctx, w.states[shard]))
	}
	plan, err := w.logs[shard].PlanTrim(w.ctx, margin)
	w.must(err)
	done, err := plan.Do(w.ctx)
	w.must(err)
	if done.Records == 0 {
		w.t.Fatalf("nothing was deleted: %s", plan.Why)
	}
	return plan.Base
}

// TestVerifyOfATrimmedLog: a log whose old records are gone passes; what is wrong with the rest is found, below
// the oldest checkpoint too.
func TestVerifyOfATrimmedLog(t *testing.T) {
	w := newWorld(t)
	w.fill()
	busiest := w.busiest()
	whole := w.open()
	base := w.trim(busiest, 3)
	w.expect("", "")
	if _, err := whole.Verify(w.ctx, nil, "no Kafka"); err != nil {
		t.Errorf("a view from before the trim: %v", err)
	}

	key := func(folder string, p chain.Position) string {
		return fmt.Sprintf("shards/%s/%s/%s", busiest, folder, p)
	}
	head := w.states[busiest].Position()
	for name, b := range map[string]breach{
		"a record below the oldest checkpoint is gone": {CheckLog, func(*world) string {
			w.must(w.store.Delete(w.ctx, key("log", base+2)))
			return fmt.Sprintf("position %d", uint64(base)+2)
		}},
		"a record below the oldest checkpoint was changed": {CheckLog, func(*world) string {
			w.overwrite(key("log", base+2), func(b []byte) []byte { return []byte(strings.Replace(string(b), `"time_ms":1`, `"time_ms":2`, 1)) })
			return fmt.Sprintf("position %d: history broken", uint64(base)+3)
		}},
		"the record of the oldest checkpoint was changed": {CheckLog, func(*world) string {
			w.overwrite(key("log", head-1), func(b []byte) []byte { return []byte(strings.Replace(string(b), `"time_ms":1`, `"time_ms":2`, 1)) })
			return fmt.Sprintf("position %d", uint64(head)-1)
		}},
		"both checkpoints are gone": {CheckLog, func(*world) string {
			w.must(w.store.Delete(w.ctx, key("checkpoint", head), key("checkpoint", head-1)))
			return "no checkpoint above them can be used"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			saved := w.store.Clone()
			defer func() { w.store = saved }()
			saved, w.store = w.store, saved
			place := b.do(w)
			v := w.openDamaged()
			r, err := v.Verify(w.ctx, nil, "no Kafka")
			w.must(err)
			res := r.Results[b.check]
			if res.Failed == 0 || !strings.Contains(strings.Join(res.Examples, "\n"), place) {
				t.Errorf("%d failures: %q, want %q", res.Failed, res.Examples, place)
			}
		})
	}
}

// TestLoadOfATrimmedLog: what is left of the log is read, and From says where that begins.
func TestLoadOfATrimmedLog(t *testing.T) {
	w := newLogWriter(t, objstore.NewMemory())
	now := time.UnixMilli(1_800_000_000_000)
	for i := range 400 {
		w.commit(now.Add(time.Duration(i-400)*time.Second), 1, shardlog.TableEvents, "acme")
		if i%100 == 99 {
			if err := w.log.Checkpoint(t.Context(), w.state); err != nil {
				t.Fatal(err)
			}
		}
	}
	plan, err := w.log.PlanTrim(t.Context(), 10)
	if err == nil {
		_, err = plan.Do(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	v := &View{Shards: []*shardlog.State{w.state}, logs: []*shardlog.Log{w.log}}
	got, err := v.Load(t.Context(), now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	left := int(w.state.Position() - plan.Base)
	commits := got[0].Commits["acme"]
	if n := len(commits); n != left || n < 110 || !got[0].From.Equal(commits[n-1].At) {
		t.Errorf("%d commits of %d records that are left, from %s", n, left, got[0].From)
	}
}
