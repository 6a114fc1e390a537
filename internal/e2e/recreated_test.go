package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/kafka/kafkatest"
)

// TestFault_topic_recreated_or_another_cluster: a thousand events, then both topics are created anew, or another cluster
// takes over, and there are 200 events, and 1,200: the new log's end is below, and above, where the old one was. All are stored, as of
// other sources, whether they have ids or are known by their position.
func TestFault_topic_recreated_or_another_cluster(t *testing.T) {
	p := newPath(t, event.DefaultMapping())
	stored := int64(0)
	send := func(n int) {
		var values [][]byte
		for i := range n {
			if i%2 == 0 {
				values = append(values, fmt.Appendf(nil, `{"event_id":"%d-%d"}`, stored, i))
			} else {
				values = append(values, fmt.Appendf(nil, `{"n":%d}`, i)) // the same each time
			}
		}
		p.send("acme", time.Now(), values...)
		stored += int64(n)
		v := p.run()
		rows := 0
		for _, err := range v.Events(t.Context(), "acme", inspect.Always) {
			p.must(err)
			rows++
		}
		if got := v.Totals(); int64(rows) != stored || got.Stored != stored || got.Events != stored {
			t.Fatalf("%d rows of %d events; %+v", rows, stored, got)
		}
	}
	recreate := func() {
		p.must(p.kafka.DeleteTopic(pathTopic))
		p.must(p.kafka.DeleteTopic("shards"))
		p.topics()
	}
	send(1000)
	recreate()
	send(200)
	recreate()
	send(1200)
	p.over(kafkatest.New(t, kfake.ClusterID("another")))
	send(200)
	send(1200)
	p.over(kafkatest.New(t, kfake.ClusterID("a third")))
	send(1)
}
