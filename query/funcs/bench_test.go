package funcs

import (
	"context"
	"fmt"
	"testing"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/vec"
)

// BenchmarkFunctions measures calls over flat columns of 2048 rows: a message, a time, a number, a small document: CPU
// time of a row.
func BenchmarkFunctions(b *testing.B) {
	const rows = 2048
	message, at, n, doc := vec.New(vec.Text, rows), vec.New(vec.TimestampTZ, rows), vec.New(vec.Int, rows), vec.New(vec.JSON, rows)
	for i := range rows {
		message.Texts[i] = fmt.Sprintf("payment provider answered %d, order %d kept for retry later by user-%d@example.com", 500+i%7, i*7919, i)
		at.Ints[i] = 1774952430123456789 + int64(i)*7919e9
		n.Ints[i] = int64(i) * 7919
		doc.Texts[i] = fmt.Sprintf(`{"user":{"id":%d,"plan":"pro","tags":["eu","card"]},"ok":true,"amount":%d.50}`, i, i)
	}
	batch := &vec.Batch{Len: rows, Cols: []*vec.Vector{message, at, n, doc}}
	scope := columns{{Slot: 0, Name: "m", T: vec.Text}, {Slot: 1, Name: "t", T: vec.TimestampTZ}, {Slot: 2, Name: "n", T: vec.Int}, {Slot: 3, Name: "d", T: vec.JSON}}
	for _, call := range []string{
		"lower(m)", "length(m)", "contains(m, 'order 79190')", "substring(m, 9, 8)", "split_part(m, ' ', 3)", "m || 'x'", "replace(m, 'order', 'Order')", "md5(m)",
		"regexp_matches(m, 'order [0-9]+5 kept')", "regexp_matches(m, '^pay.*com$')", "regexp_matches(m, '(?i)PROVIDER')", "regexp_matches(m, '[a-z]+@example')", "regexp_extract(m, 'order ([0-9]+)', 1)",
		"regexp_replace(m, '[0-9]+', 'N', 'g')",
		"date_trunc('minute', t)", "date_trunc('month', t)", "date_trunc('day', t, 'Europe/Berlin')", "time_bucket(INTERVAL '5 minutes', t)", "date_part('hour', t)", "date_part('month', t)",
		"timezone('Europe/Berlin', t)", "strftime(t, '%Y-%m-%d %H:%M')", "epoch_ms(t)",
		"abs(n)", "round(n / 7, 2)", "n % 10", "d ->> '$.user.plan'", "d ->> '$.amount'", "d -> '$.user.tags[1]'", "json_array_length(d, '$.user.tags')",
	} {
		b.Run(call, func(b *testing.B) {
			e, err := bind(call, scope)
			if err != nil {
				b.Fatal(err)
			}
			s := &expr.Scratch{Ctx: context.Background(), Memo: map[any]any{}}
			m := cpu.Start(b)
			for b.Loop() {
				s.Begin()
				if _, err := e.Eval(s, batch); err != nil {
					b.Fatal(err)
				}
			}
			m.PerEvent(b.N * rows)
		})
	}
}
