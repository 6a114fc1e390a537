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
	count    = flag.Int("n", 2000, "how many queries")
	seed     = flag.Uint64("seed", 1, "of events and queries")
	rows     = flag.Int("rows", 2100, "events of the largest tenant")
	testdata = flag.String("testdata", "../internal/fragment/testdata", "the folder of real events")
	show     = flag.Int("show", 20, "how many differences are printed")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "sqldiff:", err)
		os.Exit(1)
	}
}
