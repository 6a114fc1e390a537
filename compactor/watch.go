package compactor

import (
	"cmp"
	"slices"
	"time"

	"github.com/togodb/togo/compactor/pick"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
)

// slot is a bucket of a tenant's table.
type slot struct {
	tenant event.TenantID
	table  shardlog.Table
	bucket int64
}

func slotOf(f *shardlog.Fragment) slot { return slot{f.Tenant, f.Table, f.Bucket} }

// series is a tenant's table.
type series struct {
	tenant event.TenantID
	table  shardlog.Table
}

// watch knows which buckets of a shard may need a merge, so that the cost of a look at a
// shard follows what changed and not what it holds.
type watch struct {
	slots    map[slot]*slotWatch
	newest   map[series]int64 // the newest bucket that has, or had, a commit
	segments slotWatch        // all id segments of the shard
	turn     int              // of pick.Order

	settings *tenants.Table // by which jobs are picked; nil: none yet
	policies map[series]pick.Policy
}

// slotWatch is one bucket that may need a merge.
type slotWatch struct {
	changed time.Duration // when it was last committed to; by the monotonic clock, at the earliest when it was first seen
	look    bool          // its fragments changed since jobs was made
	rested  bool          // jobs was made when it was quiet
	jobs    []pick.Job    // as they were picked; some may be busy by now
}

func newWatch(s *shardlog.State, now time.Duration) *watch {
	w := &watch{slots: map[slot]*slotWatch{}, newest: map[series]int64{}, segments: slotWatch{changed: now, look: true}, policies: map[series]pick.Policy{}}
	for f := range allFragments(s) {
		w.touch(slotOf(&f), now, true)
	}
	return w
}

// allFragments yields every live fragment.
func allFragments(s *shardlog.State) func(func(shardlog.Fragment) bool) {
	return func(yield func(shardlog.Fragment) bool) {
		s.Fragments("", shardlog.MinBucket, shardlog.MaxBucket, yield)
	}
}

// touch has a bucket looked at; committed says that new rows came.
func (w *watch) touch(k slot, now time.Duration, committed bool) {
	v := w.slots[k]
	if v == nil {
		v = &slotWatch{changed: now}
		w.slots[k] = v
	}
	v.look = true
	if committed {
		v.changed = now
		in := series{k.tenant, k.table}
		if newest, ok := w.newest[in]; !ok || k.bucket > newest {
			w.newest[in] = k.bucket
		}
	}
}

// saw takes a record that was folded.
func (w *watch) saw(r *shardlog.Record, now time.Duration) {
	switch {
	case r.Append != nil:
		for i := range r.Append.Fragments {
			w.touch(slotOf(&r.Append.Fragments[i]), now, true)
		}
		if r.Append.IDs != nil {
			w.segments.changed, w.segments.look = now, true
		}
	case r.MergeEnd != nil:
		for i := range r.MergeEnd.Fragments {
			w.touch(slotOf(&r.MergeEnd.Fragments[i]), now, false)
		}
		w.segments.look = w.segments.look || len(r.MergeEnd.IDs) > 0
		if len(r.MergeEnd.Fragments)+len(r.MergeEnd.IDs) == 0 {
			w.lookAgain() // all of it lay below the floor
		}
	case r.MergeBegin != nil, r.MergeAbort != nil:
		w.segments.look = true
	case r.Quarantine != nil, r.Expire != nil, r.Erase != nil:
		w.lookAgain()
	}
}

// lookAgain forgets what was picked: some of it may be gone.
func (w *watch) lookAgain() {
	for _, v := range w.slots {
		v.look = v.look || len(v.jobs) > 0
	}
	w.segments.look = true
}

// followSettings takes the newest settings. What they change of a policy makes everything
// that the tenant has worth another look: files of another sort key, or of another size.
func (s *shard) followSettings() {
	w, table := s.watch, s.c.d.Tenants.Current()
	if w.settings != nil && w.settings.Version() == table.Version() {
		return
	}
	w.settings = table
	changed := map[series]bool{}
	for in, old := range w.policies {
		if s.policy(in) != old {
			changed[in] = true
			delete(w.policies, in)
		}
	}
	if len(changed) == 0 {
		return
	}
	for f := range allFragments(s.state) {
		if changed[series{f.Tenant, f.Table}] {
			w.touch(slotOf(&f), s.c.d.Clock(), false)
		}
	}
}

// policy of a tenant's table.
func (s *shard) policy(in series) pick.Policy {
	c := &s.c.cfg
	settings := s.watch.settings.Get(in.tenant)
	return pick.Policy{
		TargetBytes: settings.TargetBytes, Fanin: c.FanIn, Ratio: c.Ratio, Levels: c.Levels, Overlap: c.Overlap,
		MaxInputs: c.MaxInputs, MaxInputBytes: c.MaxJobBytes,
		QuietAfter: c.QuietAfter, QuietNewestAfter: c.QuietNewestAfter,
		SortKey: sortKeyText(in.table, settings.SortKey),
	}
}

