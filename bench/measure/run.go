// Package measure runs Togo under a load and measures it: the roles, the broker (if it is the embedded one) and the
// generator are processes of their own, children of this one, so that CPU time and memory of each are the kernel's figures.
//
//  1. What is counted is counted by its owner: events sent by Kafka's acknowledgements, events closed by the shard logs,
//     requests by the store's own wrapper, CPU time and memory by the kernel, freshness by a query over HTTP.
//  2. Nothing is guessed. What could not be measured is not in the result, and a note says why.
//  3. An interrupt ends the load, not the measurement: the result is of the time until then.
//  4. No child outlives Run.
//
// CPU time by step comes from CPU profiles of the roles, by the packages in the stacks (steps.go).
package measure

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/togodb/togo/bench/load"
	"github.com/togodb/togo/bench/result"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/objstore"
)

// Plan says what to run.
type Plan struct {
	Program   string   // the binary of the children
	Arguments []string // of each child, before the command
	Folder    string   // for the children's logs, and the broker's data
	Broker    string   // where the embedded broker listens; "": there is a Kafka already
	Cluster   kafka.ClusterConfig
	Topic     string // of the intake
	Store     func(context.Context) (objstore.Store, error)

	Workload   *load.Workload
	Seed       uint64
	For        time.Duration
	Ahead      int64         // at most so many events are sent that are not closed; 0: any number
	FlushAge   time.Duration // as configured
	SmallAge   time.Duration // as configured for small tenants; 0: no such rule
	SmallBytes int64         // a tenant that sends less in a flush age is small
	Queries    bool          // ask the twelve queries all the time
	Token      string        // for queries, where tokens are asked for
	Profile    bool
	Prices     *Prices
	Progress   io.Writer // a line each second; nil: none
	Rewrite    bool      // Progress is a terminal: the line is written over
	Logger     *slog.Logger
	WriterStop time.Duration // the time that a writer may take for its last commit
}

// The roles, in the order of their start.
var roles = []string{"writer", "router", "compactor", "query"}

const (
	broker    = "broker"
	generated = "generator"
)

// startLimit is how long a child may take until it is ready.
const startLimit = time.Minute

// rig is a run under way.
type rig struct {
	Plan
	children []*child // in the order of their start
	store    objstore.Store
	client   *kafka.Client
	producer *kafka.Producer
	asker    *asker
	probers  []*prober
	inquiry  *interrogation

	began time.Time // of the load
	mu    sync.Mutex
	sent  Sent     // guarded by mu
	notes []string // guarded by mu

	profiles map[string]*profile // guarded by mu
	width    int                 // of the last line of progress
	background
}

// background are the goroutines that work beside the load.
type background struct {
	wait       sync.WaitGroup
	stopProbes context.CancelFunc // no more are sent; for others it is asked on
	stopBeside context.CancelFunc // queries and profiles
	stopAsking context.CancelFunc // for probes
}

func (r *rig) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := fmt.Sprintf(format, args...); !slices.Contains(r.notes, n) {
		r.notes = append(r.notes, n)
	}
}

func (r *rig) child(role string) *child {
	for _, c := range r.children {
		if c.role == role {
			return c
		}
	}
	return nil
}

// Run measures until the load has ended and all of it is closed, or ctx ends. It fills in what it measured;
// the rest of the document is the caller's. With an error there may be a document, too.
func Run(ctx context.Context, p Plan) (*result.Document, error) {
	r := &rig{Plan: p, profiles: map[string]*profile{}}
	life := context.WithoutCancel(ctx)
	defer r.close()
	if err := os.MkdirAll(filepath.Join(p.Folder, "logs"), 0o755); err != nil {
		return nil, err
	}
	if err := r.startAll(ctx); err != nil {
		return nil, err
	}
	s, err := newSampler(life, r)
	if err != nil {
		return nil, err
	}
	if err := r.startLoad(life); err != nil {
		return nil, err
	}
	interrupted, err := r.during(ctx, life, s)
	if err != nil {
		return nil, err
	}
	if err := r.windUp(life, s); err != nil {
		return nil, err
	}
	doc := s.document()
	doc.Interrupted = interrupted
	return doc, nil
}

