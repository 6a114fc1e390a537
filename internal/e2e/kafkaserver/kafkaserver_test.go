package kafkaserver

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/togodb/togo/internal/kafka"
)

// TestServer uses one broker, since a start takes seconds.
func TestServer(t *testing.T) {
	s, err := New(Libs(t), t.TempDir())
	must(t, err)
	defer s.Kill()
	must(t, s.Start(t.Context()))
	t.Run("it keeps its data", func(t *testing.T) { testRestart(t, s) })
	t.Run("its secure listener asks for a password", func(t *testing.T) { testRefusals(t, s) })
}

// testRestart ends the broker both ways; the topic stays the same one, at both listeners.
func testRestart(t *testing.T, s *Server) {
	before := topicID(t, kafka.ClusterConfig{Brokers: []string{s.Addr}})
	must(t, s.Stop())
	must(t, s.Start(t.Context()))
	if after := topicID(t, s.Secure()); after != before {
		t.Errorf("after Stop the topic is %s, was %s", after, before)
	}
	s.Kill()
	must(t, s.Start(t.Context()))
	if after := topicID(t, s.Secure()); after != before {
		t.Errorf("after Kill the topic is %s, was %s", after, before)
	}
}

func testRefusals(t *testing.T, s *Server) {
	for what, change := range map[string]func(*kafka.ClusterConfig){
		"no SASL":        func(c *kafka.ClusterConfig) { c.SASL = kafka.SASLConfig{} },
		"no TLS":         func(c *kafka.ClusterConfig) { c.TLS = kafka.TLSConfig{} },
		"wrong password": func(c *kafka.ClusterConfig) { c.SASL.Password = "guessed" },
	} {
		cfg := s.Secure()
		change(&cfg)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if c, err := kafka.Connect(ctx, cfg, slog.New(slog.DiscardHandler), nil); err == nil {
			c.Close()
			t.Errorf("%s: let in", what)
		}
		cancel()
	}
}

// topicID creates the topic if it is not there.
func topicID(t *testing.T, cfg kafka.ClusterConfig) string {
	t.Helper()
	c, err := kafka.Connect(t.Context(), cfg, slog.New(slog.DiscardHandler), nil)
	must(t, err)
	defer c.Close()
	info, _, err := c.EnsureTopic(t.Context(), "kept", 2, nil)
	must(t, err)
	return info.ID.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
