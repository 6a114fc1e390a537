package oracle

import (
	"strings"
	"testing"
)

func TestCompareNamesEveryDifference(t *testing.T) {
	l, s := New(), Stored{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a, b, c := Key{"t", "a"}, Key{"t", "b"}, Key{"t", "c"}
	must(l.Sent(a, []byte(`{"x":1}`)))
	must(l.Sent(a, []byte(`{"x":1.0}`))) // the same value
	must(l.Sent(a, []byte(`{"x":2}`)))
	must(l.Sent(b, []byte(`{}`)))
	must(l.Sent(c, []byte(`{"x":9007199254740993}`)))
	l.SentBad()
	if sent, unique, dup, conf, bad := l.Counts(); sent != 6 || unique != 3 || dup != 1 || conf != 1 || bad != 1 {
		t.Errorf("counts are %d %d %d %d %d", sent, unique, dup, conf, bad)
	}
	must(s.Add(a, []byte(`{"x":1}`)))
	must(s.Add(a, []byte(`{"x":1}`)))
	must(s.Add(c, []byte(`{"x":9007199254740992}`)))
	must(s.Add(Key{"u", "a"}, []byte(`{}`)))
	lost, extra := l.Compare(s)
	if got := strings.Join(lost, "; "); !strings.Contains(got, "t/b is not stored") || !strings.Contains(got, "t/c has another payload") || len(lost) != 2 {
		t.Errorf("lost: %s", got)
	}
	if got := strings.Join(extra, "; "); got != "t/a is stored again; u/a was never sent" {
		t.Errorf("extra: %s", got)
	}
}
