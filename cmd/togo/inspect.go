package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
)

// view opens the configured store for reading.
func (a *app) view() (*inspect.View, error) {
	c, store, err := a.existing()
	if err != nil {
		return nil, err
	}
	return inspect.Open(a.ctx, store, a.toolLog(c))
}

// toolLog is the log of commands that look: what is wrong, not what goes on.
func (a *app) toolLog(c *config.Config) *slog.Logger {
	l := c.Log
	l.Level = max(l.Level, slog.LevelWarn)
	return newLogger(l)
}

// tenantFlags select a tenant's rows.
type tenantFlags struct {
	Tenant string     `help:"The tenant." required:"" placeholder:"T"`
	From   *timestamp `help:"First event time (RFC 3339, or 2006-01-02)." placeholder:"TIME"`
	To     *timestamp `help:"Event time after the last." placeholder:"TIME"`
}

func (f tenantFlags) parse() (event.TenantID, inspect.Span, error) {
	t, err := anyOwner(f.Tenant)
	span := inspect.Always
	if f.From != nil {
		span.From = event.Timestamp(*f.From)
	}
	if f.To != nil {
		span.To = event.Timestamp(*f.To)
	}
	return t, span, err
}

// anyOwner is a tenant, or the one that no event can have: the owner of records
// whose tenant cannot be told.
func anyOwner(name string) (event.TenantID, error) {
	if name == string(event.Unroutable) {
		return event.Unroutable, nil
	}
	return event.ParseTenant(name)
}

// timestamp is an event time on the command line.
type timestamp event.Timestamp

func (t *timestamp) UnmarshalText(text []byte) error {
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
		if at, err := time.Parse(layout, string(text)); err == nil {
			switch year := at.Year(); {
			case year < 1678: // before what 64-bit nanoseconds hold
				*t = timestamp(inspect.Always.From)
			case year > 2261:
				*t = timestamp(inspect.Always.To)
			default:
				*t = timestamp(at.UnixNano())
			}
			return nil
		}
	}
	return fmt.Errorf("%q is no time; write 2006-01-02T15:04:05Z or 2006-01-02", text)
}

type eventsCmd struct {
	tenantFlags
	Limit int  `help:"At most so many; 0: all."`
	Meta  bool `help:"With id, time, Kafka position and commit number around each event."`
}

