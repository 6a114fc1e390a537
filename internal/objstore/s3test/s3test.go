// Package s3test starts a real S3 server for tests: versitygw over a directory.
// The program is built from the module tools/versitygw, and named by
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

// Server is a versitygw, running or not; its data stays.
type Server struct {
	Endpoint string

	binary  string
	address string
	dir     string // of its data, where a folder is a bucket, and of its log
	buckets atomic.Int64
	process *exec.Cmd
	exited  chan struct{} // closed when process has ended
}

// New prepares a server in a folder.
func New(binary, dir string) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	listener.Close() // the server wants to bind it itself
	s := &Server{Endpoint: "http://" + address, binary: binary, address: address, dir: dir}
	return s, os.MkdirAll(s.root(), 0o777)
}

// Addr is where the server listens, running or not.
func (s *Server) Addr() string { return s.address }

func (s *Server) root() string { return filepath.Join(s.dir, "buckets") }

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
	var s *Server
	var err error
	for range startTries {
		if s, err = New(binary, t.TempDir()); err == nil {
			err = s.Start()
		}
		if err == nil {
			t.Cleanup(s.Kill)
			return s
		}
	}
	t.Fatalf("start %s: %v", binary, err)
	return nil
}

// Start starts the server on its data, and waits until it answers.
func (s *Server) Start() error {
	path := filepath.Join(s.dir, "versitygw.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.process = exec.Command(s.binary, "--port", s.address, "--access", accessKey, "--secret", secretKey,
		"--keep-alive", "--quiet", "posix", s.root())
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		s.process = nil
		return err
	}
	s.exited = make(chan struct{})
	go func(process *exec.Cmd, exited chan struct{}) {
		defer close(exited)
		_ = process.Wait()
	}(s.process, s.exited)
	deadline := time.Now().Add(startTimeout)
	for time.Now().Before(deadline) {
		conn, err := net.Dial("tcp", s.address)
		if err == nil {
			conn.Close()
			return nil
		}
		select {
		case <-s.exited:
			text, _ := os.ReadFile(path)
			return fmt.Errorf("it ended: %s", text)
		case <-time.After(10 * time.Millisecond):
		}
	}
	s.Kill()
	return fmt.Errorf("no answer at %s within %s", s.address, startTimeout)
}

// Kill ends the server at once (SIGKILL).
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	<-s.exited
}

// Config is a configuration for a fresh bucket.
func (s *Server) Config(t testing.TB) s3store.Config {
	t.Helper()
	config, err := s.Bucket()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// Bucket makes a fresh bucket.
func (s *Server) Bucket() (s3store.Config, error) {
	bucket := fmt.Sprintf("bucket-%d", s.buckets.Add(1))
	return s3store.Config{
		Bucket: bucket, Prefix: "a/prefix", Endpoint: s.Endpoint, Region: "us-east-1", PathStyle: true,
		AccessKeyID: accessKey, SecretAccessKey: secretKey,
	}, os.Mkdir(filepath.Join(s.root(), bucket), 0o777)
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
