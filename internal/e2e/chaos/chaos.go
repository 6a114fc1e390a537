// Package chaos runs processes of every role against a real Kafka and a real S3
// server, does to all of them what may happen to them, and compares what is
// stored with what was sent.
//
// The fault model, all of it at once:
//
//   - a process of any role is killed (SIGKILL) at any moment, while it starts, too; or
//     stopped (SIGSTOP) for longer than another needs to claim what it holds, and
//     goes on;
//   - half of the time every writer wants every shard, so that each is fenced
//     again and again; the other half each shard has one;
//   - the broker is killed or restarted, the S3 server is killed;
//   - between everybody and the broker lies a Wire, which loses answers, resets
//     connections, and falls silent for longer than a session lasts;
//   - between the processes and the S3 server stands a Proxy, which loses, delays, cuts
//     short and refuses answers after the server has done what was asked, refuses and
//     resets before, and has writes land long after they were given up;
//   - tenants are placed on other shards in mid-stream;
//   - two compactors, which get all of that too, merge every few fragments, collect what
//     they replaced after seconds, and delete old records of the logs.
//
// What must hold: at each quiet point (the traffic rests, everybody is up) the
// processes catch up by themselves, and then an audit of what Kafka holds
// (package audit) and `togo verify` find nothing. While all of it goes on, `togo
// verify` finds nothing either. In the end the collector leaves what is named, and nothing
// else. No process ever panics.
//
// One seed decides the traffic, the faults and their order. The machine decides
// when they strike, so a seed does not repeat a run.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/togodb/togo/internal/e2e/audit"
	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/kafkaserver"
	"github.com/togodb/togo/internal/e2e/proc"
	"github.com/togodb/togo/internal/e2e/tool"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/objstore/s3store"
	"github.com/togodb/togo/internal/objstore/s3test"
)

// Config of a run.
type Config struct {
	Togo      string        // the program
	Versitygw string        // the S3 server
	KafkaLibs string        // the folder of Kafka's jars
	Dir       string        // empty: for data and logs
	Kills     int           // of Togo's processes; then the run ends
	For       time.Duration // the run ends after it, even with fewer kills; 0: never
	Seed      uint64
	Rate      int       // records a second; a third of them over HTTP
	Tenants   int       // by Zipf's law
	Out       io.Writer // what happens
}

// Report is what a run found.
type Report struct {
	Kills      int
	QuietSpots int
	Records    int // in Kafka
	Stored     int64
	Verdict    audit.Verdict
	Verify     string // what `togo verify` complains of
}

// Failed says whether a promise is broken.
func (r Report) Failed() bool { return !r.Verdict.OK() || r.Verify != "" }

const (
	shards = 4
	// storeTimeout is what the processes wait for an answer of the store; the
	// proxy's delays go by it.
	storeTimeout = 2 * time.Second
	// quietLimit is how long the processes may take to catch up: clients back off
	// for seconds, and several times.
	quietLimit = 2 * time.Minute
	// usualTrouble is the share of requests to the store that always get into trouble.
	usualTrouble = 0.03
)

// configuration of the processes: short ages, so that commits are many, and a small
// budget for identities, so that old ones are asked of the store.
const configuration = `
store:
  s3: {bucket: %s, prefix: %s, endpoint: %q, region: %s, path_style: true, access_key_id: %s, secret_access_key: %s, request_timeout: %s}
intake:
  http_topic: ` + httpTopic + `
  topics:
    - {cluster: main, name: ` + kafkaTopic + `, partitions: 6}
    - {cluster: main, name: ` + httpTopic + `, partitions: 3}
  http: {timeout: 5s}
shard_topic: {cluster: main, name: togo-shards, partitions: %d}
router: {session_timeout: 2s, commit_every: 300ms}
writer: {flush_age: 500ms, small_tenant_age: 1s, flush_bytes: 128KiB, small_tenant_bytes: 8KiB, checkpoint_every: 8,
  reclaim_after: 1s, memory_budget: 64MiB, dedup_budget: 8MiB, fetch_bytes: 8MiB, stop_timeout: 20s}
compactor: {poll: 200ms, fan_in: 4, ratio: 2, quiet_after: 2s, quiet_newest_after: 4s, query_grace: 5s, collect_every: 2s, list_every: 4s,
  job_timeout: 8s, expire_every: 5s, keep_records: 8, merge_memory: 32MiB}
`

// run is one run.
type run struct {
	Config
	rng     *rand.Rand // of the faults
	kafka   *kafkaserver.Server
	s3      *s3test.Server
	proxy   *Proxy
	wire    *Wire
	tool    tool.Tool // asks both servers directly
	alone   tool.Tool // asks the S3 server directly, and no Kafka
	nodes   []*node
	traffic *traffic
	send    *feed.Sender
	audit   *audit.Audit
	began   time.Time

	healing sync.WaitGroup // faults that are still to be undone
	tending chan struct{}  // closed when nobody starts processes any more
	cancel  context.CancelFunc

	mu     sync.Mutex
	acked  map[int]bool   // serial numbers; guarded by mu
	counts map[string]int // faults by name; guarded by mu
	kills  int            // of Togo's processes; guarded by mu
	errs   []error        // what should not go wrong here; guarded by mu
	broken []string       // what `togo verify` found in the middle of it; guarded by mu
}