// choose is the merge to do now, nil if there is none.
func (s *shard) choose() *task {
	w := s.watch
	busy := map[string]bool{}
	jobs := s.state.Jobs()
	if len(jobs) >= shardlog.MaxJobs {
		return nil // one more would push out the oldest, which may be at its end
	}
	for _, j := range jobs {
		for _, key := range j.Inputs {
			busy[key] = true
		}
	}
	waiting := s.addHeld(busy)
	// Identities first, every other time: they are asked for with each event.
	if w.turn%2 == 0 {
		if do := s.chooseSegments(busy); do != nil {
			return do
		}
	}
	if do := s.chooseFragments(busy, waiting); do != nil {
		return do
	}
	if w.turn%2 == 1 {
		return s.chooseSegments(busy)
	}
	return nil
}

func (s *shard) chooseFragments(busy map[string]bool, waiting map[slot]bool) *task {
	w := s.watch
	var jobs []pick.Job
	for _, k := range s.due(busy) {
		if !waiting[k] {
			jobs = append(jobs, w.slots[k].jobs...)
		}
	}
	if jobs = pick.Order(jobs, w.turn/2); len(jobs) == 0 {
		return nil
	}
	j := jobs[0]
	floor, _ := s.state.Floor(j.Inputs[0].Tenant, j.Inputs[0].Table)
	return &task{why: string(j.Why), inputs: j.Keys(), bytes: j.Bytes(), fragments: &fragmentTask{Job: j, floor: floor, settings: w.settings.Get(j.Inputs[0].Tenant)}}
}

// due brings the picked jobs up to date and lists the buckets that have some, in order.
// Buckets that rest and have none are forgotten.
func (s *shard) due(busy map[string]bool) []slot {
	s.followSettings()
	w, now := s.watch, s.c.d.Clock()
	for key := range busy { // what can be picked beside it is another matter each time
		if f, live := s.state.Fragment(key); live && w.slots[slotOf(&f)] != nil {
			w.slots[slotOf(&f)].look = true
		}
	}
	var out []slot
	for k, v := range w.slots {
		in := series{k.tenant, k.table}
		b := pick.Bucket{
			Tenant: k.tenant, Table: k.table, Bucket: k.bucket, Idle: now - v.changed, Newest: w.newest[in] == k.bucket,
			Busy: func(key string) bool { return busy[key] },
		}
		p, known := w.policies[in]
		if !known {
			p = s.policy(in)
			w.policies[in] = p
		}
		quiet := p.Quiet(b)
		if v.look || quiet && !v.rested {
			b.Fragments = s.fragments(k)
			v.jobs, v.look, v.rested = pick.Pick(b, p), false, quiet
			if slices.ContainsFunc(b.Fragments, func(f shardlog.Fragment) bool { return busy[f.Key] }) {
				v.look = true // again when it is free
			}
		}
		switch {
		case len(v.jobs) > 0:
			out = append(out, k)
		case v.rested && quiet && !v.look:
			delete(w.slots, k)
		}
	}
	slices.SortFunc(out, func(a, b slot) int {
		return cmp.Or(cmp.Compare(b.bucket, a.bucket), cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.table, b.table))
	})
	return out
}

func (s *shard) fragments(k slot) []shardlog.Fragment {
	var out []shardlog.Fragment
	s.state.Fragments(k.tenant, k.bucket, k.bucket+1, func(f shardlog.Fragment) bool {
		if f.Table == k.table {
			out = append(out, f)
		}
		return true
	})
	return out
}

func (s *shard) chooseSegments(busy map[string]bool) *task {
	v, now := &s.watch.segments, s.c.d.Clock()
	idle := now - v.changed
	quiet := idle >= s.c.cfg.QuietAfter
	if !v.look && (!quiet || v.rested) {
		return nil
	}
	p := pick.Policy{
		TargetBytes: s.c.cfg.SegmentBytes, Fanin: s.c.cfg.FanIn, Ratio: s.c.cfg.Ratio, Levels: s.c.cfg.Levels,
		MaxInputs: s.c.cfg.MaxInputs, MaxInputBytes: s.c.cfg.MaxJobBytes, QuietAfter: s.c.cfg.QuietAfter,
	}
	in := pick.Segments{
		Busy: func(key string) bool { return busy[key] }, IDsBelow: s.state.IDsBelow(), Idle: idle, BucketSeconds: s.c.d.Meta.IDBucketSeconds,
	}
	for seg := range s.state.Segments {
		in.Live = append(in.Live, seg)
	}
	jobs := pick.PickSegments(in, p)
	if len(jobs) == 0 {
		v.look, v.rested = false, quiet
		return nil
	}
	return &task{
		why: "ids-" + string(jobs[0].Why), inputs: jobs[0].Keys(), bytes: jobs[0].Bytes(),
		segments: &segmentTask{inputs: jobs[0].Inputs, target: jobs[0].TargetBytes, idsBelow: s.state.IDsBelow()},
	}
}

// sortKeyText is a sort key as records have it. All keys order dead letters alike.
func sortKeyText(table shardlog.Table, key []string) string {
	if table == shardlog.TableDeadLetters {
		return ""
	}
	return fragment.SortKeyText(key)
}
