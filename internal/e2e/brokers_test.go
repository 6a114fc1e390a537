package e2e

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/togodb/togo/internal/e2e/kafkaserver"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
)

// apache is the real broker that the tests of this package share, since a start takes
// seconds; TestMain ends it.
var apache struct {
	dir    string
	server *kafkaserver.Server
}

// overBoth runs a test on the broker in memory, and on Apache Kafka.
func overBoth(t *testing.T, body func(t *testing.T, k kafkatest.Server)) {
	t.Run("memory", func(t *testing.T) { body(t, kafkatest.New(t).Server) })
	t.Run("apache", func(t *testing.T) { body(t, overApache(t)) })
}

// overApache is the shared broker, empty; it is started if need be.
func overApache(t *testing.T) kafkatest.Server {
	t.Helper()
	libs := kafkaserver.Libs(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if apache.server == nil {
		must(os.Mkdir(apache.dir, 0o700))
		s, err := kafkaserver.New(libs, apache.dir)
		must(err)
		must(s.Start(t.Context()))
		apache.server = s
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	k := kafkatest.At(t, clusterAt(apache.server.Addr))
	k.Empty(ctx)
	return k
}

func clusterAt(addr string) kafka.ClusterConfig { return kafka.ClusterConfig{Brokers: []string{addr}} }
