package model

import (
	"os"
	"strings"
	"testing"
)

// trimBounds are searched whole. In those with two records a process, the first, which has made two, only looks on.
var trimBounds = []TrimBounds{
	{Processes: 2, Writers: 1, Positions: 4, Records: 3, Crashes: 0, Late: 0, Markers: 1, Uploads: 3},
	{Processes: 2, Writers: 1, Positions: 4, Records: 2, Crashes: 1, Late: 1, Markers: 1, Uploads: 2},
	{Processes: 2, Writers: 2, Positions: 4, Records: 3, Crashes: 0, Late: 0, Markers: 1, Uploads: 3},
	{Processes: 3, Writers: 1, Positions: 4, Records: 2, Crashes: 0, Late: 0, Markers: 1, Uploads: 2},
}

// deepTrimBounds take minutes each: TOGO_TEST_LONG=1.
var deepTrimBounds = []TrimBounds{
	{Processes: 2, Writers: 1, Positions: 5, Records: 3, Crashes: 0, Late: 0, Markers: 1, Uploads: 3},
	{Processes: 2, Writers: 1, Positions: 4, Records: 3, Crashes: 1, Late: 0, Markers: 1, Uploads: 3},
	{Processes: 2, Writers: 1, Positions: 4, Records: 3, Crashes: 0, Late: 1, Markers: 1, Uploads: 3},
	{Processes: 3, Writers: 1, Positions: 4, Records: 2, Crashes: 0, Late: 1, Markers: 1, Uploads: 2},
}

var long = os.Getenv("TOGO_TEST_LONG") != ""

func TestTrimmingHolds(t *testing.T) {
	bounds := trimBounds
	if long {
		bounds = append(bounds, deepTrimBounds...)
	}
	for _, b := range bounds {
		b.States = 8_000_000
		r := SearchTrim(TrimRules{}, b)
		t.Logf("%+v: %s", b, r)
		if r.Breach != "" {
			t.Errorf("%+v: %s\n%s", b, r.Breach, strings.Join(r.Trace, "\n"))
		}
	}
}

// Each rule that is switched off is missed.
func TestTrimMutantsAreCaught(t *testing.T) {
	for name, c := range map[string]struct {
		rules TrimRules
		want  string
	}{
		"writes are trusted":                  {TrimRules{TrustWrites: true}, "was told that"},
		"check only after 404":                {TrimRules{OnlyAfter404: true}, ""},
		"delete without marker":               {TrimRules{NoMarker: true}, ""},
		"marker after the first delete":       {TrimRules{LateMarker: true}, ""},
		"phantom state deletes a live output": {TrimRules{JudgeUnasked: true}, "is live, and deleted"},
		"uploads of the current claim go":     {TrimRules{OldClaims: true}, "is live, and deleted"},
		"outputs of open jobs go":             {TrimRules{OpenJobs: true}, "is live, and deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			var r Result
			for _, b := range trimBounds {
				b.States = 1_000_000
				if r = SearchTrim(c.rules, b); r.Breach != "" {
					t.Logf("%+v", b)
					break
				}
			}
			t.Logf("%s\n%s", r, strings.Join(r.Trace, "\n"))
			if r.Breach == "" || strings.HasPrefix(r.Breach, "more than") || !strings.Contains(r.Breach, c.want) {
				t.Errorf("not caught: %s", r)
			}
		})
	}
}
