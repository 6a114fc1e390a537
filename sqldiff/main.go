// Sqldiff holds Togo's answers against DuckDB's: queries that a generator makes, over events that a generator and real services
// made, on the same files. It is a module of its own, because DuckDB needs cgo and the program must not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
)

var (
	count     = flag.Int("n", 2000, "how many queries")
	seed      = flag.Uint64("seed", 1, "of events and queries")
	rows      = flag.Int("rows", 2100, "events of the largest tenant")
	testdata  = flag.String("testdata", "../internal/fragment/testdata", "the folder of real events")
	constants = flag.Bool("constants", false, "queries without a table alone")
	each      = flag.Int("each", 4, "in how many ways Togo is asked each query")
	examples  = flag.Int("examples", 1, "how many differences of one sort are printed")
	record    = flag.String("record", "", "write n queries and DuckDB's answers to this file, for a test without DuckDB")
	large     = flag.Bool("large", false, "few files with all events of an hour in each, so that many rows have several pages")
	working   = flag.Bool("live", true, "ask also while a compactor works; slow with many rows")
	hide      = flag.String("hide", "", "a regular expression: differences of such sorts are counted, and not printed")
	show      = flag.Int("show", 20, "how many sorts of differences are printed")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "sqldiff:", err)
		os.Exit(1)
	}
}
