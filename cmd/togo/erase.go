package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/compactor/erase"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/query/rangecache"
)

type tenantsEraseCmd struct {
	Tenant string        `arg:"" help:"The tenant."`
	Yes    bool          `help:"Do it; there is no way back. Without it nothing is changed."`
	Wait   bool          `help:"Wait until the last object is gone, and say when that was."`
	Every  time.Duration `help:"With --wait: the time between two looks." default:"5s"`
}

func (c tenantsEraseCmd) Run(a *app) error {
	t, err := event.ParseTenant(c.Tenant)
	if err != nil {
		return err
	}
	if c.Every <= 0 {
		return fmt.Errorf("--every: %s is not positive", c.Every)
	}
	cfg, store, err := a.existing()
	if err != nil {
		return err
	}
	k, err := a.keeper()
	if err != nil {
		return err
	}
	e := &erase.Eraser{Tenant: t, Store: store, Placements: k, Log: shardlog.Config{Logger: a.toolLog(cfg)}}
	before, err := e.Look(a.ctx)
	if err != nil {
		return err
	}
	if err := showHoldings(a.out, t, before); err != nil {
		return err
	}
	if !c.Yes {
		fmt.Fprintln(a.out, "nothing was changed; --yes erases it, and there is no way back")
		return errFailed
	}
	done, err := e.Erase(a.ctx)
	for _, s := range done {
		fmt.Fprintf(a.out, "erased in shard %s: all of %s below %s (record %d of its log or before)\n", s.Shard, t, *s.Floor, uint64(s.Position))
	}
	if err != nil {
		return fmt.Errorf("%w; run it again to erase in the shards that are left", err)
	}
	left, err := e.Left(a.ctx)
	if err != nil {
		return err
	}
	if err := c.showRemains(a, cfg, store, k.Current(), t, left); err != nil {
		return err
	}
	if !c.Wait {
		return nil
	}
	return c.wait(a, e, left)
}

// showHoldings lists what the shards have of a tenant.
func showHoldings(out io.Writer, t event.TenantID, shards []erase.Shard) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SHARD\tFRAGMENTS\tROWS\tBYTES\tERASED BELOW\tWHY")
	var fragments int
	var rows, bytes int64
	for _, s := range shards {
		if s.Why == "" {
			continue
		}
		floor := "-"
		if s.Floor != nil {
			floor = s.Floor.String()
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\n", s.Shard, s.Fragments, s.Rows, s.Bytes, floor, s.Why)
		fragments, rows, bytes = fragments+s.Fragments, rows+s.Rows, bytes+s.Bytes
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s has %d fragments, %d rows, %d bytes\n", t, fragments, rows, bytes)
	return err
}

// wait looks until nothing is left of what was erased.
func (c tenantsEraseCmd) wait(a *app, e *erase.Eraser, left erase.Left) error {
	said := erase.Left{Garbage: -1}
	for !left.Gone() {
		if left.Garbage != said.Garbage || left.UnderWay != said.UnderWay {
			fmt.Fprintf(a.out, "%s  %d objects (%d bytes) wait for a compactor's collector or 'togo gc', %d uploads are not settled\n",
				time.Now().UTC().Format(time.RFC3339), left.Garbage, left.GarbageBytes, left.UnderWay)
			said = left
		}
		select {
		case <-a.ctx.Done():
			return fmt.Errorf("the erasure stands, but objects are left: %w", a.ctx.Err())
		case <-time.After(c.Every):
		}
		next, err := e.Left(a.ctx)
		if errors.Is(err, shardlog.ErrCorrupt) || errors.Is(err, shardlog.ErrNewerFormat) {
			return err
		}
		if err != nil {
			a.log.Warn("can't look what is left, trying again", "err", err)
			continue
		}
		left = next
	}
	fmt.Fprintf(a.out, "%s  the last object of what was erased is gone\n", time.Now().UTC().Format(time.RFC3339))
	if left.Live > 0 {
		fmt.Fprintf(a.out, "%d objects are live: events from after the erasure, and letters of late copies, without payloads\n", left.Live)
	}
	return nil
}

// showRemains says what is left elsewhere, and until when.
func (c tenantsEraseCmd) showRemains(a *app, cfg *config.Config, store objstore.Store, table *placements.Table, t event.TenantID, left erase.Left) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT REMAINS\tUNTIL")
	line := func(what, until string) { fmt.Fprintf(w, "%s\t%s\n", what, until) }
	if !left.Gone() {
		line(fmt.Sprintf("%d objects, %d bytes, out of every answer", left.Garbage+left.UnderWay, left.GarbageBytes), fmt.Sprintf("a compactor ('togo run --target compactor') or 'togo gc' has seen them unnamed for query_grace (%s)", cfg.Compactor.QueryGrace))
	}
	if left.Live > 0 {
		line(fmt.Sprintf("%d live objects of events from after the erasure, or of late copies", left.Live), "the tenant stops sending, and is erased again")
	}
	line("parts of its files in the disk caches of query processes (query.cache_dir), out of every answer", fmt.Sprintf("%s after a query read them, or you delete the directory", rangecache.DefaultKeepFor))
	c.showKafka(a, cfg, line)
	switch versions, err := objstore.KeepsVersions(a.ctx, store); {
	case err != nil:
		line("older versions of objects, if the bucket keeps them", fmt.Sprintf("unknown: %v", err))
	case versions == objstore.VersionsKept:
		line("older versions of deleted objects: the bucket keeps them", "a lifecycle rule of the bucket ends them, or you do")
	case versions == objstore.VersionsSuspended:
		line("older versions from when the bucket kept them", "a lifecycle rule of the bucket ends them, or you do")
	}
	lists := 0
	for _, err := range store.List(a.ctx, "columns/"+string(t)+"/", "") {
		if err != nil {
			return err
		}
		lists++
	}
	if lists > 0 {
		line(fmt.Sprintf("names of its attributes (columns/%s/, %d objects)", t, lists), "for ever: a column never changes its meaning")
	}
	line("its identities, as keyed hashes, which keep late copies out", "they lie below the floors of all tenants (retention)")
	line("its name, and the first and last values of sort keys, in records of shard logs", "the records are trimmed and newer checkpoints are written")
	where := []string{}
	if len(table.Timeline(t)) > 0 {
		where = append(where, "placements")
	}
	k, err := a.settings()
	if err != nil {
		return err
	}
	if (k.Current().Own(t) != tenants.Values{}) {
		where = append(where, "settings (togo tenants unset)")
	}
	if len(where) > 0 {
		line("its name in "+strings.Join(where, " and "), "for ever: their logs keep what was")
	}
	return w.Flush()
}

