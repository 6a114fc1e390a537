package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
)

// TestFault_poison: records that break decoders, each between good ones. What is dead is there whole, in the commit that
// closes its offset; what is JSON by the written rules is an event, however it looks.
func TestFault_poison(t *testing.T) {
	p := newPath(t, event.DefaultMapping())
	big := strings.Repeat("x", 10<<20)
	poison := []struct {
		value string
		dead  event.Reason // "": an event
	}{
		{`{"cut":`, event.ReasonMalformed},
		{`{"cut":"in a te`, event.ReasonMalformed},
		{`{"n":` + strings.Repeat("7", 1_000_000) + `}`, ""},
		{`{"n":1e` + strings.Repeat("9", 1_000_000) + `}`, ""},
		{`{"n":0.` + strings.Repeat("0", 1_000_000) + `1}`, ""},
		{`{"n":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`, event.ReasonTooDeep},
		{strings.Repeat(`{"n":`, 10_000) + "1" + strings.Repeat("}", 10_000), event.ReasonTooDeep},
		{strings.Repeat("[", 10_000), event.ReasonTooDeep},
		{"\x00\x00\x00\x00\x01\x02", event.ReasonMalformed}, // the magic byte of a schema registry
		{"\x1f\x8b\x08\x00", event.ReasonMalformed},         // gzip
		{"\xff\xfe{\x00}\x00", event.ReasonMalformed},       // UTF-16
		{"{\"n\":\"\xff\xc0\xaf\"}", event.ReasonMalformed},
		{"{\"\xff\":1}", event.ReasonMalformed},
		{`{"a":1}{"b":2}`, event.ReasonMalformed},
		{`{"a":01}`, event.ReasonMalformed},
		{`{"a":NaN}`, event.ReasonMalformed},
		{`{"text":"` + big + `"}`, ""},
		{`{"text":"` + big, event.ReasonMalformed},
		{`{"` + big[:1<<20] + `":1}`, ""},
		{`{"a":[` + strings.Repeat("1,", 1_000_000) + `1]}`, ""},
	}
	var values []string
	for i, q := range poison {
		values = append(values, fmt.Sprintf(`{"good":%d}`, i), q.value)
	}
	values = append(values, `{"good":"last"}`)
	for _, v := range values {
		p.send("acme", time.Now(), []byte(v))
	}
	v := p.run()
	p.commitsAreWhole(v)
	rows := p.all(v)
	for i, v := range values {
		got := rows[int64(i)]
		var want event.Reason
		if i%2 == 1 {
			want = poison[i/2].dead
		}
		if got.reason != want || got.payload != v {
			t.Errorf("offset %d: dead %q, want %q; %d bytes of %d, %.60q", i, got.reason, want, len(got.payload), len(v), got.payload)
		}
	}
}
