package main

import (
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/internal/kafka"
)

type devCmd struct {
	KafkaListen string `help:"Address of the embedded broker." default:"127.0.0.1:9092" placeholder:"HOST:PORT"`
	HTTPListen  string `help:"Address of the HTTP server; default: http.listen." placeholder:"HOST:PORT"`
}

// devFlushAge lets people see their events at once; the store of a laptop does not mind small files.
const devFlushAge = time.Second

// devMaxMessageBytes is for events that are documents, too.
const devMaxMessageBytes = 16 << 20

// Run starts the broker, then every role against it. Everything lies under --dir,
// and survives the process, however it ends.
func (c devCmd) Run(a *app) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	if c.HTTPListen != "" {
		cfg.HTTP.Listen = c.HTTPListen
	}
	defaults := config.Default().Writer
	if cfg.Writer.FlushAge == defaults.FlushAge && cfg.Writer.SmallTenantAge == defaults.SmallTenantAge {
		cfg.Writer.FlushAge, cfg.Writer.SmallTenantAge = devFlushAge, devFlushAge
	}
	broker, err := kafka.StartEmbedded(a.ctx, kafka.EmbeddedConfig{
		Dir:             filepath.Join(a.cli.Dir, "kafka"),
		Addr:            c.KafkaListen,
		MaxMessageBytes: devMaxMessageBytes,
	}, a.log)
	if err != nil {
		return err
	}
	defer broker.Close()
	for name, k := range cfg.Kafka {
		k.Brokers = []string{broker.Addr()}
		cfg.Kafka[name] = k
	}
	for i := range cfg.Intake.Topics {
		if t := &cfg.Intake.Topics[i]; t.Partitions == 0 {
			t.Partitions = cfg.ShardTopic.Partitions
		}
	}
	return a.run(cfg, allRoles, func(p *process, addr string) {
		fmt.Fprintf(a.out, "togo dev: store and broker in %s\n", a.cli.Dir)
		fmt.Fprintf(a.out, "  kafka  %s  topics", broker.Addr())
		for _, t := range cfg.Intake.Topics {
			fmt.Fprintf(a.out, " %s", t.Name)
		}
		fmt.Fprintln(a.out)
		if _, port, err := net.SplitHostPort(addr); err == nil {
			fmt.Fprintf(a.out, "  http   http://localhost:%s  /v1/ingest /v1/query /status /metrics\n", port)
		}
		fmt.Fprintln(a.out, "ready; Ctrl-C stops it")
	})
}