// showKafka says how long the topics keep copies.
func (c tenantsEraseCmd) showKafka(a *app, cfg *config.Config, line func(what, until string)) {
	type topic struct{ cluster, name string }
	topics := []topic{}
	for _, t := range cfg.Intake.Topics {
		topics = append(topics, topic{t.Cluster, t.Name})
	}
	topics = append(topics, topic{cfg.ShardTopic.Cluster, cfg.ShardTopic.Name})
	unreachable := map[string]error{}
	for _, t := range topics {
		what := fmt.Sprintf("copies in Kafka's topic %s", t.name)
		err := unreachable[t.cluster]
		var info kafka.TopicInfo
		if err == nil {
			err = withKafka(a, cfg, t.cluster, func(ctx context.Context, k *kafka.Client) (err error) {
				info, err = k.Topic(ctx, t.name)
				return err
			})
		}
		if err != nil {
			if !errors.Is(err, kafka.ErrTopicMissing) {
				unreachable[t.cluster] = err
			}
			line(what, fmt.Sprintf("unknown: %v", err))
			continue
		}
		line(what, kafkaKeeps(info, time.Now()))
	}
}

// kafkaKeeps says how long a topic keeps what it has now.
func kafkaKeeps(info kafka.TopicInfo, now time.Time) string {
	ms, err := strconv.ParseInt(info.Configs["retention.ms"], 10, 64)
	var out string
	switch {
	case err != nil:
		return fmt.Sprintf("unknown: its retention.ms is %q", info.Configs["retention.ms"])
	case ms < 0:
		out = "for ever (retention.ms is -1)"
	default:
		keep := time.Duration(min(ms, int64(100*365*24*time.Hour/time.Millisecond))) * time.Millisecond
		out = fmt.Sprintf("about %s (retention.ms is %s, and whole segments go)", now.Add(keep).UTC().Format(time.RFC3339), tenants.Span(keep))
	}
	if strings.Contains(info.Configs["cleanup.policy"], "compact") {
		out += "; it is compacted, so the newest record of each key may stay longer"
	}
	return out
}
