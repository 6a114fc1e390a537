package placements

import "testing"

// The faults that are told as scenarios, by the names of their kinds.

func TestFault_clock_off(t *testing.T)      { tell(t, "testdata/faults/clock-off") }
func TestFault_far_future(t *testing.T)     { tell(t, "testdata/faults/far-future") }
func TestFault_late_landing(t *testing.T)   { tell(t, "testdata/faults/late-landing") }
func TestFault_lost_answer(t *testing.T)    { tell(t, "testdata/faults/lost-answer") }
func TestFault_mapping_change(t *testing.T) { tell(t, "testdata/faults/mapping-change") }
func TestFault_reshard(t *testing.T)        { tell(t, "testdata/faults/reshard") }
func TestFault_router_skew(t *testing.T)    { tell(t, "testdata/faults/router-skew") }
