package writer

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// TestFault_hung_store_noticed_within_a_minute: an owner commits every five seconds, and at some moment no
// more, for twenty minutes. Whoever waits for the shard may claim it within a minute, and never
// while the owner commits.
func TestFault_hung_store_noticed_within_a_minute(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			log := shardlog.OpenWith(objstore.NewMemory(), 0, shardlog.Config{Logger: kafkatest.Quiet()})
			state, err := log.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			epoch, _, err := log.Claim(t.Context(), state, "owner", "1")
			if err != nil {
				t.Fatal(err)
			}
			w := &Writer{cfg: DefaultConfig(), d: Deps{Logger: kafkatest.Quiet()}, log: kafkatest.Quiet()}
			r := &runner{w: w, store: log, log: w.log, lags: func(context.Context, *shardlog.State) bool { return true }}
			may := make(chan time.Time, 1)
			go func() {
				if r.mayReclaim(t.Context(), 1) {
					may <- time.Now()
				}
			}()
			offset := int64(0)
			last := time.Now()
			for end := last.Add(time.Duration(rng.Int64N(int64(10 * time.Minute)))); time.Now().Before(end); {
				time.Sleep(5 * time.Second)
				offset++
				won, _, err := log.Append(t.Context(), state, controlOnly(state, epoch, offset))
				if err != nil || !won {
					t.Fatal(won, err)
				}
				last = time.Now()
			}
			select {
			case at := <-may:
				if d := at.Sub(last); d <= 0 || d > time.Minute {
					t.Errorf("seed %d: claimed %s after the last commit", seed, d)
				}
			case <-time.After(20 * time.Minute):
				t.Errorf("seed %d: never claimed", seed)
			}
		})
	}
}

// controlOnly is a commit of one control offset.
func controlOnly(s *shardlog.State, epoch shardlog.Epoch, next int64) *shardlog.Record {
	src := shardlog.Source{Cluster: "k", Topic: "00000000000000000000000000000001"}
	return &shardlog.Record{Kind: shardlog.KindAppend, Append: &shardlog.Append{
		Epoch: epoch, Seq: s.Seq() + 1,
		Progress: []shardlog.Progress{{Source: src, TopicName: "shards", From: next - 1, Next: next, Control: 1}},
	}}
}
