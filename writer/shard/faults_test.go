package shard

import "testing"

// The faults that are told as scenarios, by the names of their kinds.

func TestFault_clock_off(t *testing.T)           { tell(t, "testdata/faults/clock-off") }
func TestFault_commit_boundary(t *testing.T)     { tell(t, "testdata/faults/commit-boundary") }
func TestFault_conflict(t *testing.T)            { tell(t, "testdata/faults/conflict") }
func TestFault_history_cut(t *testing.T)         { tell(t, "testdata/faults/history-cut") }
func TestFault_late_landing(t *testing.T)        { tell(t, "testdata/faults/late-landing") }
func TestFault_lost_answer(t *testing.T)         { tell(t, "testdata/faults/lost-answer") }
func TestFault_odd_ids(t *testing.T)             { tell(t, "testdata/faults/odd-ids") }
func TestFault_offset_gaps(t *testing.T)         { tell(t, "testdata/faults/offset-gaps") }
func TestFault_offset_out_of_range(t *testing.T) { tell(t, "testdata/faults/offset-out-of-range") }
func TestFault_pending_evicted(t *testing.T)     { tell(t, "testdata/faults/pending-evicted") }
func TestFault_topic_recreated(t *testing.T)     { tell(t, "testdata/faults/topic-recreated") }
func TestFault_two_owners(t *testing.T)          { tell(t, "testdata/faults/two-owners") }
func TestFault_zombie_writer(t *testing.T)       { tell(t, "testdata/faults/zombie-writer") }
