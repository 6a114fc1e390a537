package chain_test

import "testing"

// The faults that are told as scenarios, by the names of their kinds.

func TestFault_409_is_not_412(t *testing.T)       { tell(t, "testdata/faults/409-is-not-412") }
func TestFault_late_landing(t *testing.T)         { tell(t, "testdata/faults/late-landing") }
func TestFault_late_landing_settled(t *testing.T) { tell(t, "testdata/faults/late-landing-settled") }
func TestFault_lost_answer(t *testing.T)          { tell(t, "testdata/faults/lost-answer") }
