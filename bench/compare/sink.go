package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/togodb/togo/internal/e2e/proc"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/objstore/s3store"
)

// ConnectVariable names the environment variable with the folder of Kafka Connect's and the sink's jars (connect/pom.xml).
const ConnectVariable = "TOGO_CONNECT_LIBS"

// worker is a process of Kafka Connect that runs one connector. Where nothing new comes, a sink learns that it is to commit only when its
// offsets are.
const worker = `
bootstrap.servers=%[1]s
listeners=http://%[2]s
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
offset.storage.file.filename=%[3]s/offsets
consumer.auto.offset.reset=earliest
consumer.max.poll.records=5000
offset.flush.interval.ms=5000
`

// connector has the Iceberg sink make one table, partitioned by tenant, whose Parquet is packed by zstd's fastest level. It commits every
// minute: each commit writes a file for each tenant, and with ten seconds it did little else. Its own default is five minutes.
// One task reads both partitions: of two, one failed in the race to make the table's namespace.
const connector = `
name=` + sinkName + `
connector.class=org.apache.iceberg.connect.IcebergSinkConnector
tasks.max=1
topics=` + intakeTopic + `
iceberg.tables=compare.events
iceberg.tables.auto-create-enabled=true
iceberg.tables.default-partition-by=tenant
iceberg.tables.auto-create-props.write.parquet.compression-codec=zstd
iceberg.tables.auto-create-props.write.parquet.compression-level=1
iceberg.control.topic=` + controlTopic + `
iceberg.control.commit.interval-ms=60000
iceberg.kafka.bootstrap.servers=%[1]s
iceberg.catalog.catalog-impl=org.apache.iceberg.jdbc.JdbcCatalog
iceberg.catalog.uri=jdbc:sqlite:%[2]s/catalog.db
iceberg.catalog.warehouse=s3://%[3]s/warehouse
iceberg.catalog.io-impl=org.apache.iceberg.aws.s3.S3FileIO
iceberg.catalog.s3.endpoint=%[4]s
iceberg.catalog.s3.path-style-access=true
iceberg.catalog.s3.access-key-id=%[5]s
iceberg.catalog.s3.secret-access-key=%[6]s
iceberg.catalog.client.region=us-east-1
`

const (
	sinkName     = "iceberg"
	controlTopic = "control-iceberg"
	sinkHeap     = "2g"
)

// sink has Kafka Connect with the Iceberg sink take the whole backlog of a broker, and stops it. What the process takes until it answers,
// mostly the start of Java, is not in the figures.
func sink(ctx context.Context, o *options, addr string, s3 s3store.Config, bucket string) (f figures, err error) {
	dir := filepath.Join(o.dir, "sink")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return f, err
	}
	if err := ensureTopic(ctx, addr, controlTopic, 1); err != nil {
		return f, err
	}
	rest, err := proc.FreeAddr()
	if err != nil {
		return f, err
	}
	workerFile, sinkFile, logFile := filepath.Join(dir, "worker.properties"), filepath.Join(dir, "sink.properties"), filepath.Join(dir, "log")
	err = errors.Join(
		os.WriteFile(workerFile, fmt.Appendf(nil, worker, addr, rest, dir), 0o600),
		os.WriteFile(sinkFile, fmt.Appendf(nil, connector, addr, dir, s3.Bucket, s3.Endpoint, s3.AccessKeyID, s3.SecretAccessKey), 0o600))
	if err != nil {
		return f, err
	}
	log, err := os.Create(logFile)
	if err != nil {
		return f, err
	}
	defer log.Close()
	p, err := proc.Start("java", []string{"-Xmx" + sinkHeap, "-cp", filepath.Join(o.connect, "*"),
		"org.apache.kafka.connect.cli.ConnectStandalone", workerFile, sinkFile}, log)
	if err != nil {
		return f, err
	}
	defer p.Kill()
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	if err := p.WaitOK(ctx, "http://"+rest+"/connectors"); err != nil {
		return f, fmt.Errorf("Kafka Connect: %w\n%s", err, tail(logFile))
	}
	began, before := time.Now(), processCPU(p.Pid())
	if err := awaitRows(ctx, p, rest, filepath.Join(bucket, "warehouse", "compare", "events"), int64(o.events)); err != nil {
		return f, fmt.Errorf("%w\n%s", err, tail(logFile))
	}
	pid := strconv.Itoa(p.Pid())
	f = figures{Events: int64(o.events), CPU: processCPU(p.Pid()) - before, Wall: time.Since(began), Memory: peak(pid)}
	var exit interface{ ExitCode() int }
	if err := p.Stop(time.Minute); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 143) { // java's word for an end by SIGTERM
		return f, err
	}
	db, err := openDuck(ctx, 1)
	if err != nil {
		return f, err
	}
	defer db.Close()
	return f, f.readBack(ctx, db, filepath.Join(bucket, "warehouse", "compare", "events", "data", "*", "*.parquet"), "timestamp, event_id")
}

func ensureTopic(ctx context.Context, addr, name string, partitions int32) error {
	client, err := kafka.Connect(ctx, kafka.ClusterConfig{Brokers: []string{addr}}, quiet(), nil)
	if err != nil {
		return err
	}
	defer client.Close()
	_, _, err = client.EnsureTopic(ctx, name, partitions, nil)
	return err
}

// awaitRows waits until the table's newest snapshot has so many rows.
func awaitRows(ctx context.Context, p *proc.Process, rest, table string, rows int64) error {
	for {
		got, err := tableRows(table)
		if err != nil {
			return err
		}
		if got >= rows {
			return nil
		}
		if err, ended := p.Exited(); ended {
			return fmt.Errorf("Kafka Connect ended: %v", err)
		}
		if why := failedTask(ctx, rest); why != "" {
			return fmt.Errorf("the sink's task failed: %s", why)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the table has %d rows, it has %d: %w", rows, got, ctx.Err())
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// tableRows is what the newest metadata of an Iceberg table says; 0 while there is none.
func tableRows(table string) (int64, error) {
	files, err := filepath.Glob(filepath.Join(table, "metadata", "*.metadata.json"))
	if err != nil || len(files) == 0 {
		return 0, err
	}
	text, err := os.ReadFile(slices.Max(files)) // named by number
	if err != nil {
		return 0, err
	}
	var meta struct {
		Current   int64 `json:"current-snapshot-id"`
		Snapshots []struct {
			ID      int64             `json:"snapshot-id"`
			Summary map[string]string `json:"summary"`
		} `json:"snapshots"`
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return 0, nil // it is being written
	}
	for _, s := range meta.Snapshots {
		if s.ID == meta.Current {
			return strconv.ParseInt(s.Summary["total-records"], 10, 64)
		}
	}
	return 0, nil
}

// failedTask is why a task of the connector does not run any more; empty if all do.
func failedTask(ctx context.Context, rest string) string {
	var status struct {
		Tasks []struct{ State, Trace string }
	}
	if err := getJSON(ctx, "http://"+rest+"/connectors/"+sinkName+"/status", &status); err != nil {
		return ""
	}
	for _, t := range status.Tasks {
		if t.State == "FAILED" {
			return t.Trace
		}
	}
	return ""
}

func getJSON(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}

// processCPU is what a running process has used, user and system; 0 where the system does not say.
func processCPU(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name may have spaces; what follows it does not.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	const perSecond = 100 // of Linux's clock ticks, as programs see them
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / perSecond
}

// tail is the end of a log.
func tail(path string) string {
	text, _ := os.ReadFile(path)
	return string(text[max(0, len(text)-4000):])
}
