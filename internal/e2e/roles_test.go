package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/kafkaserver"
	"github.com/togodb/togo/internal/e2e/oracle"
	"github.com/togodb/togo/internal/e2e/tool"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/objstore/s3test"
)

// httpTenant owns the events that come over HTTP.
const httpTenant = "web"

// roles is a configuration for processes of one role each. Whoever lost a shard
// claims it again after a second: the two writers, which both want all shards,
// take them from each other all the time.
const roles = `
store:
  s3: {bucket: %s, prefix: %s, endpoint: %q, region: %s, path_style: true, access_key_id: %s, secret_access_key: %s}
router: {session_timeout: 6s, commit_every: 300ms}
writer: {flush_age: 700ms, small_tenant_age: 1500ms, flush_bytes: 256KiB, checkpoint_every: 8, reclaim_after: 1s}
compactor: {poll: 200ms, fan_in: 4, ratio: 2, quiet_after: 2s, quiet_newest_after: 3s, query_grace: 3s, collect_every: 1s, list_every: 2s, job_timeout: 5s, keep_records: 8}
`

// TestRolesOverS3 runs each role in processes of its own against an S3 server and
// a broker that stays, kills and pauses them, and makes a zombie of a writer.
func TestRolesOverS3(t *testing.T) {
	s3 := s3test.Start(t)
	dir := filepath.Join(t.TempDir(), "kafka")
	b, err := kafka.StartEmbedded(t.Context(), kafka.EmbeddedConfig{Dir: dir, Addr: addr(t)}, kafkatest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	testRoles(t, clusterAt(b.Addr()), s3)
}

// TestRolesOverApacheKafka is the same with Apache Kafka, by its listener that asks
// for TLS and a password.
func TestRolesOverApacheKafka(t *testing.T) {
	s3 := s3test.Start(t)
	overApache(t)
	testRoles(t, apache.server.Secure(), s3)
}

func testRoles(t *testing.T, cluster kafka.ClusterConfig, server *s3test.Server) {
	const (
		distinct = 8_000
		posted   = 400
		over     = 12 * time.Second
		rounds   = 9
	)
	s3 := server.Config(t)
	w := newWorld(t, 4*time.Minute, kafkaserver.YAML(cluster)+fmt.Sprintf(roles, s3.Bucket, s3.Prefix, s3.Endpoint, s3.Region, s3.AccessKeyID, s3.SecretAccessKey)+
		strings.Replace(topics, "http_topic: events\n  topics:", "http_topic: http\n  topics:\n    - {cluster: main, name: http, partitions: 2}", 1))

	routers := []*process{w.process("router-1", addr(t), "run", "--target", "router"), w.process("router-2", addr(t), "run", "--target", "router")}
	writers := []*process{w.process("writer-1", addr(t), "run", "--target", "writer"), w.process("writer-2", addr(t), "run", "--target", "writer")}
	intake := w.process("intake", addr(t), "run", "--target", "intake")
	compactors := []*process{w.process("compactor-1", addr(t), "run", "--target", "compactor"), w.process("compactor-2", addr(t), "run", "--target", "compactor")}
	all := slices.Concat([]*process{intake}, routers, writers, compactors)
	for _, p := range all {
		p.begin()
	}
	for _, p := range append([]*process{intake}, routers...) {
		p.awaitReady()
	}

	msgs := messages(w.rng, distinct)
	a := newAcks()
	s := w.sender(cluster, a)
	done := make(chan error, 2)
	most, rest := msgs[:len(msgs)*9/10], msgs[len(msgs)*9/10:]
	go func() { done <- s.SendAll(w.ctx, most, over) }()
	go func() { done <- post(w.ctx, intake.url("/v1/ingest"), posted, over) }()

	w.must(s.Await(w.ctx, len(msgs)/10))
	zombie(w, writers, nil)
	for _, victim := range append(w.rng.Perm(len(all)), w.rng.Perm(len(all))...)[:rounds] {
		p := all[victim]
		pause := time.Duration(w.rng.Int64N(int64(time.Second)))
		t.Logf("SIGKILL to %s, %s later started again", p.name, pause)
		p.Kill()
		time.Sleep(pause)
		p.begin()
	}
	w.must(<-done)
	w.must(<-done)
	zombie(w, writers, func() {
		// A router that is paused for longer than its session: the other takes its partitions.
		w.must(routers[0].Signal(syscall.SIGSTOP))
		w.must(s.SendAll(w.ctx, rest, 0))
	})
	_, err := w.Await(w.ctx, "one router has routed everything", tool.Status.Routed)
	w.must(err)
	w.must(routers[0].Signal(syscall.SIGCONT))
	before := w.done()

	e := w.expect(s, a, intakeTopics)
	for n := range posted {
		id, payload := webEvent(n)
		w.must(e.Ledger().Sent(oracle.Key{Tenant: httpTenant, ID: id}, payload))
	}
	w.check(e)
	for _, s := range before.Shards {
		if s.Committed > 0 && s.Epoch < 3 {
			t.Errorf("shard %d was claimed %d times: nobody took it from another", s.Shard, s.Epoch)
		}
	}
	w.compacted(compactors)
	w.check(e)
	for _, p := range all {
		p.stop()
	}
}

// compacted waits until nothing is left to merge, and wants that the merges were real.
func (w *world) compacted(compactors []*process) {
	w.t.Helper()
	rests := func(s tool.Status) bool {
		fragments := 0
		for _, p := range compactors {
			_, body := p.get("/status")
			var status struct {
				Compactor []struct {
					Fragments, Waiting int
				}
			}
			if json.Unmarshal([]byte(body), &status) != nil || len(status.Compactor) == 0 {
				return false
			}
			fragments = 0
			for _, shard := range status.Compactor {
				if fragments += shard.Fragments; shard.Waiting > 0 {
					return false
				}
			}
		}
		return fragments == s.Fragments
	}
	s, err := w.Await(w.ctx, "everything is merged", rests)
	w.must(err)
	records := uint64(0)
	for _, shard := range s.Shards {
		records += shard.Position
	}
	w.t.Logf("%d fragments and %d id segments after %d records", s.Fragments, s.IDSegments, records)
	// Of each tier of sizes fewer than fan_in (4) rest, and so few identities make two tiers at most.
	if s.IDSegments > 2*3*len(s.Shards) {
		w.t.Errorf("%d id segments of %d shards are left", s.IDSegments, len(s.Shards))
	}
}

// zombie stops the writer that owns a shard in its tracks, lets the other take
// the shard over, and wakes it again. In the meantime something must come for the
// shard: nobody wants one that does not lag.
func zombie(w *world, writers []*process, meanwhile func()) {
	w.t.Helper()
	at := 0 // a shard that has records: no tenant need lie in shard 0
	s, err := w.Await(w.ctx, "a shard with records is owned", func(s tool.Status) bool {
		for at = range s.Shards {
			if s.Shards[at].Committed > 0 && owner(s, at, writers) != nil {
				return true
			}
		}
		return false
	})
	w.must(err)
	p, epoch := owner(s, at, writers), s.Shards[at].Epoch
	w.must(p.Signal(syscall.SIGSTOP))
	if meanwhile != nil {
		meanwhile()
	}
	s, err = w.Await(w.ctx, "the shard has a new owner", func(s tool.Status) bool { return s.Shards[at].Epoch > epoch && owner(s, at, writers) != p })
	w.must(err)
	w.t.Logf("%s was stopped in epoch %d of shard %d, and wakes in epoch %d", p.name, epoch, at, s.Shards[at].Epoch)
	w.must(p.Signal(syscall.SIGCONT))
}

// owner is the process that owns a shard.
func owner(s tool.Status, shard int, writers []*process) *process {
	for _, p := range writers {
		if strings.HasSuffix(s.Shards[shard].Owner, "/"+strconv.Itoa(p.Pid())) {
			return p
		}
	}
	return nil
}

func webEvent(n int) (id string, payload []byte) {
	id = fmt.Sprint("web-", n)
	return id, fmt.Appendf(nil, `{"event_id":%q,"ts":%d,"path":"/%d"}`, id, 1_767_000_000+n, n)
}

// post sends events over HTTP, ten a request, each again until it is accepted.
func post(ctx context.Context, url string, count int, over time.Duration) error {
	began := time.Now()
	for at := 0; at < count; at += 10 {
		time.Sleep(time.Until(began.Add(over * time.Duration(at) / time.Duration(count))))
		var body bytes.Buffer
		for n := at; n < min(at+10, count); n++ {
			_, payload := webEvent(n)
			body.Write(append(payload, '\n'))
		}
		for {
			err := feed.Post(ctx, url, httpTenant, body.Bytes())
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("events %d to %d are not accepted: %w", at, at+10, err)
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return nil
}
