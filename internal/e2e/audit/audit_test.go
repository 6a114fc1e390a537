package audit

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/oracle"
	"github.com/togodb/togo/internal/e2e/tool"
)

var key = oracle.Key{Tenant: "t", ID: "a"}

func event(offset int, partition int32, payload string) feed.Held {
	return feed.Held{Position: fmt.Sprintf("@%d/%d", partition, offset), Partition: partition,
		Message: feed.Message{Topic: "x", Serial: offset, Value: []byte(payload), Want: key}}
}

// found is what is right for the records of TestEachDifferenceIsNamed.
func found() Found {
	return Found{
		Stored: oracle.Stored{key: {canonical(`{"n":1}`)}},
		Letters: map[string][]tool.Letter{"t": {
			{ID: "@0/2/dead", Reason: "conflict", Payload: `{"n":2}`}, {ID: "@0/3/dead", Reason: "malformed", Payload: `{`},
		}},
		Totals: tool.Totals{Events: 4, Stored: 1, Duplicate: 1, Conflict: 1, Dead: 1},
	}
}

// asked has SQL find the same.
func asked(f Found) Found {
	f.Asked, f.AskedLetters = maps.Clone(f.Stored), map[string][]string{}
	for tenant, letters := range f.Letters {
		for _, l := range letters {
			f.AskedLetters[tenant] = append(f.AskedLetters[tenant], l.ID)
		}
	}
	return f
}

func canonical(s string) string {
	c, err := oracle.Canonical([]byte(s))
	if err != nil {
		panic(err)
	}
	return c
}

func TestEachDifferenceIsNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Found)
		want   string // in the findings; empty: none
		sql    func(*Found)
	}{
		{"as it must be", func(*Found) {}, "", nil},
		{"not stored", func(f *Found) { delete(f.Stored, key) }, "lost: t/a is not stored", nil},
		{"stored twice", func(f *Found) { f.Stored[key] = append(f.Stored[key], f.Stored[key][0]) }, "extra: t/a is stored again", nil},
		{"the later one won", func(f *Found) { f.Stored[key] = []string{canonical(`{"n":2}`)} }, "lost: t/a is stored with a later payload", nil},
		{"never sent", func(f *Found) { f.Stored[oracle.Key{Tenant: "t", ID: "b"}] = []string{"{}"} }, "extra: t/b was never sent", nil},
		{"no letter", func(f *Found) { f.Letters["t"] = f.Letters["t"][1:] }, "lost: letter @0/2/dead", nil},
		{"a letter twice", func(f *Found) { f.Letters["t"] = append(f.Letters["t"], f.Letters["t"][0]) }, "extra: letter @0/2/dead", nil},
		{"a cut letter", func(f *Found) { f.Letters["t"][1].Payload = "" }, "lost: letter @0/3/dead", nil},
		{"a letter of a good record", func(f *Found) { f.Letters["t"] = append(f.Letters["t"], tool.Letter{ID: "@0/1/dead"}) }, "extra: letter @0/1/dead", nil},
		{"a wrong count", func(f *Found) { f.Totals.Dead, f.Totals.Events = 2, 5 }, "wrong: classes", nil},
		{"a row that SQL does not find", func(*Found) {}, "wrong: SQL finds t/a as", func(f *Found) { delete(f.Asked, key) }},
		{"another row of SQL", func(*Found) {}, "wrong: SQL finds t/a as", func(f *Found) { f.Asked[key] = []string{"{}"} }},
		{"a row of SQL alone", func(*Found) {}, "wrong: SQL finds t/b as", func(f *Found) { f.Asked[oracle.Key{Tenant: "t", ID: "b"}] = []string{"{}"} }},
		{"a letter that SQL does not find", func(*Found) {}, "wrong: SQL finds 1 letters", func(f *Found) { f.AskedLetters["t"] = f.AskedLetters["t"][1:] }},
	} {
		a := New()
		bad := event(3, 0, `{`)
		bad.Bad = true
		if err := a.Add(event(0, 0, `{"n":1}`), event(1, 0, `{"n":1}`), event(2, 0, `{"n":2}`), bad, bad); err != nil {
			t.Fatal(err)
		}
		if missing := a.Missing(map[int]bool{1: true, 9: true}); len(missing) != 1 || missing[0] != 9 {
			t.Errorf("missing %v", missing)
		}
		f := found()
		c.change(&f)
		f = asked(f)
		if c.sql != nil {
			c.sql(&f)
		}
		lines := strings.Join(a.Compare(f).Lines(5), "\n")
		if (c.want == "") != (lines == "") || !strings.Contains(lines, c.want) {
			t.Errorf("%s: %q", c.name, lines)
		}
	}
}

// TestAnyOfTwoPartitionsMayBeFirst: then the other one is the conflict.
func TestAnyOfTwoPartitionsMayBeFirst(t *testing.T) {
	for winner, loser := range map[string]string{`{"n":1}`: "@1/0/dead", `{"n":2}`: "@0/0/dead"} {
		a := New()
		if err := a.Add(event(0, 0, `{"n":1}`), event(0, 1, `{"n":2}`)); err != nil {
			t.Fatal(err)
		}
		other := map[string]string{`{"n":1}`: `{"n":2}`, `{"n":2}`: `{"n":1}`}[winner]
		v := a.Compare(asked(Found{
			Stored:  oracle.Stored{key: {canonical(winner)}},
			Letters: map[string][]tool.Letter{"t": {{ID: loser, Reason: "conflict", Payload: other}}},
			Totals:  tool.Totals{Events: 2, Stored: 1, Conflict: 1},
		}))
		if !v.OK() {
			t.Errorf("%s first: %v", winner, v.Lines(5))
		}
	}
}