func (r *rig) startAll(ctx context.Context) error {
	if r.Broker != "" {
		c, err := r.start(broker, []string{"bench", "broker", "--listen", r.Broker, "--data", filepath.Join(r.Folder, "kafka")}, false)
		if err != nil {
			return err
		}
		if err := c.listening(ctx, r.Broker, startLimit); err != nil {
			return err
		}
	}
	for i, role := range roles {
		addr, err := freeAddr()
		if err != nil {
			return err
		}
		args := []string{"--set", "http.listen=" + addr, "--set", "http.pprof=true", "run", "--target", role}
		c, err := r.start(role, args, false)
		if err != nil {
			return err
		}
		c.addr = addr
		if i == 0 { // it makes the store and the topics
			if err := c.ready(ctx, startLimit); err != nil {
				return err
			}
		}
	}
	for _, role := range roles {
		if err := r.child(role).ready(ctx, startLimit); err != nil {
			return err
		}
	}
	r.asker = &asker{addr: r.child("query").addr, token: r.Token}
	return r.open(ctx)
}

func (r *rig) start(role string, args []string, talks bool) (*child, error) {
	c, err := start(r.Program, filepath.Join(r.Folder, "logs"), role, append(slices.Clone(r.Arguments), args...), talks)
	if err == nil {
		r.children = append(r.children, c)
	}
	return c, err
}

// open connects this process itself, for the probes and the shard logs.
func (r *rig) open(ctx context.Context) (err error) {
	if r.store, err = r.Store(ctx); err != nil {
		return err
	}
	if r.client, err = kafka.Connect(ctx, r.Cluster, r.Logger, nil); err != nil {
		return err
	}
	info, err := r.client.Topic(ctx, r.Topic)
	if err != nil {
		return err
	}
	r.producer, err = r.client.NewProducer(info, kafka.ProducerConfig{Spread: true})
	return err
}

// startLoad starts the generator and what works beside it.
func (r *rig) startLoad(life context.Context) error {
	rate := "max"
	if r.Workload.Rate > 0 {
		rate = fmt.Sprint(float64(r.Workload.Rate))
	}
	c, err := r.start(generated, []string{
		"bench", "generate", "--workload", r.Workload.Name, "--rate", rate, "--for", r.For.String(), "--topic", r.Topic,
		"--seed", fmt.Sprint(r.Seed), "--ahead", fmt.Sprint(r.Ahead),
	}, true)
	if err != nil {
		return err
	}
	r.began = time.Now()
	go r.hear(c)
	sending, stopProbes := context.WithCancel(life)
	beside, stopBeside := context.WithCancel(life)
	asking, stopAsking := context.WithCancel(life)
	r.stopProbes, r.stopBeside, r.stopAsking = stopProbes, stopBeside, stopAsking
	run := fmt.Sprint(r.began.UnixNano())
	// What is sent at the load's very end may find that nothing follows it, and waits as long as a small tenant's.
	loaded, stopLoaded := context.WithTimeout(sending, max(r.For-r.FlushAge-time.Second, r.For/2))
	r.wait.Go(func() { <-loaded.Done(); stopLoaded() })
	r.probe(loaded, asking, run, 0, 500*time.Millisecond, r.FlushAge+time.Second)
	if r.SmallAge > 0 && r.Workload.Tenants > 1 {
		r.probe(sending, asking, run, r.Workload.Tenants-1, time.Second, r.SmallAge+time.Second)
	}
	if r.Queries {
		r.inquiry = &interrogation{client: r.asker, tenant: load.TenantName(0), pause: 200 * time.Millisecond, ready: r.probers[0].any}
		r.wait.Go(func() { r.inquiry.run(beside) })
	}
	if r.Profile {
		for _, role := range roles {
			r.wait.Go(func() { r.profile(beside, role) })
		}
	}
	return nil
}

