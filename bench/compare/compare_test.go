package main

import (
	"os"
	"testing"
)

// TestMain lets the test's own program be a step.
func TestMain(m *testing.M) {
	for _, arg := range os.Args[1:] {
		if arg == "-step" {
			main()
			return
		}
	}
	os.Exit(m.Run())
}

// TestOnly chooses steps by parts of their names, which have commas.
func TestOnly(t *testing.T) {
	all, some := &options{}, &options{only: []string{"DuckDB, threads: 1", "from memory"}}
	for name, want := range map[string]bool{"DuckDB, threads: 1": true, "DuckDB, threads: 2": false, routerAlone: true, through: false} {
		if got := some.wants(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
		if !all.wants(name) {
			t.Errorf("%s is left out where nothing was chosen", name)
		}
	}
}

func TestSteps(t *testing.T) {
	o := &options{events: 3000, runs: 2, dir: t.TempDir(), only: []string{"DuckDB", "from memory", "limit: JSON", "limit: Parquet", "limit: files"}}
	r := &report{options: o}
	if err := r.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.unique < 2920 || r.unique > 2980 {
		t.Errorf("%d events differ of 3000", r.unique)
	}
	want := 8
	if os.Getenv("TOGO_VERSITYGW") != "" {
		want++ // files put to S3
	}
	if len(r.lines) != want || r.wrong != 0 {
		t.Errorf("%d steps were run, %d of them wrong", len(r.lines), r.wrong)
	}
	for _, l := range r.lines {
		if l.figures.Events != 3000 || l.figures.CPU <= 0 || l.figures.Wall <= 0 {
			t.Errorf("%s took %+v", l.name, l.figures)
		}
		if l.whole && (l.figures.Rows != r.unique || l.figures.Left != 0) {
			t.Errorf("%s wrote %d rows, %d of them repeats; %d events differ", l.name, l.figures.Rows, l.figures.Left, r.unique)
		}
	}
	r.print(os.Stderr)
}

// TestRepeatsAreSeen has a step that keeps repeats found out.
func TestRepeatsAreSeen(t *testing.T) {
	o := &options{events: 3000, runs: 2, dir: t.TempDir()}
	r := &report{options: o}
	var err error
	if r.unique, r.bytes, err = makeData(o); err != nil {
		t.Fatal(err)
	}
	db, err := openDuck(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "COPY (FROM read_ndjson('"+o.data()+"', columns = "+fields+")) TO '"+o.dir+"/all' (FORMAT parquet, PARTITION_BY (tenant))"); err != nil {
		t.Fatal(err)
	}
	f := figures{Events: 3000}
	if err := f.readBack(t.Context(), db, o.dir+"/all/*/*.parquet", "timestamp, event_id"); err != nil {
		t.Fatal(err)
	}
	if f.Rows != 3000 || f.Left != 3000-r.unique || f.Left == 0 {
		t.Errorf("%d rows, %d repeats; 3000 events, %d differ", f.Rows, f.Left, r.unique)
	}
	r.add(line{name: "keeps repeats", figures: f, whole: true})
	if r.wrong != 1 {
		t.Error("a step that kept repeats passed")
	}
}
