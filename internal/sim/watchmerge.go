package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// object is a fragment or an id segment that a log names.
type object struct {
	fragment *shardlog.Fragment
	segment  *shardlog.IDSegment
}

// openJob is a merge that has begun.
type openJob struct {
	nonce  string
	at     chain.Position
	inputs []string
}

// objects are those of one log, as its records tell.
type objects struct {
	live  map[string]object
	aside map[string]bool          // in quarantine
	left  map[string]time.Duration // no longer named, since when
	jobs  []openJob
}

func newObjects() objects {
	return objects{live: map[string]object{}, aside: map[string]bool{}, left: map[string]time.Duration{}}
}

// refer: an object that a record brings is there, is as the record says, and is named by no
// other.
func (v *watch) refer(l *logWatch, o object) error {
	var key, sum string
	var size int64
	if f := o.fragment; f != nil {
		key, size, sum = f.Key, f.Bytes, f.Sum
	} else {
		key, size, sum = o.segment.Key, o.segment.Bytes, o.segment.Sum
	}
	if v.named[key] {
		return fmt.Errorf("%s is referred to twice", key)
	}
	v.named[key] = true
	body, err := v.w.objects.Get(context.Background(), key)
	if err != nil {
		return fmt.Errorf("reference to a missing object: %w", err)
	}
	if int64(len(body)) != size || objstore.Sum(body) != sum {
		return fmt.Errorf("%s is not as its record says", key)
	}
	l.live[key] = o
	return nil
}

// begin: what a merge takes is there, and belongs together. No more than MaxJobs are open;
// the oldest gives way.
func (l *logWatch) begin(r *shardlog.Record) error {
	first, err := l.inputs(r.MergeBegin.Inputs)
	if err != nil {
		return err
	}
	for _, key := range r.MergeBegin.Inputs {
		o := l.live[key]
		f, g := first.fragment, o.fragment
		if (f == nil) != (g == nil) || f != nil && (f.Tenant != g.Tenant || f.Table != g.Table || f.Bucket != g.Bucket) {
			return fmt.Errorf("a merge of %s and %s", r.MergeBegin.Inputs[0], key)
		}
	}
	if len(l.jobs) == shardlog.MaxJobs {
		l.jobs = l.jobs[1:]
	}
	l.jobs = append(l.jobs, openJob{r.Nonce, r.Position, r.MergeBegin.Inputs})
	return nil
}

func (l *logWatch) inputs(keys []string) (first object, err error) {
	seen := map[string]bool{}
	for i, key := range keys {
		o, ok := l.live[key]
		if !ok || seen[key] {
			return object{}, fmt.Errorf("a merge of %s, which is not live or stands twice", key)
		}
		seen[key] = true
		if i == 0 {
			first = o
		}
	}
	if len(keys) == 0 {
		return object{}, errors.New("a merge of nothing")
	}
	return first, nil
}

func (l *logWatch) closeJob(nonce string) (openJob, error) {
	at := slices.IndexFunc(l.jobs, func(j openJob) bool { return j.nonce == nonce })
	if at < 0 {
		return openJob{}, fmt.Errorf("no merge %s is open", nonce)
	}
	j := l.jobs[at]
	l.jobs = slices.Delete(slices.Clone(l.jobs), at, at+1)
	return j, nil
}

// end: the merge is open, its inputs are live, its outputs are its own, and hold what the
// inputs held: every row but those below the floor, every identity that was not dropped.
func (v *watch) end(l *logWatch, x *shardlog.MergeEnd) error {
	j, err := l.closeJob(x.Job)
	if err != nil {
		return err
	}
	if !slices.Equal(j.inputs, x.Inputs) {
		return fmt.Errorf("merge %s began with other inputs", x.Job)
	}
	first, err := l.inputs(x.Inputs)
	if err != nil {
		return err
	}
	var in, out []object
	for _, key := range x.Inputs {
		in = append(in, l.live[key])
		l.leave(v, key)
	}
	for i := range x.Fragments {
		out = append(out, object{fragment: &x.Fragments[i]})
	}
	for i := range x.IDs {
		out = append(out, object{segment: &x.IDs[i]})
	}
	for _, o := range out {
		if err := v.refer(l, o); err != nil {
			return err
		}
		c, err := shardlog.CreatorOf(o.key())
		if err != nil || c.Job != j.at || c.Nonce != j.nonce {
			return fmt.Errorf("%s is no output of merge %s at %d: %w", o.key(), j.nonce, j.at, err)
		}
	}
	if first.fragment != nil {
		return v.sameRows(l, in, out)
	}
	return v.sameIDs(l, in, out)
}

func (o object) key() string {
	if o.fragment != nil {
		return o.fragment.Key
	}
	return o.segment.Key
}

// leave notes that an object is no longer named.
func (l *logWatch) leave(v *watch, key string) {
	delete(l.live, key)
	l.left[key] = v.w.Now()
}

// dropped notes what an expire or erase record removed. What it may remove is the oracle's to say:
// rows above their floor are missed there.
func (l *logWatch) dropped(v *watch) {
	for _, key := range slices.Sorted(maps.Keys(l.live)) {
		if !l.state.Names(key) {
			l.leave(v, key)
		}
	}
}

// setAside: nothing is damaged in this world, so nothing may be set aside.
func (v *watch) setAside(l *logWatch, q *shardlog.Quarantine) error {
	o, ok := l.live[q.Key]
	if !ok || o.fragment == nil {
		return fmt.Errorf("%s is set aside, and is no live fragment", q.Key)
	}
	if _, err := v.rowsOf(o.fragment, math.MinInt64); err == nil {
		return fmt.Errorf("%s is set aside, and can be read: %s", q.Key, q.Reason)
	}
	delete(l.live, q.Key)
	l.aside[q.Key] = true
	return nil
}