// Run starts everything, and returns when the run is over; an error says that it
// could not be done.
func Run(ctx context.Context, c Config) (Report, error) {
	r := &run{
		Config: c, rng: rand.New(rand.NewPCG(c.Seed, 0)), traffic: newTraffic(c.Seed, c.Tenants), audit: audit.New(),
		tending: make(chan struct{}), acked: map[int]bool{}, counts: map[string]int{}, began: time.Now(),
	}
	ctx, r.cancel = context.WithCancel(ctx)
	defer r.close()
	if err := r.start(ctx); err != nil {
		close(r.tending) // nobody tends
		return Report{}, err
	}
	go r.tend(ctx)
	report, err := r.rounds(ctx)
	r.cancel()
	return report, errors.Join(r.failure(), err)
}

// start starts the servers, and makes the processes, which tend will start.
func (r *run) start(ctx context.Context) error {
	var err error
	kafkaDir, s3Dir := filepath.Join(r.Dir, "kafka"), filepath.Join(r.Dir, "s3")
	if err := errors.Join(os.MkdirAll(kafkaDir, 0o700), os.MkdirAll(s3Dir, 0o700)); err != nil {
		return err
	}
	if r.kafka, err = kafkaserver.New(r.KafkaLibs, kafkaDir); err != nil {
		return err
	}
	if r.wire, err = NewWire(r.kafka.Addr, r.Seed); err != nil {
		return err
	}
	if err := r.kafka.Advertise(r.wire.Addr); err != nil {
		return err
	}
	if err := r.kafka.Start(ctx); err != nil {
		return err
	}
	if r.s3, err = s3test.New(r.Versitygw, s3Dir); err != nil {
		return err
	}
	if err := r.s3.Start(); err != nil {
		return err
	}
	bucket, err := r.s3.Bucket()
	if err != nil {
		return err
	}
	if r.proxy, err = NewProxy(r.s3.Addr(), storeTimeout, r.Seed); err != nil {
		return err
	}
	direct, err := r.configure("direct.yaml", r.kafka.Secure(), bucket)
	if err != nil {
		return err
	}
	r.tool = tool.Tool{Bin: r.Togo, Args: []string{"--config", direct, "--dir", r.Dir}}
	nobody, err := proc.FreeAddr()
	if err != nil {
		return err
	}
	alone, err := r.configure("alone.yaml", kafka.ClusterConfig{Brokers: []string{nobody}}, bucket)
	if err != nil {
		return err
	}
	r.alone = tool.Tool{Bin: r.Togo, Args: []string{"--config", alone, "--dir", r.Dir}}
	bucket.Endpoint = r.proxy.Endpoint
	proxied, err := r.configure("togo.yaml", r.overWire(), bucket)
	if err != nil {
		return err
	}
	for _, role := range []string{router, writer, intake, compactor} {
		for i := range 2 {
			if err := r.addNode(fmt.Sprintf("%s-%d", role, i+1), role, proxied); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) overWire() kafka.ClusterConfig {
	return kafka.ClusterConfig{Brokers: []string{r.wire.Addr}}
}

func (r *run) configure(name string, cluster kafka.ClusterConfig, s3 s3store.Config) (string, error) {
	path := filepath.Join(r.Dir, name)
	text := kafkaserver.YAML(cluster) + fmt.Sprintf(configuration, s3.Bucket, s3.Prefix, s3.Endpoint, s3.Region, s3.AccessKeyID, s3.SecretAccessKey, storeTimeout, shards)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

func (r *run) addNode(name, role, config string) error {
	addr, err := proc.FreeAddr()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(r.Dir, name+".log"))
	if err != nil {
		return err
	}
	r.nodes = append(r.nodes, &node{name: name, role: role, http: addr, bin: r.Togo, log: log,
		args: []string{"--config", config, "--dir", r.Dir, "--set", "http.listen=" + addr, "run", "--target", role}})
	return nil
}

// tend starts whatever has ended, until ctx ends.
func (r *run) tend(ctx context.Context) {
	defer close(r.tending)
	for {
		for _, n := range r.nodes {
			if err := n.tend(time.Now()); err != nil {
				r.complain(err)
			}
		}
		if !sleep(ctx, 50*time.Millisecond) {
			return
		}
	}
}

// close ends everything.
func (r *run) close() {
	r.cancel()
	r.healing.Wait() // or a server would be started after its end
	<-r.tending
	for _, n := range r.nodes {
		n.close()
	}
	if r.send != nil {
		r.send.Close()
	}
	if r.proxy != nil {
		r.proxy.Close()
	}
	if r.wire != nil {
		r.wire.Close()
	}
	if r.s3 != nil {
		r.s3.Kill()
	}
	if r.kafka != nil {
		r.kafka.Kill()
	}
}

// connect waits until the processes have made the topics, and connects the sender.
func (r *run) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	for _, n := range r.nodes {
		if err := r.awaitReady(ctx, n); err != nil {
			return err
		}
	}
	var err error
	r.send, err = feed.NewSender(context.WithoutCancel(ctx), r.overWire(), r.ack)
	return err
}

func (r *run) ack(m feed.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acked[m.Serial] = true
	return nil
}

func (r *run) count(fault string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[fault]++
}

func (r *run) counted(fault string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[fault]
}

// countKill counts a kill of one of Togo's processes.
func (r *run) countKill(how string, n *node) {
	r.count(how + n.role)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kills++
}

func (r *run) killCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kills
}

// complain ends the run: without its servers nothing goes on.
func (r *run) complain(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
	r.cancel()
}

func (r *run) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.errs...)
}

func (r *run) sayf(format string, args ...any) {
	fmt.Fprintf(r.Out, "%6.1fs  "+format+"\n", append([]any{time.Since(r.began).Seconds()}, args...)...)
}
