package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/internal/kafka"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	intakeTopic      = "events"
	intakePartitions = 2
	maxMessageBytes  = 1 << 20
)

// broker is Togo's embedded Kafka, in memory. It prints its address and runs until its input ends.
func broker(ctx context.Context, _ *options) (figures, error) {
	b, err := kafka.StartEmbedded(ctx, kafka.EmbeddedConfig{Addr: "127.0.0.1:0"}, quiet())
	if err != nil {
		return figures{}, err
	}
	defer b.Close()
	fmt.Println(b.Addr())
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return figures{}, err
	}
	return figures{CPU: cpu.Time(), Memory: peak("self")}, nil
}

// startBroker runs the broker in a process of its own; stop ends it.
func (o *options) startBroker(ctx context.Context) (addr string, stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self, o.args("broker")...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error {
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		return cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = stop()
		return "", nil, fmt.Errorf("the broker does not say where it is: %w", err)
	}
	return strings.TrimSpace(line), stop, nil
}

// produce fills the intake topic with the events.
func produce(ctx context.Context, o *options, addr string) error {
	client, err := kafka.Connect(ctx, kafka.ClusterConfig{Brokers: []string{addr}}, quiet(), nil)
	if err != nil {
		return err
	}
	defer client.Close()
	topic, _, err := client.EnsureTopic(ctx, intakeTopic, intakePartitions, nil)
	if err != nil {
		return err
	}
	p, err := client.NewProducer(topic, kafka.ProducerConfig{Linger: 5 * time.Millisecond})
	if err != nil {
		return err
	}
	defer p.Close()
	in, err := openChunks(o)
	if err != nil {
		return err
	}
	defer in.close()
	failed := make(chan error, 1)
	for {
		lines, err := in.next()
		if err != nil || len(lines) == 0 {
			return err
		}
		for i, line := range lines {
			p.Produce(ctx, kafka.Message{Partition: int32(i % intakePartitions), Timestamp: time.Now(), Value: line}, func(_ int64, err error) {
				if err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			})
		}
		if err := p.Flush(ctx); err != nil { // what follows takes the lines' room
			return err
		}
		select {
		case err := <-failed:
			return err
		default:
		}
	}
}

// consume reads the intake topic by franz-go, and does nothing with it.
func consume(ctx context.Context, o *options) (figures, error) {
	m := meter{figures: figures{Events: int64(o.events)}}
	m.start()
	client, err := kgo.NewClient(kgo.SeedBrokers(o.broker), kgo.ConsumeTopics(intakeTopic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return figures{}, err
	}
	defer client.Close()
	for read := 0; read < o.events; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return figures{}, err
		}
		read += fetches.NumRecords()
	}
	m.stop()
	return m.figures, nil
}
