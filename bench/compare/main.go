// Compare runs one job by Togo and by what people would use instead, on the same events in one run: JSON events of 200 tenants,
// 2% of them exact repeats (the workload "small" of bench/load), become zstd Parquet, a folder for each tenant.
//
//   - DuckDB reads the events as NDJSON, drops repeats by (tenant, timestamp, id), and writes; on one thread and on two.
//   - Togo's writer alone does it from events in memory; router and writer, the program itself, do it from Kafka and through Kafka.
//   - The Apache Iceberg sink for Kafka Connect does it from Apache Kafka to an S3 server, as router and writer do on the same two, where
//     these can be had. It keeps repeats.
//   - The limits do one step and nothing else: reading from Kafka, parsing, writing columns as Parquet from memory, putting the files.
//
// Each step is a process of its own. What counts is its CPU time, user and system, garbage collection included, and the most memory it
// held; making the events, brokers and stores are not in it. Whatever a step wrote is read again by DuckDB, which counts rows and
// repeats that are left. A step whose tool is missing is skipped, and says so.
//
// It is a module of its own, because DuckDB needs cgo and the program must not.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	var o options
	flag.IntVar(&o.events, "events", 1_000_000, "that each step takes")
	flag.Func("only", "steps whose name contains this; may be given several times; what these need is run too", func(part string) error {
		o.only = append(o.only, part)
		return nil
	})
	flag.IntVar(&o.runs, "runs", 3, "of DuckDB on one thread and of Togo's parts from memory, in turn; their median counts")
	flag.StringVar(&o.dir, "dir", "", "where everything lies during the run; default: a folder that is removed at the end")
	flag.StringVar(&o.togo, "togo", "", "the program; default: built from this tree")
	flag.StringVar(&o.connect, "connect", os.Getenv(ConnectVariable), "folder with the jars of Kafka Connect and the Iceberg sink (connect/pom.xml)")
	flag.StringVar(&o.profile, "profile", "", "folder for CPU profiles of the steps, and of the program over the embedded broker or Apache Kafka")
	step := flag.String("step", "", "used by the program itself")
	flag.StringVar(&o.broker, "broker", "", "used by the program itself")
	flag.IntVar(&o.files, "files", 0, "used by the program itself")
	flag.Int64Var(&o.fileBytes, "file-bytes", 0, "used by the program itself")
	flag.StringVar(&o.s3, "s3", "", "used by the program itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &o, *step); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

type options struct {
	events, runs  int
	only          []string
	dir           string
	togo, connect string
	profile       string // folder
	broker        string // address, for a step that reads from Kafka
	files         int    // how many files Togo's writer made of the events, and
	fileBytes     int64  // their size together
	s3            string // where to put files, as JSON; empty: a local folder
}

func (o *options) wants(name string) bool {
	return len(o.only) == 0 || slices.ContainsFunc(o.only, func(part string) bool { return strings.Contains(name, part) })
}

func run(ctx context.Context, o *options, step string) error {
	if step != "" {
		f, err := child(ctx, o, step)
		if err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
		return json.NewEncoder(os.Stdout).Encode(f)
	}
	if o.events < 1000 {
		return errors.New("-events is from 1000 on")
	}
	if o.runs < 1 {
		return errors.New("-runs is from 1 on")
	}
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "togo-compare-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	r := &report{options: o}
	err := r.all(ctx)
	r.print(os.Stdout)
	if err == nil && r.wrong > 0 {
		err = errors.New("a step that promises each event once lost or repeated some")
	}
	return err
}
