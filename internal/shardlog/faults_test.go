package shardlog

import "testing"

// The faults that are told as scenarios, by the names of their kinds.

func TestFault_409_is_not_412(t *testing.T)     { tell(t, "testdata/faults/409-is-not-412") }
func TestFault_commit_boundary(t *testing.T)    { tell(t, "testdata/faults/commit-boundary") }
func TestFault_late_landing(t *testing.T)       { tell(t, "testdata/faults/late-landing") }
func TestFault_lost_answer(t *testing.T)        { tell(t, "testdata/faults/lost-answer") }
func TestFault_rolled_back_bucket(t *testing.T) { tell(t, "testdata/faults/rolled-back-bucket") }
func TestFault_two_owners(t *testing.T)         { tell(t, "testdata/faults/two-owners") }
func TestFault_zombie_writer(t *testing.T)      { tell(t, "testdata/faults/zombie-writer") }

func TestFault_freed_position_manifests(t *testing.T) {
	tell(t, "testdata/faults/freed-position-manifests")
}
