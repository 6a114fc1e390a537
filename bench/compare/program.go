package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/togodb/togo/internal/e2e/proc"
	"github.com/togodb/togo/internal/e2e/tool"
	"github.com/togodb/togo/internal/kafka"
)

// configuration of the program: as it is by default, but for where things lie.
const configuration = `
log: {level: error}
kafka: {main: {brokers: ["%s"]}}
shard_topic: {cluster: main, partitions: 2}
intake:
  topics:
    - cluster: main
      name: ` + intakeTopic + `
      partitions: 2
      mapping: {format: json, tenant: [{field: tenant}], timestamp: [{field: timestamp}], id: [{field: event_id}]}
%s`

const (
	shardTopic     = "togo-shards"
	programTimeout = 30 * time.Minute
)

// buildProgram returns the program to run.
func buildProgram(ctx context.Context, o *options) (string, error) {
	if o.togo != "" {
		return filepath.Abs(o.togo)
	}
	bin := filepath.Join(o.dir, "togo")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/togo")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program from ../..: %w\n%s", err, out)
	}
	return bin, nil
}

// program has a router and a writer, in one process of the program, take the whole backlog of a broker, and stops it. Its start and its
// stop, which commits what is left, are in the figures. store is the setting of the store; empty: a local folder.
func program(ctx context.Context, o *options, name, addr, store string) (f figures, err error) {
	bin, err := buildProgram(ctx, o)
	if err != nil {
		return f, err
	}
	dir := filepath.Join(o.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return f, err
	}
	config := filepath.Join(dir, "togo.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, configuration, addr, store), 0o600); err != nil {
		return f, err
	}
	t := tool.Tool{Bin: bin, Args: []string{"--config", config, "--dir", dir}}
	listen, err := proc.FreeAddr()
	if err != nil {
		return f, err
	}
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	began := time.Now()
	args := append(slices.Clone(t.Args), "--set", "http.listen="+listen, "--set", "http.pprof="+strconv.FormatBool(o.profile != ""))
	p, err := proc.Start(bin, append(args, "run", "--target", "router,writer"), os.Stderr)
	if err != nil {
		return f, err
	}
	defer p.Kill()
	if o.profile != "" {
		profiling, end := context.WithCancel(ctx)
		var done sync.WaitGroup
		done.Go(func() { o.profiles(profiling, name, "http://"+listen) })
		defer done.Wait()
		defer end()
	}
	if err := awaitRead(ctx, t, p, addr, "http://"+listen+"/metrics"); err != nil {
		return f, err
	}
	f.Memory = peak(strconv.Itoa(p.Pid()))
	if err := p.Stop(2 * time.Minute); err != nil {
		return f, err
	}
	f.Events, f.CPU, f.Wall = int64(o.events), p.CPU(), time.Since(began)
	status, err := t.Status(ctx)
	if err != nil {
		return f, err
	}
	if status.Totals.Events != f.Events {
		return f, fmt.Errorf("%s: the shard logs have %d events of %d", name, status.Totals.Events, f.Events)
	}
	return f, nil
}

// profiles keeps CPU profiles of a running program, one after the other, each of some seconds, until ctx ends.
func (o *options) profiles(ctx context.Context, name, url string) {
	for n := 1; ctx.Err() == nil; n++ {
		body, err := get(ctx, url+"/debug/pprof/profile?seconds=2")
		if err != nil {
			time.Sleep(50 * time.Millisecond) // it has not started yet, or stops
			continue
		}
		err = os.WriteFile(filepath.Join(o.profile, fmt.Sprintf("%s-%d.pprof", name, n)), body, 0o644)
		if err != nil {
			fmt.Fprintln(os.Stderr, "profile:", err)
		}
	}
}

func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	return body, err
}

// awaitRead waits until the router has routed all and the writer has read all.
func awaitRead(ctx context.Context, t tool.Tool, p *proc.Process, addr, metrics string) error {
	if _, err := t.Await(ctx, "all is routed", tool.Status.Routed); err != nil {
		return err
	}
	client, err := kafka.Connect(ctx, kafka.ClusterConfig{Brokers: []string{addr}}, quiet(), nil)
	if err != nil {
		return err
	}
	defer client.Close()
	ends, err := client.Offsets(ctx, shardTopic)
	if err != nil {
		return err
	}
	var records float64
	for _, r := range ends {
		records += float64(r.End)
	}
	for {
		if read, err := scrape(ctx, metrics, "togo_writer_records_total"); err != nil {
			return err
		} else if read >= records {
			return nil
		}
		if err, ended := p.Exited(); ended {
			return fmt.Errorf("the program ended: %v", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the writer has read all: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// scrape is a metric's sum over its labels.
func scrape(ctx context.Context, url, name string) (total float64, err error) {
	body, err := get(ctx, url)
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(body)); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok || rest == "" || (rest[0] != '{' && rest[0] != ' ') {
			continue
		}
		v, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", url, err)
		}
		total += v
	}
	return total, nil
}