// sameRows: a merge changes no row. Below the floor rows may go.
func (v *watch) sameRows(l *logWatch, in, out []object) error {
	f := in[0].fragment
	floor, _ := l.state.Floor(f.Tenant, f.Table)
	before, after := map[string]int{}, map[string]int{}
	for into, list := range map[*map[string]int][]object{&before: in, &after: out} {
		for _, o := range list {
			rows, err := v.rowsOf(o.fragment, floor)
			if err != nil {
				return err
			}
			for _, r := range rows {
				(*into)[r]++
			}
		}
	}
	if maps.Equal(before, after) {
		return nil
	}
	for _, r := range slices.Sorted(maps.Keys(before)) {
		if after[r] != before[r] {
			return fmt.Errorf("a merge of %d fragments makes %d of %d: %.300s", len(in), after[r], before[r], r)
		}
	}
	return fmt.Errorf("a merge of %d fragments brings %d rows that were not there", len(in), len(after)-len(before))
}

// rowsOf are the rows from a floor on, as text.
func (v *watch) rowsOf(f *shardlog.Fragment, floor event.Timestamp) ([]string, error) {
	r, err := fragment.Open(context.Background(), v.w.objects, f.Key, f.Bytes)
	if err != nil {
		return nil, err
	}
	var out []string
	if f.Table == shardlog.TableDeadLetters {
		for d, err := range r.DeadLetters() {
			if err != nil {
				return nil, err
			}
			if d.Timestamp >= floor {
				out = append(out, fmt.Sprintf("%+v", *d))
			}
		}
		return out, nil
	}
	for e, err := range r.Events() {
		if err != nil {
			return nil, err
		}
		payload, err := e.AppendJSON(nil)
		if err != nil {
			return nil, err
		}
		if e.Timestamp >= floor {
			out = append(out, fmt.Sprintf("%+v %s", e.Meta, canonical(payload)))
		}
	}
	return out, nil
}

// canonical is JSON whose keys are in order: their order in a file follows its columns.
func canonical(text []byte) []byte {
	var x any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&x) != nil {
		return text
	}
	out, err := json.Marshal(x)
	if err != nil {
		return text
	}
	return out
}

// sameIDs: a merge loses no identity, and brings none.
func (v *watch) sameIDs(l *logWatch, in, out []object) error {
	type entry struct {
		bucket  int64
		tenant  event.TenantID
		id      event.Hash
		payload uint32
	}
	read := func(list []object) (map[entry]int, error) {
		all := map[entry]int{}
		for _, o := range list {
			body, err := v.w.objects.Get(context.Background(), o.segment.Key)
			if err != nil {
				return nil, err
			}
			parts, buckets, err := idseg.Decode(body)
			if err != nil {
				return nil, err
			}
			for i, p := range parts {
				for tenant, entries := range p.All() {
					for k := range entries.Len() {
						id, payload := entries.At(k)
						if buckets[i].Bucket >= l.state.IDsBelow() {
							all[entry{buckets[i].Bucket, tenant, id, payload}]++
						}
					}
				}
			}
		}
		return all, nil
	}
	before, err := read(in)
	if err != nil {
		return err
	}
	after, err := read(out)
	if err != nil {
		return err
	}
	if !maps.Equal(before, after) {
		return fmt.Errorf("a merge of %d id segments makes other identities: %d of %d", len(in), len(after), len(before))
	}
	return nil
}

// deleted is asked before an object goes: nothing that a log names may, nor what a reader
// may still have been told of, nor what may still be committed.
func (v *watch) deleted(key string) error {
	c, err := shardlog.CreatorOf(key)
	if err != nil {
		return v.cut(key)
	}
	l := v.log(c.Shard)
	if _, live := l.live[key]; live || l.aside[key] {
		return fmt.Errorf("%s is deleted, and the log of shard %s names it", key, c.Shard)
	}
	if why := l.mayCommit(c); why != "" {
		return fmt.Errorf("%s is deleted: %s", key, why)
	}
	if at, left := l.left[key]; left && v.w.Now()-at < v.w.plan.compaction.config.QueryGrace {
		return fmt.Errorf("%s is deleted %s after it left the log of shard %s, the grace is %s", key, v.w.Now()-at, c.Shard, v.w.plan.compaction.config.QueryGrace)
	}
	return nil
}

// mayCommit says why an object that is not named may be named yet; "": it can't.
func (l *logWatch) mayCommit(c shardlog.Creator) string {
	switch {
	case c.Job > l.head || c.Epoch > l.epoch:
		return "its creator is not known yet"
	case c.Job > 0 && slices.ContainsFunc(l.jobs, func(j openJob) bool { return j.nonce == c.Nonce }):
		return "its merge is open"
	case c.Job == 0 && c.Epoch == l.epoch && l.owned && c.Number >= l.lowWater:
		return "its writer may commit it"
	}
	return ""
}

// garbage are the objects that nothing names and nothing ever will.
func (v *watch) garbage() []string {
	var out []string
	for _, folder := range []string{shardlog.EventsFolder, shardlog.LettersFolder, shardlog.IDsFolder} {
		for o, err := range v.w.objects.List(context.Background(), folder+"/", "") {
			if err != nil {
				panic(err)
			}
			c, err := shardlog.CreatorOf(o.Key)
			if err != nil {
				out = append(out, o.Key)
				continue
			}
			l := v.log(c.Shard)
			_, live := l.live[o.Key]
			// Of what left lately, the collectors' clocks know less long.
			if !live && !l.aside[o.Key] && l.mayCommit(c) == "" {
				out = append(out, o.Key)
			}
		}
	}
	return out
}