func (c eventsCmd) Run(a *app) error {
	tenant, span, err := c.parse()
	if err != nil {
		return err
	}
	v, err := a.view()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.out)
	defer out.Flush()
	var buf []byte
	rows := 0
	for e, err := range v.Events(a.ctx, tenant, span) {
		if err != nil {
			return err
		}
		if rows++; c.Limit > 0 && rows > c.Limit {
			break
		}
		if buf, err = c.append(buf[:0], e); err != nil {
			return err
		}
		if _, err := out.Write(append(buf, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

func (c eventsCmd) append(dst []byte, e *fragment.Event) ([]byte, error) {
	dst, err := e.AppendJSON(dst)
	if err != nil || !c.Meta {
		return dst, err
	}
	row, err := json.Marshal(eventRow{e.Timestamp.String(), string(e.ID), e.IngestedAt.String(), e.SourcePartition, e.SourceOffset, e.Seq, dst})
	return append(dst[:0], row...), err
}

type eventRow struct {
	Timestamp  string          `json:"timestamp"`
	ID         string          `json:"id"`
	IngestedAt string          `json:"ingested_at"`
	Partition  int32           `json:"source_partition"`
	Offset     int64           `json:"source_offset"`
	Seq        uint64          `json:"_seq"`
	Event      json.RawMessage `json:"event"`
}

type deadLettersCmd struct {
	tenantFlags
	Limit int `help:"At most so many; 0: all."`
}

type letterRow struct {
	Timestamp     string `json:"timestamp"`
	ID            string `json:"id"`
	Reason        string `json:"reason"`
	Detail        string `json:"detail,omitempty"`
	Partition     int32  `json:"source_partition"`
	Offset        int64  `json:"source_offset"`
	Payload       string `json:"payload,omitempty"`
	PayloadBase64 []byte `json:"payload_base64,omitempty"` // of payloads that are not UTF-8
}

func (c deadLettersCmd) Run(a *app) error {
	tenant, span, err := c.parse()
	if err != nil {
		return err
	}
	v, err := a.view()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.out)
	defer out.Flush()
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	rows := 0
	for e, err := range v.Letters(a.ctx, tenant, span) {
		if err != nil {
			return err
		}
		if rows++; c.Limit > 0 && rows > c.Limit {
			break
		}
		row := letterRow{Timestamp: e.Timestamp.String(), ID: string(e.ID), Reason: string(e.Reason), Detail: e.Detail, Partition: e.SourcePartition, Offset: e.SourceOffset}
		if utf8.Valid(e.Payload) {
			row.Payload = string(e.Payload)
		} else {
			row.PayloadBase64 = e.Payload
		}
		if err := enc.Encode(row); err != nil {
			return err
		}
	}
	return out.Flush()
}

type filesCmd struct {
	tenantFlags
	DeadLetters bool `help:"The fragments of dead_letters instead of events."`
	Long        bool `short:"l" help:"With rows, bytes and range of time."`
}

func (c filesCmd) Run(a *app) error {
	tenant, span, err := c.parse()
	if err != nil {
		return err
	}
	cfg, err := a.config()
	if err != nil {
		return err
	}
	v, err := a.view()
	if err != nil {
		return err
	}
	table := shardlog.TableEvents
	if c.DeadLetters {
		table = shardlog.TableDeadLetters
	}
	tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, f := range v.Files(tenant, table, span) {
		fmt.Fprint(tw, cfg.Store.Location(f.Key))
		if c.Long {
			fmt.Fprintf(tw, "\t%d rows\t%d bytes\t%s\t%s", f.Rows, f.Bytes, f.Min, f.Max)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

type whereCmd struct {
	Tenant string `arg:"" optional:"" help:"The tenant; none: all that have data."`
}

func (c whereCmd) Run(a *app) error {
	v, err := a.view()
	if err != nil {
		return err
	}
	tenants := v.Tenants()
	if c.Tenant != "" {
		t, err := anyOwner(c.Tenant)
		if err != nil {
			return err
		}
		tenants = []event.TenantID{t}
	}
	tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TENANT\tSHARD\tFILES\tROWS\tLETTERS\tBYTES\tFIRST\tLAST")
	for _, t := range tenants {
		for _, s := range v.Where(t) {
			first, last := "-", "-"
			if s.Rows > 0 {
				first, last = s.First.String(), s.Last.String()
			}
			fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", t, s.Shard, s.Files, s.Rows, s.Letters, s.Bytes, first, last)
		}
	}
	if err := tw.Flush(); err != nil || c.Tenant == "" {
		return err
	}
	fmt.Fprintln(a.out, "\nplacements:")
	line := v.Table.Timeline(tenants[0])
	if len(line) == 0 {
		shards := placements.Shards(v.Table.ShardsOf(tenants[0], inspect.Always.From, v.Table.Horizon()))
		fmt.Fprintf(a.out, "  by the default rule: shards %s\n", shards)
	}
	for _, p := range line {
		fmt.Fprintf(a.out, "  from %s: shards %s\n", p.From, p.Shards)
	}
	return nil
}

type logCmd struct {
	Shard event.ShardID `arg:"" help:"The shard."`
	From  uint64        `help:"First position; of a log whose old records were deleted, the first that is left." default:"1"`
	JSON  bool          `help:"The records as they are stored, one a line." name:"json"`
}

func (c logCmd) Run(a *app) error {
	cfg, store, err := a.existing()
	if err != nil {
		return err
	}
	k, err := a.keeper()
	if err != nil {
		return err
	}
	if shards := k.Current().Shards(); int(c.Shard) >= shards {
		return fmt.Errorf("there is no shard %s; the store has %d", c.Shard, shards)
	}
	log := shardlog.OpenWith(store, c.Shard, shardlog.Config{Logger: a.toolLog(cfg)})
	at := chain.Position(max(c.From, 1) - 1)
	for {
		const batch = 256 // bounds what is held at a time
		records, err := log.ReadAfter(a.ctx, at, batch)
		var trimmed *chain.TrimmedError
		if errors.As(err, &trimmed) && trimmed.Base > at { // older records were deleted
			at = trimmed.Base
			continue
		}
		if err != nil {
			return err
		}
		for _, r := range records {
			line := r.Record.Line()
			if c.JSON {
				line = strings.TrimSpace(string(r.Bytes))
			}
			if _, err := io.WriteString(a.out, line+"\n"); err != nil {
				return err
			}
			at = r.Record.Position
		}
		if len(records) < batch {
			return nil
		}
	}
}
