package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/togodb/togo/internal/e2e/tool"
)

// ownersOf are the shards that each writer is told to own: all, or its own half.
func ownersOf(shared bool) [][]string {
	if shared {
		return [][]string{nil, nil}
	}
	return [][]string{{"--set", "writer.shards=[0, 1]"}, {"--set", "writer.shards=[2, 3]"}}
}

// rounds alternate between writers that share all shards and writers with shards of their own;
// each ends with a quiet point.
func (r *run) rounds(ctx context.Context) (Report, error) {
	for _, n := range r.ofRole(writer) {
		n.wake(nil)
	}
	if err := r.connect(ctx); err != nil {
		return Report{}, err
	}
	r.sayf("everything is up: 2 routers, 2 writers, 2 intakes, 2 compactors, Apache Kafka at %s behind %s, S3 at %s behind %s", r.kafka.Addr, r.wire.Addr, r.s3.Addr(), r.proxy.Endpoint)
	var report Report
	each := min(max(r.Kills/8, 15), 25)
	for shared := true; ; shared = !shared {
		if err := r.round(ctx, shared, each); err != nil {
			return report, err
		}
		if err := r.quiet(ctx, &report); err != nil {
			return report, err
		}
		report.QuietSpots++
		r.say(report, shared)
		if report.Failed() {
			return report, nil
		}
		if !r.goesOn(ctx) {
			break
		}
		if err := r.reshare(!shared); err != nil {
			return report, err
		}
	}
	return report, r.last(ctx, &report)
}

func (r *run) goesOn(ctx context.Context) bool {
	return ctx.Err() == nil && r.killCount() < r.Kills && (r.For == 0 || time.Since(r.began) < r.For)
}

// round sends, and lets things happen, until so many processes were killed.
func (r *run) round(ctx context.Context, shared bool, kills int) error {
	r.proxy.SetRate(usualTrouble)
	s := r.startSending(ctx)
	s.loop(func() error { r.verifyMeanwhile(ctx, s.end); return nil })
	until := min(r.killCount()+kills, r.Kills)
	// What chance brings too seldom for a short run.
	r.step(ctx, shared)
	if shared {
		r.zombie(ctx)
	} else {
		r.restartBroker(ctx)
		r.hurt(ctx)
	}
	r.place(ctx)
	for r.goesOn(ctx) && r.killCount() < until {
		r.step(ctx, shared)
	}
	r.healing.Wait()
	r.proxy.SetRate(0)
	return errors.Join(s.stop(), ctx.Err())
}

// verifyEvery is how often `togo verify` looks in the middle of everything.
const verifyEvery = 4 * time.Second

// verifyMeanwhile asks the program, after a moment, whether every promise holds on the store. (Not whether every intake offset is
// accounted for: those that were routed last are not in a commit yet.)
func (r *run) verifyMeanwhile(ctx context.Context, end chan struct{}) {
	select {
	case <-end:
		return
	case <-ctx.Done():
		return
	case <-time.After(verifyEvery):
	}
	out, err := r.alone.Output(ctx, "verify")
	switch {
	case strings.Contains(out, "failed=0"):
		r.count(verified)
	case err != nil && strings.Contains(out, "failed="):
		r.mu.Lock()
		defer r.mu.Unlock()
		r.broken = append(r.broken, "togo verify in the middle of it: "+out)
	} // else the S3 server is down
}

// reshare stops the writers well, and has them start with other shards.
func (r *run) reshare(shared bool) error {
	for i, n := range r.ofRole(writer) {
		if err := n.stop(); err != nil {
			return err
		}
		n.wake(ownersOf(shared)[i])
	}
	return nil
}

