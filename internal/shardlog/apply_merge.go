package shardlog

import (
	"maps"
	"slices"

	"github.com/togodb/togo/internal/event"
)

// compareFragments orders fragments by key.
func compareFragments(a, b Fragment) int {
	switch {
	case a.Key < b.Key:
		return -1
	case a.Key > b.Key:
		return 1
	}
	return 0
}

func (s *State) isQuarantined(key string) bool {
	_, found := slices.BinarySearchFunc(s.small.Quarantined, Fragment{Key: key}, compareFragments)
	return found
}

// mergeInputs are the live objects of a job: either fragments of one tenant,
// table and bucket, or id segments.
func (s *State) mergeInputs(keys []string) ([]*entry, error) {
	if len(keys) == 0 {
		return nil, refuse("a merge without inputs")
	}
	seen := make(map[string]bool, len(keys))
	out := make([]*entry, 0, len(keys))
	for _, key := range keys {
		e := s.find(key)
		switch {
		case e == nil:
			return nil, refuse("unknown input %q", key)
		case seen[key]:
			return nil, refuse("input %q twice", key)
		case len(out) > 0 && !out[0].mergesWith(e):
			return nil, refuse("inputs %q and %q do not belong together", out[0].key(), key)
		}
		seen[key] = true
		out = append(out, e)
	}
	return out, nil
}

func (e *entry) mergesWith(o *entry) bool {
	if e.fragment == nil || o.fragment == nil {
		return e.fragment == nil && o.fragment == nil
	}
	return e.fragment.sameBucket(o.fragment)
}

func (f *Fragment) sameBucket(o *Fragment) bool {
	return f.Tenant == o.Tenant && f.Table == o.Table && f.Bucket == o.Bucket
}

func (s *State) checkMergeBegin(r *Record) (func(), error) {
	x := r.MergeBegin
	if x.Worker == "" {
		return nil, refuse("a merge without a worker")
	}
	if _, err := s.mergeInputs(x.Inputs); err != nil {
		return nil, err
	}
	job := Job{Nonce: r.Nonce, Position: r.Position, Worker: x.Worker, Inputs: x.Inputs}
	return func() {
		jobs := s.Jobs()
		if len(jobs) == MaxJobs {
			jobs = jobs[1:]
		}
		s.small.Jobs = append(jobs, job)
	}, nil
}

func (s *State) checkMergeAbort(r *Record) (func(), error) {
	at := s.job(r.MergeAbort.Job)
	if at < 0 {
		return nil, refuse("no open job %q", r.MergeAbort.Job)
	}
	return func() { s.closeJob(at) }, nil
}

func (s *State) job(nonce string) int {
	return slices.IndexFunc(s.small.Jobs, func(j Job) bool { return j.Nonce == nonce })
}

func (s *State) closeJob(at int) { s.small.Jobs = slices.Delete(s.Jobs(), at, at+1) }

// checkMergeEnd: the job is open, its inputs are all still live, and the outputs
// hold what the inputs held.
func (s *State) checkMergeEnd(r *Record) (func(), error) {
	x := r.MergeEnd
	at := s.job(x.Job)
	if at < 0 {
		return nil, refuse("no open job %q", x.Job)
	}
	if !slices.Equal(x.Inputs, s.small.Jobs[at].Inputs) {
		return nil, refuse("job %q ends with other inputs than it began with", x.Job)
	}
	inputs, err := s.mergeInputs(x.Inputs)
	if err != nil {
		return nil, err
	}
	if inputs[0].fragment != nil {
		err = s.checkMergedFragments(inputs, x)
	} else {
		err = s.checkMergedSegments(inputs, x)
	}
	if err != nil {
		return nil, err
	}
	return func() {
		s.closeJob(at)
		for _, e := range inputs {
			s.remove(e)
			s.removed(e)
		}
		for _, f := range x.Fragments {
			s.addFragment(f)
		}
		for _, seg := range x.IDs {
			s.addSegment(seg)
		}
	}, nil
}

func (s *State) checkMergedFragments(inputs []*entry, x *MergeEnd) error {
	if len(x.IDs) > 0 {
		return refuse("a merge of fragments gives id segments")
	}
	first := inputs[0].fragment
	floor, _ := s.Floor(first.Tenant, first.Table)
	var rows int64
	all := *first // without its ranges: what the inputs span together
	for _, e := range inputs {
		f := e.fragment
		rows += f.Rows
		all.Min, all.Max = min(all.Min, f.Min), max(all.Max, f.Max)
		all.SeqMin, all.SeqMax = min(all.SeqMin, f.SeqMin), max(all.SeqMax, f.SeqMax)
	}
	var out int64
	fresh := map[string]bool{}
	for i := range x.Fragments {
		f := &x.Fragments[i]
		if err := s.checkNewKey(f.Key, fresh); err != nil {
			return err
		}
		if err := checkFragment(f); err != nil {
			return err
		}
		switch {
		case !f.sameBucket(first):
			return refuse("output %q belongs elsewhere than its inputs", f.Key)
		case f.Min < all.Min || f.Max > all.Max || f.SeqMin < all.SeqMin || f.SeqMax > all.SeqMax:
			return refuse("output %q reaches beyond its inputs", f.Key)
		case f.Max < floor:
			return refuse("output %q lies below the floor of %q, %s", f.Key, f.Tenant, floor)
		}
		out += f.Rows
	}
	// Rows below the floor may be left out; above it not one.
	if out > rows || out < rows && all.Min >= floor {
		return refuse("a merge of %d rows into %d", rows, out)
	}
	return nil
}

func (s *State) checkMergedSegments(inputs []*entry, x *MergeEnd) error {
	if len(x.Fragments) > 0 {
		return refuse("a merge of id segments gives fragments")
	}
	in, out := map[int64]int64{}, map[int64]int64{}
	count := func(into map[int64]int64, seg *IDSegment) {
		for _, b := range seg.Buckets {
			if b.Bucket >= s.small.IDsBelow {
				into[b.Bucket] += b.IDs
			}
		}
	}
	for _, e := range inputs {
		count(in, e.segment)
	}
	fresh := map[string]bool{}
	for i := range x.IDs {
		if err := s.checkNewKey(x.IDs[i].Key, fresh); err != nil {
			return err
		}
		if err := checkSegment(&x.IDs[i]); err != nil {
			return err
		}
		count(out, &x.IDs[i])
	}
	if !maps.Equal(in, out) {
		return refuse("a merge of id segments changes the number of ids in a bucket")
	}
	return nil
}

// checkQuarantine: the fragment leaves the live ones, and is remembered. An id
// segment cannot be set aside: without it a copy would be stored again.
func (s *State) checkQuarantine(r *Record) (func(), error) {
	e := s.find(r.Quarantine.Key)
	if e == nil || e.fragment == nil {
		return nil, refuse("no live fragment %q", r.Quarantine.Key)
	}
	return func() {
		s.remove(e)
		list := s.Quarantined()
		at, _ := slices.BinarySearchFunc(list, e.full(), compareFragments)
		s.small.Quarantined = slices.Insert(list, at, e.full())
	}, nil
}

// Tenants are the tenants that have live fragments, in order.
func (s *State) Tenants() []event.TenantID {
	set := map[event.TenantID]bool{}
	for _, d := range s.days {
		s.open(d)
		for _, index := range d.buckets {
			for t := range index {
				set[t] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}
