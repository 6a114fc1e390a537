package main

import (
	"slices"
	"strings"
	"testing"
)

// TestCatalogueAndTestsAgree: every kind whose parts exist has a test, and every test and scenario of a
// fault a kind.
func TestCatalogueAndTestsAgree(t *testing.T) {
	tests, scenarios, err := testsIn("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(tests) < 40 || len(scenarios) < 10 {
		t.Errorf("found %d tests and %d scenarios: the test looks at the wrong folder", len(tests), len(scenarios))
	}
	for _, text := range disagreements(catalogue, tests, scenarios) {
		t.Error(text)
	}
}

func TestDisagreementsAreFound(t *testing.T) {
	kinds := []kind{{id: "late"}, {id: "late-landing"}, {id: "nan", absent: "queries"}}
	good := []place{{"a", "TestFault_late"}, {"b", "TestFault_late_landing_twice"}}
	if got := disagreements(kinds, good, good[1:]); len(got) > 0 {
		t.Errorf("found %q where nothing is wrong", got)
	}
	for want, c := range map[string]struct {
		kinds            []kind
		tests, scenarios []place
	}{
		"late has no test":                    {kinds, good[1:], nil},
		"late-landing has no test":            {kinds, good[:1], nil},
		"nan has tests":                       {kinds, append([]place{{"a", "TestFault_nan"}}, good...), nil},
		"a/TestFault_later is of no kind":     {kinds, append([]place{{"a", "TestFault_later"}}, good...), nil},
		"no test TestFault_late_landing tell": {kinds, good, []place{{"b", "TestFault_late_landing"}}},
		"late is in the catalogue twice":      {append([]kind{{id: "late"}}, kinds...), good, nil},
	} {
		if got := disagreements(c.kinds, c.tests, c.scenarios); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}

// TestTable: what go test says of each test becomes the word for its kind.
func TestTable(t *testing.T) {
	kinds := []kind{{id: "a"}, {id: "b"}, {id: "c"}, {id: "d"}, {id: "e"}, {id: "f"}, {id: "g"}, {id: "h", absent: "queries"}}
	tests := []place{
		{"x", "TestFault_a"}, {"y", "TestFault_a"}, {"x", "TestFault_b"}, {"x", "TestFault_c"}, {"x", "TestFault_d"}, {"y", "TestFault_e"}, {"z", "TestFault_f"},
		{"z", "TestFault_a"},
	}
	r := results{}
	if err := r.read(strings.NewReader(`
{"Action":"pass","Package":"m/x","Test":"TestFault_a","Elapsed":1.5}
{"Action":"pass","Package":"m/y","Test":"TestFault_a","Elapsed":0.5}
{"Action":"pass","Package":"m/x","Test":"TestFault_b"}
{"Action":"output","Package":"m/x","Test":"TestFault_c/sub","Output":"it is wrong\n"}
{"Action":"fail","Package":"m/x","Test":"TestFault_c/sub"}
{"Action":"fail","Package":"m/x","Test":"TestFault_c"}
{"Action":"skip","Package":"m/x","Test":"TestFault_d"}
{"Action":"skip","Package":"m/x","Test":"TestFault_b/apache"}
{"Action":"fail","Package":"m/x"}
{"Action":"run","Package":"m/y","Test":"TestFault_e"}
{"Action":"output","Package":"m/y","Output":"panic: all is lost\n"}
{"Action":"fail","Package":"m/y"}
`), func(pkg string) string { return strings.TrimPrefix(pkg, "m/") }); err != nil {
		t.Fatal(err)
	}
	rows := table(kinds, tests, r, func(dir string) bool { return dir == "z" })
	var got []string
	for _, row := range rows {
		got = append(got, row.id+" "+row.result)
	}
	want := []string{"a pass", "b pass", "c FAIL", "d FAIL", "e FAIL", "f FAIL", "g FAIL", "h absent"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if rows[1].skipped != 1 {
		t.Errorf("b: %d subtests were skipped, want 1", rows[1].skipped)
	}
	if rows[0].tests != 2 || rows[0].elapsed.Seconds() != 2 {
		t.Errorf("a: %d tests in %s", rows[0].tests, rows[0].elapsed)
	}
	var b strings.Builder
	failed, absent, err := write(&b, rows, r)
	if err != nil || failed != 5 || absent != 1 {
		t.Errorf("%d failed, %d absent, %v", failed, absent, err)
	}
	for _, want := range []string{"it is wrong", "x/TestFault_d: skip", "y/TestFault_e: did not run to its end\npanic: all is lost", "not there yet: queries"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, &b)
		}
	}
}