// quiet waits until nothing is left to do, and compares.
func (r *run) quiet(ctx context.Context, report *Report) error {
	began := time.Now()
	report.Kills = r.killCount()
	waiting, cancel := context.WithTimeout(ctx, quietLimit)
	status, err := r.tool.Await(waiting, "everything is stored", tool.Status.Done)
	cancel()
	if err != nil {
		report.Verdict.Wrong = append(report.Verdict.Wrong, fmt.Sprintf("the processes do not catch up within %s: %v", quietLimit, err))
		return nil
	}
	merges := r.countMerges(ctx)
	r.sayf("quiet after %.1fs, %d merges by the compactors that run", time.Since(began).Seconds(), merges)
	for _, topic := range []string{kafkaTopic, httpTopic} {
		held, err := r.send.Read(ctx, topic)
		if err != nil {
			return err
		}
		for _, h := range held {
			if topic == httpTopic {
				h = overHTTP(h)
			}
			if err := r.audit.Add(h); err != nil {
				return err
			}
		}
	}
	if missing := r.audit.Missing(r.acked); len(missing) > 0 {
		return fmt.Errorf("%d acknowledged records are not in Kafka, the first is number %d: the broker broke its word, the rest proves nothing", len(missing), missing[0])
	}
	found, err := r.audit.Find(ctx, r.tool)
	if err != nil {
		return err
	}
	report.Verdict = r.audit.Compare(found)
	r.mu.Lock()
	report.Verdict.Wrong = append(report.Verdict.Wrong, r.broken...)
	r.broken = nil
	r.mu.Unlock()
	report.cries(r.nodes)
	report.Stored = status.Totals.Stored
	report.Records, _, _, _, _ = r.audit.Ledger().Counts()
	return r.verify(ctx, report)
}

// countMerges asks the compactors how many merges they have done since they were started.
func (r *run) countMerges(ctx context.Context) (n int) {
	for _, c := range r.ofRole(compactor) {
		var status struct {
			Compactor []struct {
				Merges int `json:"merges"`
			} `json:"compactor"`
		}
		if err := c.status(ctx, &status); err != nil {
			continue // it was killed a moment ago, and is not up yet
		}
		for _, s := range status.Compactor {
			n += s.Merges
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[merged] += n
	return n
}

// verify asks the program itself, too.
func (r *run) verify(ctx context.Context, report *Report) error {
	out, err := r.tool.Output(ctx, "verify")
	if err != nil || !strings.Contains(out, "failed=0") {
		report.Verify = fmt.Sprintf("%v\n%s", err, out)
	}
	return ctx.Err()
}

// cries are a failure, wherever they come from.
func (report *Report) cries(nodes []*node) {
	for _, n := range nodes {
		if line := n.cry(); line != "" {
			report.Verdict.Wrong = append(report.Verdict.Wrong, n.name+" says "+line)
		}
	}
}

// last lets all late writes land, looks once more, and stops everybody well.
func (r *run) last(ctx context.Context, report *Report) error {
	r.proxy.Settle()
	if err := r.quiet(ctx, report); err != nil {
		return err
	}
	report.QuietSpots++
	for _, n := range r.nodes {
		if err := n.stop(); err != nil {
			report.Verdict.Wrong = append(report.Verdict.Wrong, err.Error())
		}
	}
	if err := r.collect(ctx, report); err != nil {
		return err
	}
	r.table(*report)
	return nil
}

// collect has the collector take everything that it may, when nobody writes any more: what is named stays,
// and nothing else.
func (r *run) collect(ctx context.Context, report *Report) error {
	if _, err := r.tool.Output(ctx, "gc", "--grace", "1ms"); err != nil {
		return err
	}
	left, err := r.tool.Output(ctx, "gc", "--dry-run")
	if err != nil {
		return err
	}
	for _, none := range []string{" may_commit=0 ", " garbage=0 ", " unknown=0 ", " uploads=0 "} {
		if !strings.Contains(left, none) {
			report.Verdict.Wrong = append(report.Verdict.Wrong, "after the last collection: "+left)
			break
		}
	}
	if r.counted(merged) == 0 {
		report.Verdict.Wrong = append(report.Verdict.Wrong, "no compactor has merged anything")
	}
	status, err := r.tool.Status(ctx)
	if err != nil {
		return err
	}
	r.sayf("%d fragments and %d id segments are left of %d records in the logs", status.Fragments, status.IDSegments, positions(status))
	found, err := r.audit.Find(ctx, r.tool)
	if err != nil {
		return err
	}
	if v := r.audit.Compare(found); !v.OK() {
		report.Verdict = v
	}
	return r.verify(ctx, report)
}

// positions is how many records the shard logs got.
func positions(s tool.Status) (n uint64) {
	for _, l := range s.Shards {
		n += l.Position
	}
	return n
}

func (r *run) say(report Report, shared bool) {
	how := "each shard had one writer"
	if shared {
		how = "both writers wanted all shards"
	}
	r.sayf("%d kills, %s: %d records in Kafka, %d stored; %d lost, %d extra, %d wrong", report.Kills, how, report.Records, report.Stored,
		len(report.Verdict.Lost), len(report.Verdict.Extra), len(report.Verdict.Wrong))
}
