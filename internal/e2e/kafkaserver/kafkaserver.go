// Package kafkaserver starts a real Apache Kafka for tests: one node that is
// broker and controller (KRaft), on loopback ports. It listens in the clear at
// Addr, and with TLS and SASL/SCRAM at SecureAddr. Its jars come from Maven
// Central by tools/kafka; the environment variable TOGO_KAFKA_LIBS names their
// folder.
//
// The node's data stays in its folder, whether it was stopped or killed, so Start
// goes on with the same topics. Without the variable the tests that need the
// server are skipped, unless CI_REQUIRE_SERVERS is 1: then they fail, so that a
// run that must prove something proves it.
package kafkaserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/e2e/proc"
	"github.com/togodb/togo/internal/kafka"
)

// The names of the environment variables.
const (
	LibsVariable    = "TOGO_KAFKA_LIBS"
	RequireVariable = "CI_REQUIRE_SERVERS"
)

// Who the secure listener lets in.
const (
	User     = "togo"
	Password = "not-guessed"
)

const (
	startTimeout = time.Minute
	stopTimeout  = 30 * time.Second
	clusterID    = "dG9nby10ZXN0cy1rYWZrYQ"
	mechanism    = kafka.MechanismScramSHA512
)

// properties: one replica of everything, groups that form at once, sessions as
// short as the tests' routers ask for.
const properties = `
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[3]s
listeners=PLAINTEXT://%[1]s,SASL_SSL://%[2]s,CONTROLLER://%[3]s
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL
sasl.enabled.mechanisms=%[6]s
listener.name.sasl_ssl.%[7]s.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
ssl.keystore.type=PEM
ssl.keystore.location=%[5]s
log.dirs=%[4]s
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
auto.create.topics.enable=false
num.network.threads=2
num.io.threads=4
log.cleaner.enable=false
broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=300
`

// Server is a broker, running or not.
type Server struct {
	Addr       string
	SecureAddr string
	CAFile     string // of the secure listener
	LogFile    string // what the broker prints

	libs string
	conf string
	text string // of conf, but for the advertised addresses
	proc *proc.Process
}

// New prepares a broker in an empty folder.
func New(libs, dir string) (*Server, error) {
	s := &Server{libs: libs, conf: filepath.Join(dir, "server.properties"),
		CAFile: filepath.Join(dir, "ca.pem"), LogFile: filepath.Join(dir, "server.log")}
	var addrs [3]string
	for i := range addrs {
		var err error
		if addrs[i], err = proc.FreeAddr(); err != nil {
			return nil, err
		}
	}
	s.Addr, s.SecureAddr = addrs[0], addrs[1]
	keys := filepath.Join(dir, "keys.pem")
	if err := writeCertificate(s.CAFile, keys); err != nil {
		return nil, err
	}
	s.text = fmt.Sprintf(properties, s.Addr, s.SecureAddr, addrs[2], filepath.Join(dir, "data"), keys, mechanism, strings.ToLower(mechanism))
	if err := s.Advertise(s.Addr); err != nil {
		return nil, err
	}
	user := fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, User, Password)
	format := exec.Command("java", s.java("kafka.tools.StorageTool", "format", "-t", clusterID, "-c", s.conf, "--add-scram", user)...)
	if out, err := format.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("format Kafka's storage: %w\n%s", err, out)
	}
	return s, nil
}

// Advertise has the broker tell its clients in the clear that it is at addr, from
// the next start on: something else listens there, and passes on to Addr.
func (s *Server) Advertise(addr string) error {
	text := s.text + fmt.Sprintf("advertised.listeners=PLAINTEXT://%s,SASL_SSL://%s\n", addr, s.SecureAddr)
	return os.WriteFile(s.conf, []byte(text), 0o600)
}

// java is the command line of a class: a small heap and the quick compiler, since
// a test's broker does little and lives for a minute.
func (s *Server) java(class string, args ...string) []string {
	return append([]string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
		"-cp", filepath.Join(s.libs, "*"), class}, args...)
}

// Start starts the broker on its data, and waits until it answers.
func (s *Server) Start(ctx context.Context) error {
	log, err := os.OpenFile(s.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	if s.proc, err = proc.Start("java", s.java("kafka.Kafka", s.conf), log); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		c, err := kafka.Connect(ctx, kafka.ClusterConfig{Brokers: []string{s.Addr}}, slog.New(slog.DiscardHandler), nil)
		if err == nil {
			c.Close()
			return nil
		}
		if exit, ended := s.proc.Exited(); ended {
			text, _ := os.ReadFile(s.LogFile)
			return fmt.Errorf("Kafka ended: %v\n%s", exit, text)
		}
		select {
		case <-ctx.Done():
			s.Kill()
			text, _ := os.ReadFile(s.LogFile)
			return fmt.Errorf("Kafka does not answer: %w\n%s", err, text)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Stop asks the broker to end.
func (s *Server) Stop() error {
	err := s.proc.Stop(stopTimeout)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 143 { // java's word for an end by SIGTERM
		return nil
	}
	return err
}

// Kill ends the broker at once.
func (s *Server) Kill() {
	if s.proc != nil {
		s.proc.Kill()
	}
}

// Secure reaches the listener with TLS and SASL/SCRAM.
func (s *Server) Secure() kafka.ClusterConfig {
	return kafka.ClusterConfig{
		Brokers: []string{s.SecureAddr},
		TLS:     kafka.TLSConfig{Enabled: true, CAFile: s.CAFile},
		SASL:    kafka.SASLConfig{Mechanism: mechanism, Username: User, Password: Password},
	}
}

// YAML is the setting kafka of Togo's configuration, with one cluster.
func YAML(c kafka.ClusterConfig) string {
	out := fmt.Sprintf("kafka:\n  main:\n    brokers: [%s]\n", strings.Join(c.Brokers, ", "))
	if c.TLS.Enabled {
		out += fmt.Sprintf("    tls: {enabled: true, ca_file: %q}\n", c.TLS.CAFile)
	}
	if c.SASL.Mechanism != "" {
		out += fmt.Sprintf("    sasl: {mechanism: %s, username: %q, password: %q}\n", c.SASL.Mechanism, c.SASL.Username, c.SASL.Password)
	}
	return out
}

// Libs is the folder of the jars; without it the test is skipped, or fails.
func Libs(t testing.TB) string {
	t.Helper()
	libs := os.Getenv(LibsVariable)
	if libs == "" {
		if os.Getenv(RequireVariable) == "1" {
			t.Fatalf("%s is not set, and %s=1 forbids to skip", LibsVariable, RequireVariable)
		}
		t.Skipf("%s is not set: fetch the jars as tools/kafka/README.md says", LibsVariable)
	}
	return libs
}
