package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/togodb/togo/internal/e2e/tool"
)

// The names of faults in the report.
const (
	killed        = "SIGKILL: "
	killedAtStart = "SIGKILL while starting: "
	frozen        = "SIGSTOP, SIGCONT: "
	zombies       = frozen + writer + " that woke when another owned its shards"
	brokerKilled  = "SIGKILL: Apache Kafka"
	brokerStopped = "restart: Apache Kafka"
	s3Killed      = "SIGKILL: S3 server"
	storeTrouble  = "store: times of trouble for half of the requests"
	placed        = "changes of placements"
	onTheWire     = "connections to Kafka: "
	merged        = "merges by compactors that were alive at a quiet point"
	verified      = "togo verify in the middle of it, nothing found"
)

// step waits a moment, and lets one thing happen. Its end is undone in the background.
func (r *run) step(ctx context.Context, shared bool) {
	if !sleep(ctx, r.between(200*time.Millisecond, 1500*time.Millisecond)) {
		return
	}
	n := r.nodes[r.rng.IntN(len(r.nodes))]
	switch p := r.rng.Float64(); {
	case p < 0.58:
		r.kill(ctx, n)
	case p < 0.66:
		r.freeze(ctx, n)
	case p < 0.72 && shared:
		r.zombie(ctx)
	case p < 0.72:
		r.freeze(ctx, n)
	case p < 0.75:
		r.restartBroker(ctx)
	case p < 0.80:
		r.restartS3(ctx)
	case p < 0.88:
		r.trouble(ctx)
	case p < 0.95:
		r.hurt(ctx)
	default:
		r.place(ctx)
	}
}

func (r *run) between(least, most time.Duration) time.Duration {
	return least + time.Duration(r.rng.Int64N(int64(most-least)))
}

// heal undoes a fault later.
func (r *run) heal(f func()) {
	r.healing.Add(1)
	go func() {
		defer r.healing.Done()
		f()
	}()
}

// kill kills a process, one time in five again while it starts.
func (r *run) kill(ctx context.Context, n *node) {
	again, starting := r.rng.IntN(5) == 0, r.between(0, 600*time.Millisecond)
	pause := r.between(0, time.Second)
	if !n.kill(pause) {
		return
	}
	r.countKill(killed, n)
	if again {
		r.heal(func() {
			sleep(ctx, pause+starting)
			if n.kill(0) {
				r.countKill(killedAtStart, n)
			}
		})
	}
}

// freeze stops a process for longer than others need to take its place: a router's
// session lasts 2 s.
func (r *run) freeze(ctx context.Context, n *node) {
	pause := r.between(time.Second, 6*time.Second)
	if !n.freeze() {
		return
	}
	r.count(frozen + n.role)
	r.heal(func() {
		sleep(ctx, pause)
		n.thaw()
	})
}

// zombie stops a writer that owns shards until the other has them, and wakes it.
func (r *run) zombie(ctx context.Context) {
	n := r.owner(ctx)
	if n == nil || !n.freeze() {
		return
	}
	r.count(frozen + n.role)
	r.heal(func() {
		ctx, cancel := context.WithTimeout(ctx, takeLimit)
		defer cancel()
		_, err := r.tool.Await(ctx, "another owns its shards", func(s tool.Status) bool { return !owns(s, n) })
		if n.thaw() && err == nil {
			r.count(zombies)
		}
	})
}

// takeLimit is how long a zombie's shards may wait for the other writer, which
// waits twice as long each time that it was fenced, before the zombie wakes anyway.
const takeLimit = 15 * time.Second

// owner is a writer that owns a shard; nil if none is found.
func (r *run) owner(ctx context.Context) *node {
	s, err := r.tool.Status(ctx)
	if err != nil {
		return nil // a server is down
	}
	for _, n := range r.ofRole(writer) {
		if owns(s, n) {
			return n
		}
	}
	return nil
}

// owns goes by the process's id in its claims.
func owns(s tool.Status, n *node) bool {
	pid := n.pid()
	return pid != 0 && slices.ContainsFunc(s.Shards, func(l tool.Shard) bool { return strings.HasSuffix(l.Owner, fmt.Sprint("/", pid)) })
}

// restartBroker kills or stops the broker, and starts it again.
func (r *run) restartBroker(ctx context.Context) {
	r.healing.Wait() // one server at a time
	pause := r.between(0, 2*time.Second)
	if r.rng.IntN(2) == 0 {
		r.count(brokerKilled)
		r.kafka.Kill()
	} else {
		r.count(brokerStopped)
		if err := r.kafka.Stop(); err != nil {
			r.complain(fmt.Errorf("stop the broker: %w", err))
		}
	}
	r.heal(func() {
		sleep(ctx, pause)
		if err := r.kafka.Start(context.WithoutCancel(ctx)); err != nil {
			r.complain(fmt.Errorf("start the broker again: %w", err))
		}
	})
}

// restartS3 kills the S3 server, and starts it again.
func (r *run) restartS3(ctx context.Context) {
	r.healing.Wait()
	pause := r.between(0, 3*time.Second)
	r.count(s3Killed)
	r.s3.Kill()
	r.heal(func() {
		sleep(ctx, pause)
		if err := r.s3.Start(); err != nil {
			r.complain(fmt.Errorf("start the S3 server again: %w", err))
		}
	})
}

// trouble makes the store hard to reach for some seconds.
func (r *run) trouble(ctx context.Context) {
	seconds := r.between(time.Second, 4*time.Second)
	r.count(storeTrouble)
	r.proxy.SetRate(0.5)
	r.heal(func() {
		sleep(ctx, seconds)
		r.proxy.SetRate(usualTrouble)
	})
}

// hurt harms some of the connections to the broker.
func (r *run) hurt(ctx context.Context) {
	harm, seconds := harms[r.rng.IntN(len(harms))], r.between(500*time.Millisecond, 4*time.Second)
	r.heal(func() {
		for range r.wire.Hurt(harm, func() { sleep(ctx, seconds) }) {
			r.count(onTheWire + string(harm))
		}
	})
}

// place puts a tenant, or all that have no placement, on other shards.
func (r *run) place(ctx context.Context) {
	some := r.rng.Perm(shards)[:1+r.rng.IntN(shards)]
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(some), " ", ","), "[]")
	args := []string{"placements", "set", r.traffic.anyTenant(), list}
	if r.rng.IntN(3) == 0 {
		args = []string{"placements", "default", list}
	}
	if _, err := r.tool.Output(ctx, args...); err != nil && ctx.Err() == nil {
		return // the S3 server is down
	}
	r.count(placed)
}
