package sim

import (
	"os"
	"testing"
)

func TestOne(t *testing.T) {
	for seed := range uint64(20) {
		opt := Options{Seed: seed}
		if os.Getenv("TRACE") != "" {
			opt.Trace = os.Stderr
		}
		res := Run(opt)
		t.Logf("seed %d: steps %d took %s tally %+v faults %d", seed, res.Steps, res.Took, res.Tally, len(res.Faults))
		if res.Failure != "" {
			t.Errorf("seed %d: %.1500s", seed, res.Failure)
		}
	}
}
