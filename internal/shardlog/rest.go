package shardlog

import (
	"fmt"
	"strings"
	"time"
)

// A day of fragments that nobody has asked for since the start rests as its manifests were read: packed, their checksums right, in a
// tenth of the memory. A record that adds to it or takes out of it opens it, as does who asks for its
// fragments. So a start costs what the days in use cost. The root says of each manifest how many entries it adds and
// removes, and whether a fragment's key alone tells that it may be in it.

// open unpacks a day that rests.
func (s *State) open(d *day) {
	if d.packed == nil {
		return
	}
	if err := s.unpackDay(d); err != nil {
		// What a process of ours wrote, under a checksum that is right: to go on without it could delete what lives.
		panic(fmt.Sprintf("shardlog: shard %s, state at %d: %v", s.small.Shard, uint64(s.small.Position), err))
	}
}

// unpackDay puts what the manifests of a day say into the indexes.
func (s *State) unpackDay(d *day) error {
	bodies, count := d.packed, d.count
	s.fragments -= count
	d.packed, d.count = nil, 0
	entries := map[string]*entry{}
	for i, made := range d.runs {
		var m manifest
		if err := made.ref.decode(bodies[i], &m); err != nil {
			return err
		}
		if m.Shard != s.small.Shard || m.Day != made.day {
			return fmt.Errorf("manifest %s is of shard %s, day %d", made.ref.Name, m.Shard, m.Day)
		}
		for _, key := range m.Removed {
			gone := entries[key]
			if gone == nil {
				return fmt.Errorf("manifest %s removes %q, which is not there", made.ref.Name, key)
			}
			made.removed = append(made.removed, removal{key, gone.run})
			delete(entries, key)
		}
		if err := s.loadEntries(entries, &m, made); err != nil {
			return fmt.Errorf("manifest %s: %w", made.ref.Name, err)
		}
	}
	if len(entries) != count {
		return fmt.Errorf("day %d has %d entries, and not %d", d.runs[0].day, len(entries), count)
	}
	for _, e := range entries {
		s.insert(e)
	}
	return nil
}

// find is the live object of a key, nil if there is none.
func (s *State) find(key string) *entry {
	if named, ok := keyDay(key); ok {
		if d := s.days[named]; d != nil {
			s.open(d)
		}
	}
	return s.live[key]
}

// keyDay is the day that a fragment's key names; ok is false if it names none.
func keyDay(key string) (day int64, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 4 {
		return 0, false
	}
	date, _, _ := strings.Cut(parts[2], "T")
	at, err := time.Parse(time.DateOnly, date)
	return dayOf(at.Unix()), err == nil
}

// plain says whether the entry is a fragment whose key names the day.
func (e *entry) plain(day int64) bool {
	if e.fragment == nil {
		return false
	}
	named, ok := keyDay(e.fragment.Key)
	return ok && named == day
}

// belongs says whether a manifest of the day may list the entry. In older roots id segments lie among the fragments.
func (e *entry) belongs(day int64) bool {
	if e.fragment != nil {
		return day == dayOf(e.fragment.Bucket)
	}
	first := dayOf(e.segment.Buckets[0].Bucket)
	return day == first || day == idDays+first
}
