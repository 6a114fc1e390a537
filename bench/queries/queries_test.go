package main

import (
	"context"
	"testing"
	"time"
)

// Both engines must answer all queries alike, on a small store, warm and cold.
func TestAnswersAreTheSame(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	w, err := open(ctx, dir, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	d, err := openDuck(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	defer d.db.Close()
	engine, err := openTogo(ctx, w, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.close()
	for i := range queries {
		q := &queries[i]
		var duck, warm answer
		for _, a := range []*answer{&duck, &warm} {
			a.began = time.Now()
		}
		if err := d.run(ctx, q, &duck); err != nil {
			t.Errorf("%s: DuckDB: %v", q.Name, err)
			continue
		}
		if err := engine.run(ctx, q, &warm); err != nil {
			t.Errorf("%s: %v", q.Name, err)
			continue
		}
		if q.Name != "filter on a rare value" && len(duck.Rows) == 0 {
			t.Errorf("%s: has no rows: the store does not hold what it asks for", q.Name)
		}
		if !same(q, warm.Rows, duck.Rows) {
			t.Errorf("%s: the answers differ:\ntogo: %s\nduckdb: %s", q.Name, shown(warm.Rows), shown(duck.Rows))
		}
		cold := engine.answer(ctx, order{Query: i, Cold: true})
		if cold.Error != "" || !same(q, cold.Rows, duck.Rows) {
			t.Errorf("%s: the cold answer differs: %s %s", q.Name, shown(cold.Rows), cold.Error)
		}
	}
}
