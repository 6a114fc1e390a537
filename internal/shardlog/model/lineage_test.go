package model

import (
	"strings"
	"testing"
)

var lineageBounds = []LineageBounds{
	{Positions: 5, Checkpoints: 4, Flights: 2, Loads: 1, Trims: 1},
	{Positions: 5, Checkpoints: 4, Flights: 2, Loads: 1, Trims: 1, Unread: true},
}

// deepLineageBounds take a quarter of a minute: TOGO_TEST_LONG=1.
var deepLineageBounds = []LineageBounds{
	{Positions: 5, Checkpoints: 4, Flights: 2, Loads: 2, Trims: 1},
	{Positions: 5, Checkpoints: 4, Flights: 2, Loads: 2, Trims: 1, Unread: true},
	{Positions: 5, Checkpoints: 4, Flights: 2, Loads: 1, Trims: 2},
	{Positions: 6, Checkpoints: 5, Flights: 2, Loads: 1, Trims: 1},
}

func TestNoNewestCheckpointNamesADeletedManifest(t *testing.T) {
	bounds := lineageBounds
	if long {
		bounds = append(bounds, deepLineageBounds...)
	}
	for _, b := range bounds {
		b.States = 8_000_000
		r := SearchLineage(LineageRules{}, b)
		t.Logf("%+v: %s", b, r)
		if r.Breach != "" {
			t.Errorf("%+v: %s\n%s", b, r.Breach, strings.Join(r.Trace, "\n"))
		}
	}
}

func TestLineageMutantsAreCaught(t *testing.T) {
	for name, rules := range map[string]LineageRules{
		"not built on the older":    {Unlinked: true},
		"older than the claim":      {OldClaim: true},
		"log before checkpoints":    {LogFirst: true},
		"no listing after a claim":  {NoListing: true},
		"newest one overlooked":     {Overlooked: true},
		"anyone builds on anything": {AnyoneWrite: true},
	} {
		t.Run(name, func(t *testing.T) {
			var r Result
			for _, b := range lineageBounds {
				b.States = 1_500_000
				if r = SearchLineage(rules, b); r.Breach != "" {
					break
				}
			}
			t.Logf("%s\n%s", r, strings.Join(r.Trace, "\n"))
			if r.Breach == "" || strings.HasPrefix(r.Breach, "more than") {
				t.Errorf("not caught: %s", r)
			}
		})
	}
}
