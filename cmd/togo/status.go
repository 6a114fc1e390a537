package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/shardlog"
)

// askKafka bounds what a tool waits for a broker that does not answer.
const askKafka = 5 * time.Second

type statusCmd struct {
	JSON bool `help:"As JSON." name:"json"`
}

// shardStatus is one source partition of one shard; a shard that has read nothing
// has one without a source.
type shardStatus struct {
	Shard     event.ShardID `json:"shard"`
	Owner     string        `json:"owner,omitempty"`
	Epoch     uint64        `json:"epoch"`
	Position  uint64        `json:"position"` // of the shard log
	Topic     string        `json:"topic,omitempty"`
	TopicID   string        `json:"topic_id,omitempty"`
	Committed int64         `json:"committed"`
	Lag       *int64        `json:"lag"`         // null: Kafka could not be asked
	Open      int64         `json:"open"`        // offsets below committed whose events wait for a later commit
	OldestOpn *int64        `json:"oldest_open"` // null: none is open
	CommitAge float64       `json:"last_commit_age_seconds"`
}

type storeStatus struct {
	Shards []shardStatus   `json:"shards"`
	Totals shardlog.Totals `json:"totals"`
	// What is live in all shards, and the merges that are open.
	Fragments   int `json:"fragments"`
	IDSegments  int `json:"id_segments"`
	Quarantined int `json:"quarantined"`
	Merges      int `json:"merges"`
	// Lag is what is left to do: intake records that the router has not committed,
	// and offsets of the shard topic that are not closed. Null: unknown.
	RouterLag *int64 `json:"router_lag"`
	WriterLag *int64 `json:"writer_lag"`
}

func (c statusCmd) Run(a *app) error {
	cfg, _, err := a.existing() // before Kafka is waited for
	if err != nil {
		return err
	}
	// In the order of an event's way: what has left one stage is in sight of the next look.
	ranges, routerWhy := intakeRanges(a, cfg)
	var ends map[int32]kafka.Range
	var topicID event.TopicID
	why := withKafka(a, cfg, cfg.ShardTopic.Cluster, func(ctx context.Context, k *kafka.Client) error {
		info, err := k.Topic(ctx, cfg.ShardTopic.Name)
		if err != nil {
			return err
		}
		topicID = info.ID
		ends, err = k.Offsets(ctx, cfg.ShardTopic.Name)
		return err
	})
	v, err := a.view()
	if err != nil {
		return err
	}
	s := storeStatus{Totals: v.Totals()}
	if why == nil {
		s.WriterLag = new(int64)
	}
	for _, state := range v.Shards {
		fragments, segments := state.Counts()
		s.Fragments, s.IDSegments = s.Fragments+fragments, s.IDSegments+segments
		s.Quarantined, s.Merges = s.Quarantined+len(state.Quarantined()), s.Merges+len(state.Jobs())
		s.addShard(state, topicID, ends, v.LastCommit(state.Shard()))
	}
	if routerWhy == nil {
		s.RouterLag = new(int64)
		for _, r := range ranges {
			*s.RouterLag += max(0, r.end-max(r.Committed, r.From))
		}
	}
	if c.JSON {
		enc := json.NewEncoder(a.out)
		enc.SetIndent("", "  ")
		return enc.Encode(s)
	}
	return s.print(a, errors.Join(why, routerWhy))
}

// addShard adds a line for each source that the shard has read.
func (s *storeStatus) addShard(state *shardlog.State, topic event.TopicID, ends map[int32]kafka.Range, lastCommit time.Time) {
	line := shardStatus{Shard: state.Shard(), Epoch: uint64(state.Epoch()), Position: uint64(state.Position())}
	if o := state.Owner(); o != nil {
		line.Owner = o.Owner
	}
	if !lastCommit.IsZero() {
		line.CommitAge = time.Since(lastCommit).Seconds()
	}
	end, known := ends[int32(state.Shard())]
	read := false
	for _, src := range state.Sources() {
		l := line
		l.Topic, l.TopicID = src.TopicName, src.Source.Topic
		l.Committed, l.Open = src.Next, shardlog.CountRanges(src.Open)
		if len(src.Open) > 0 {
			l.OldestOpn = &src.Open[0].From
		}
		if known && src.Source.Topic == topic.String() {
			read = true
			lag := max(0, end.End-src.Next) + l.Open // the writer may have gone on since Kafka was asked
			l.Lag = &lag
			*s.WriterLag += lag
		}
		s.Shards = append(s.Shards, l)
	}
	if known && !read {
		lag := end.End - end.Start
		line.Lag = &lag
		*s.WriterLag += lag
		s.Shards = append(s.Shards, line)
	} else if len(state.Sources()) == 0 {
		s.Shards = append(s.Shards, line)
	}
}

func (s *storeStatus) print(a *app, why error) error {
	tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SHARD\tOWNER\tEPOCH\tPOSITION\tTOPIC\tCOMMITTED\tLAG\tOPEN\tOLDEST OPEN\tLAST COMMIT")
	for _, l := range s.Shards {
		age := "-"
		if l.CommitAge > 0 {
			age = (time.Duration(l.CommitAge*10) * time.Second / 10).String() + " ago"
		}
		fmt.Fprintf(tw, "%d\t%s\t%d\t%d\t%s\t%d\t%s\t%d\t%s\t%s\n", l.Shard, or(l.Owner), l.Epoch, l.Position, or(l.Topic),
			l.Committed, number(l.Lag), l.Open, number(l.OldestOpn), age)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	t := s.Totals
	fmt.Fprintf(a.out, "events %d: stored %d, duplicate %d, conflict %d, dead %d; lost by Kafka %d; lag: router %s, writer %s\n",
		t.Events, t.Stored, t.Duplicate, t.Conflict, t.Dead, t.Lost, number(s.RouterLag), number(s.WriterLag))
	fmt.Fprintf(a.out, "live: %d fragments, %d id segments; merges under way %d; set aside as unreadable %d\n", s.Fragments, s.IDSegments, s.Merges, s.Quarantined)
	if why != nil {
		fmt.Fprintf(a.out, "(lag unknown: %v)\n", why)
	}
	return nil
}

func or(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func number(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// withKafka connects to a cluster for a moment.
func withKafka(a *app, cfg *config.Config, name string, use func(context.Context, *kafka.Client) error) error {
	ctx, cancel := context.WithTimeout(a.ctx, askKafka)
	defer cancel()
	k, err := connectKafka(ctx, cfg, name, quiet, nil)
	if err != nil {
		return err
	}
	defer k.Close()
	return use(ctx, k)
}

// intakeRange is what the records of an intake partition must cover, and its end.
type intakeRange struct {
	inspect.IntakeRange
	end int64
}

// intakeRanges asks Kafka for every intake partition.
func intakeRanges(a *app, cfg *config.Config) ([]intakeRange, error) {
	var out []intakeRange
	for _, t := range cfg.Intake.Topics {
		err := withKafka(a, cfg, t.Cluster, func(ctx context.Context, k *kafka.Client) error {
			info, err := k.Topic(ctx, t.Name)
			if err != nil {
				return err
			}
			offsets, err := k.Offsets(ctx, t.Name)
			if err != nil {
				return err
			}
			committed, err := k.Committed(ctx, cfg.Router.Group, info)
			if err != nil {
				return err
			}
			for p, r := range offsets {
				out = append(out, intakeRange{inspect.IntakeRange{
					Topic: t.Name, Source: k.Source(info, p), From: r.Start, Committed: committed[p],
				}, r.End})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("intake topic %s: %w", t.Name, err)
		}
	}
	return out, nil
}
