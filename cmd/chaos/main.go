// Command chaos runs Togo's processes against Apache Kafka and an S3 server, kills,
// pauses and cuts them off, and compares what is stored with what was sent (package
// internal/e2e/chaos). Its last line is RESULT kills= lost= extra= ...; it exits
// with status 1 if a promise is broken.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/togodb/togo/internal/e2e/chaos"
	"github.com/togodb/togo/internal/e2e/kafkaserver"
	"github.com/togodb/togo/internal/objstore/s3test"
)

func main() {
	c := chaos.Config{Out: os.Stdout, Versitygw: os.Getenv(s3test.BinaryVariable), KafkaLibs: os.Getenv(kafkaserver.LibsVariable)}
	flag.StringVar(&c.Togo, "togo", "bin/togo", "the program")
	flag.StringVar(&c.Dir, "dir", "", "an empty folder for data and logs, which is kept; empty: a temporary one, kept if something is wrong")
	flag.IntVar(&c.Kills, "kills", 200, "processes to kill")
	flag.DurationVar(&c.For, "for", 0, "end after this time, even with fewer kills; 0: never")
	flag.Uint64Var(&c.Seed, "seed", 1, "decides the traffic, and what happens in which order")
	flag.IntVar(&c.Rate, "rate", 400, "records a second, a third of them over HTTP")
	flag.IntVar(&c.Tenants, "tenants", 16, "by Zipf's law")
	flag.Parse()
	failed, err := run(c)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

func run(c chaos.Config) (failed bool, err error) {
	if c.Versitygw == "" || c.KafkaLibs == "" {
		return true, fmt.Errorf("%s and %s must say where the servers are: `make chaos` gets them", s3test.BinaryVariable, kafkaserver.LibsVariable)
	}
	if c.Kills < 1 || c.Rate < 3 || c.Tenants < 2 {
		return true, fmt.Errorf("-kills %d -rate %d -tenants %d: at least 1, 3 and 2", c.Kills, c.Rate, c.Tenants)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	temporary := c.Dir == ""
	if temporary {
		if c.Dir, err = os.MkdirTemp("", "togo-chaos-"); err != nil {
			return true, err
		}
	}
	fmt.Printf("seed %d; data and logs are in %s\n", c.Seed, c.Dir)
	report, err := chaos.Run(ctx, c)
	failed = report.Failed() || err != nil
	if temporary && !failed {
		os.RemoveAll(c.Dir)
	}
	for _, line := range report.Verdict.Lines(20) {
		fmt.Println(line)
	}
	if report.Verify != "" {
		fmt.Println("togo verify:", strings.TrimSpace(report.Verify))
	}
	broken := len(report.Verdict.Wrong)
	if report.Verify != "" || err != nil {
		broken++
	}
	fmt.Printf("RESULT kills=%d lost=%d extra=%d failed=%d records=%d stored=%d quiet_points=%d seed=%d\n", report.Kills,
		len(report.Verdict.Lost), len(report.Verdict.Extra), broken, report.Records, report.Stored, report.QuietSpots, c.Seed)
	return failed, err
}
