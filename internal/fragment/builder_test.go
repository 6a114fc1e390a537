package fragment

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/event"
)

// A builder keeps the names of keys from one fragment to the next, of whatever tenant; no
// file shows which came before it.
func TestFilesDoNotDependOnEarlierOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	huge := strings.Repeat("k", maxKeyBytes/3)
	keys := []string{"a", "b", "c", "a.b", "b.c", "", "id", "A", huge, strings.Repeat("l", MaxPathBytes+1)}
	values := []string{`1`, `"text"`, `2.5`, `true`, `[1]`, `null`, `{}`, `1e400`}
	var object func(depth int) string
	object = func(depth int) string {
		var out []string
		for _, i := range r.Perm(len(keys))[:1+r.IntN(4)] {
			value := values[r.IntN(len(values))]
			if depth > 0 && r.IntN(3) == 0 {
				value = object(depth - 1)
			}
			if keys[i] == huge && r.IntN(20) > 0 {
				continue
			}
			out = append(out, fmt.Sprintf("%q:%s", keys[i], value))
		}
		return "{" + strings.Join(out, ",") + "}"
	}
	encode := func(b *builder, in *Input, known *Columns, fixed bool) []byte {
		b.begin(in, known, fixed)
		if err := b.events(); err != nil {
			t.Fatal(err)
		}
		if len(b.need) > 0 {
			b.name(known.With(b.need))
		}
		f, err := b.finish()
		if err != nil {
			t.Fatal(err)
		}
		return f.Body
	}
	reused := new(builder)
	for n := range 400 {
		in := Input{Tenant: event.TenantID(fmt.Sprint("t", n)), Kind: Events, Rows: make([]Row, 1+r.IntN(5))}
		for i := range in.Rows {
			in.Rows[i] = Row{ID: fmt.Append(nil, i), Source: &event.Source{}, Format: event.FormatJSON, Payload: []byte(object(2))}
		}
		known := NewColumns(1 + r.IntN(40)).With([]PathType{{"a", Type(1 + r.IntN(5))}, {"a.b", Type(1 + r.IntN(5))}, {"c", Double}}[:r.IntN(4)])
		fixed := r.IntN(3) == 0
		got, want := encode(reused, &in, known, fixed), encode(new(builder), &in, known, fixed)
		if !bytes.Equal(got, want) {
			t.Fatalf("fragment %d: %d bytes by a builder that was used before, %d by a new one", n, len(got), len(want))
		}
	}
	if reused.nodes > maxKeyNodes || reused.keyBytes > maxKeyBytes {
		t.Errorf("%d nodes with %d bytes of keys are kept", reused.nodes, reused.keyBytes)
	}
}
