// Package s3test starts a real S3 server for tests: versitygw over a temporary
// directory. The program is built from the module tools/versitygw, and named by
// the environment variable TOGO_VERSITYGW.
//
// Without the variable the tests that need the server are skipped, unless
// CI_REQUIRE_SERVERS is 1: then they fail, so that a run that must prove
// something proves it.
package s3test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/togodb/togo/internal/objstore/s3store"
)

// The names of the environment variables.
const (
	BinaryVariable  = "TOGO_VERSITYGW"
	RequireVariable = "CI_REQUIRE_SERVERS"
)

const (
	accessKey = "togo-test"
	secretKey = "togo-test-secret"
	// startTries is for the race for a free port, startTimeout for a slow machine.
	startTries   = 5
	startTimeout = 20 * time.Second
)

// Server is a running versitygw.
type Server struct {
	Endpoint string
	root     string // a folder is a bucket
	buckets  atomic.Int64
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	binary := os.Getenv(BinaryVariable)
	if binary == "" {
		if os.Getenv(RequireVariable) == "1" {
			t.Fatalf("%s is not set, and %s=1 forbids to skip", BinaryVariable, RequireVariable)
		}
		t.Skipf("%s is not set: build it with `go build` in tools/versitygw", BinaryVariable)
	}
	s := &Server{root: t.TempDir()}
	var err error
	for range startTries {
		if err = s.start(t, binary); err == nil {
			return s
		}
	}
	t.Fatalf("start %s: %v", binary, err)
	return nil
}

func (s *Server) start(t testing.TB, binary string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	listener.Close() // the server wants to bind it itself
	logPath := filepath.Join(t.TempDir(), "versitygw.log")
	log, err := os.Create(logPath)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(binary, "--port", address, "--access", accessKey, "--secret", secretKey,
		"--keep-alive", "--quiet", "posix", s.root)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = command.Wait()
	}()
	stop := func() {
		_ = command.Process.Kill()
		<-exited
	}
	deadline := time.Now().Add(startTimeout)
	for time.Now().Before(deadline) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			t.Cleanup(stop)
			s.Endpoint = "http://" + address
			return nil
		}
		select {
		case <-exited:
			text, _ := os.ReadFile(logPath)
			return fmt.Errorf("it ended: %s", text)
		case <-time.After(10 * time.Millisecond):
		}
	}
	stop()
	return fmt.Errorf("no answer at %s within %s", address, startTimeout)
}

// Config is a configuration for a fresh bucket.
func (s *Server) Config(t testing.TB) s3store.Config {
	t.Helper()
	bucket := fmt.Sprintf("bucket-%d", s.buckets.Add(1))
	if err := os.Mkdir(filepath.Join(s.root, bucket), 0o777); err != nil {
		t.Fatal(err)
	}
	return s3store.Config{
		Bucket: bucket, Prefix: "a/prefix", Endpoint: s.Endpoint, Region: "us-east-1", PathStyle: true,
		AccessKeyID: accessKey, SecretAccessKey: secretKey,
	}
}

// Store is a store in a fresh bucket.
func (s *Server) Store(t testing.TB) *s3store.Store {
	t.Helper()
	store, err := s3store.New(context.Background(), s.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	return store
}
