package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/togodb/togo/internal/e2e/kafkaserver"
	"github.com/togodb/togo/internal/objstore/s3store"
	"github.com/togodb/togo/internal/objstore/s3test"
)

const (
	realServers = "Togo, Apache Kafka and S3"
	realSink    = "Iceberg sink for Kafka Connect"
	kafkaReads  = "limit: franz-go reads from Apache Kafka"
	s3Puts      = "limit: files put, S3"
)

// servers runs the program, and what people would use instead, over Apache Kafka and an S3 server.
func (r *report) servers(ctx context.Context) (err error) {
	if !r.wants(realServers) && !r.wants(realSink) && !r.wants(kafkaReads) && !r.wants(s3Puts) {
		return nil
	}
	libs, gateway := os.Getenv(kafkaserver.LibsVariable), os.Getenv(s3test.BinaryVariable)
	switch _, err := exec.LookPath("java"); {
	case err != nil:
		r.skip("all over Apache Kafka and S3: there is no java")
		return nil
	case libs == "":
		r.skip("all over Apache Kafka and S3: %s does not say where Kafka's jars are (scripts/compare.sh gets them with Maven)", kafkaserver.LibsVariable)
		return nil
	case gateway == "":
		r.skip("all over Apache Kafka and S3: %s does not say where versitygw is (scripts/compare.sh builds it)", s3test.BinaryVariable)
		return nil
	}
	broker, err := kafkaserver.New(libs, folder(r.dir, "kafka"))
	if err != nil {
		return err
	}
	if err := broker.Start(ctx); err != nil {
		return err
	}
	defer broker.Kill()
	s3, err := s3test.New(gateway, folder(r.dir, "s3"))
	if err != nil {
		return err
	}
	if err := s3.Start(); err != nil {
		return err
	}
	defer s3.Kill()
	if err := produce(ctx, r.options, broker.Addr); err != nil {
		return fmt.Errorf("fill the topic of Apache Kafka: %w", err)
	}
	r.broker = broker.Addr
	if err := r.step(ctx, kafkaReads, "consume", runtime.NumCPU(), "", false); err != nil {
		return err
	}
	if err := r.puts(ctx, s3); err != nil {
		return err
	}
	if err := r.overS3(ctx, broker.Addr, s3); err != nil {
		return err
	}
	return r.sink(ctx, broker.Addr, s3)
}

// puts is the S3 client alone, with files as Togo's writer made them.
func (r *report) puts(ctx context.Context, s3 *s3test.Server) error {
	bucket, err := s3.Bucket()
	if err != nil || r.files == 0 {
		return err
	}
	text, err := json.Marshal(bucket)
	if err != nil {
		return err
	}
	r.s3 = string(text)
	defer func() { r.s3 = "" }()
	return r.step(ctx, s3Puts, "put", 1, "", false)
}

// bucketDir is where the S3 server keeps a bucket: its objects are files there.
func (r *report) bucketDir(c s3store.Config) string {
	return filepath.Join(r.dir, "s3", "buckets", c.Bucket)
}

func (r *report) overS3(ctx context.Context, addr string, s3 *s3test.Server) error {
	if !r.wants(realServers) {
		return nil
	}
	bucket, err := s3.Bucket()
	if err != nil {
		return err
	}
	f, err := program(ctx, r.options, "servers", addr, fmt.Sprintf(
		"store:\n  s3: {bucket: %s, prefix: %s, endpoint: %q, region: %s, path_style: true, access_key_id: %s, secret_access_key: %s}\n",
		bucket.Bucket, bucket.Prefix, bucket.Endpoint, bucket.Region, bucket.AccessKeyID, bucket.SecretAccessKey))
	if err != nil {
		return err
	}
	if err := f.readTogo(ctx, filepath.Join(r.bucketDir(bucket), bucket.Prefix)); err != nil {
		return err
	}
	r.add(line{realServers, exactlyOnce, f, true})
	return nil
}

func (r *report) sink(ctx context.Context, addr string, s3 *s3test.Server) error {
	if !r.wants(realSink) {
		return nil
	}
	if r.connect == "" {
		r.skip("%s: %s does not say where its jars are (scripts/compare.sh gets them with Maven)", realSink, ConnectVariable)
		return nil
	}
	bucket, err := s3.Bucket()
	if err != nil {
		return err
	}
	f, err := sink(ctx, r.options, addr, bucket, r.bucketDir(bucket))
	if ctx.Err() == nil && err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		r.skip("%s: %s", realSink, first)
		fmt.Fprintln(os.Stderr, err)
		return nil
	}
	if err != nil {
		return err
	}
	r.add(line{realSink, "each Kafka record once, repeats kept", f, false})
	return nil
}

// folder is one of the run's.
func folder(dir, name string) string {
	path := filepath.Join(dir, name)
	_ = os.MkdirAll(path, 0o755) // who uses it says what is wrong
	return path
}
