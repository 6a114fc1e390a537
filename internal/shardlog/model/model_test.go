package model

import (
	"strings"
	"testing"
)

func TestProtocolHolds(t *testing.T) {
	for _, b := range []Bounds{
		{Writers: 2, Positions: 4, Offsets: 3, Crashes: 1, Late: 1},
		{Writers: 3, Positions: 3, Offsets: 2, Crashes: 0, Late: 1},
	} {
		b.States = 3_000_000
		r := Search(Rules{}, b)
		t.Logf("%+v: %s", b, r)
		if r.Breach != "" {
			t.Errorf("%+v: %s\n%s", b, r.Breach, strings.Join(r.Trace, "\n"))
		}
	}
}

// Each rule that is switched off is missed.
func TestMutantsAreCaught(t *testing.T) {
	bounds := Bounds{Writers: 2, Positions: 5, Offsets: 3, Crashes: 1, Late: 1, States: 3_000_000}
	for name, c := range map[string]struct {
		rules Rules
		want  string
	}{
		"epoch check":    {Rules{IgnoreEpoch: true}, "but the epoch is writer"},
		"nonce, success": {Rules{TrustExists: true}, "was told that"},
		"nonce, failure": {Rules{NeverOurs: true}, "is deleted"},
		"re-put":         {Rules{GiveUpOn404: true}, "is deleted"},
		"condition":      {Rules{IgnoreCondition: true}, ""},
		"collect early":  {Rules{CollectEarly: true}, "is deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Search(c.rules, bounds)
			t.Logf("%s\n%s", r, strings.Join(r.Trace, "\n"))
			if r.Breach == "" || strings.HasPrefix(r.Breach, "more than") || !strings.Contains(r.Breach, c.want) {
				t.Errorf("not caught: %s", r)
			}
		})
	}
}

// BenchmarkSearch is the search at larger bounds than a test has time for.
func BenchmarkSearch(b *testing.B) {
	for b.Loop() {
		r := Search(Rules{}, Bounds{Writers: 2, Positions: 5, Offsets: 3, Crashes: 1, Late: 1, States: 20_000_000})
		if r.Breach != "" {
			b.Fatalf("%s\n%s", r.Breach, strings.Join(r.Trace, "\n"))
		}
		b.ReportMetric(float64(r.States), "states")
	}
}