// probe measures the freshness of the tenant of a rank.
func (r *rig) probe(sending, asking context.Context, run string, rank int, every, limit time.Duration) {
	p := &prober{client: r.asker, sends: produces(r.producer), now: time.Now, run: run, tenant: load.TenantName(rank), every: every, limit: limit}
	r.probers = append(r.probers, p)
	r.wait.Go(func() {
		if err := p.send(sending); err != nil {
			r.note("freshness: %v", err)
		}
	})
	r.wait.Go(func() { p.ask(asking) })
}

func (r *rig) profile(ctx context.Context, role string) {
	p, err := profileRole(ctx, r.child(role).addr)
	if err != nil {
		r.note("no CPU time by step for the %s: %v", role, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.profiles[role] = p
}

// during samples once a second until everything that was sent is closed, by the writer's own rules of when. interrupted: ctx ended
// before.
func (r *rig) during(ctx, life context.Context, s *sampler) (interrupted bool, err error) {
	defer r.stopAll()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	generator := r.child(generated)
	lastMove := time.Now()
	for {
		select {
		case <-ctx.Done():
			_ = generator.in.Close() // the load ends
			generator.stop(time.Minute)
			return true, s.sample(life)
		case <-tick.C:
		}
		for _, c := range r.children {
			if c.ended() && (c.role != generated || c.exit != nil) {
				return false, c.failure()
			}
		}
		before, closed := s.judged, s.closed
		if err := s.sample(life); err != nil {
			return false, err
		}
		if s.judged != before || s.closed != closed || !r.heard().Done {
			lastMove = time.Now()
		}
		_, _ = fmt.Fprintf(generator.in, "%d\n", s.closed) // it may have ended
		r.say(s)
		if !r.heard().Done {
			continue
		}
		s.loadEnded()
		r.stopProbes()
		if s.judged >= s.sent {
			s.allJudged()
			r.stopBeside()
		}
		if s.closed >= s.sent {
			return false, nil
		}
		if limit := r.idleLimit(); time.Since(lastMove) > limit {
			r.note("%d events were sent and not closed when nothing had moved for %s", s.sent-s.closed, limit)
			return false, nil
		}
	}
}

// idleLimit is how long a run waits for events when none gets on: small tenants may let a writer wait.
func (r *rig) idleLimit() time.Duration { return max(r.FlushAge, r.SmallAge) + 15*time.Second }

// windUp lets the writer commit what it holds, and the queries see it.
func (r *rig) windUp(life context.Context, s *sampler) error {
	s.lastCounts(life)
	r.child("router").stop(startLimit)
	r.child("writer").stop(r.WriterStop + 10*time.Second)
	if err := s.finish(life); err != nil {
		return err
	}
	for range 10 { // states of queries are at most a second old
		for _, p := range r.probers {
			p.look(life)
		}
		time.Sleep(askEvery)
	}
	for _, p := range r.probers {
		if p.failed > 0 {
			r.note("freshness of %s: %d questions were not answered, the last one: %v", p.tenant, p.failed, p.why)
		}
	}
	if r.inquiry != nil && r.inquiry.why != nil {
		r.note("a query was not answered: %v", r.inquiry.why)
	}
	return nil
}

// stopAll ends the goroutines, if there are any.
func (r *rig) stopAll() {
	if r.stopProbes != nil {
		r.stopProbes()
		r.stopBeside()
		r.stopAsking()
	}
	r.wait.Wait()
}

// close ends every child, the last one first.
func (r *rig) close() {
	r.stopAll()
	if r.producer != nil {
		r.producer.Close()
	}
	if r.client != nil {
		r.client.Close()
	}
	for _, c := range slices.Backward(r.children) {
		if c.in != nil {
			_ = c.in.Close()
		}
		c.stop(10 * time.Second)
	}
	if c, ok := r.store.(io.Closer); ok {
		_ = c.Close()
	}
}

func (r *rig) heard() Sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}
