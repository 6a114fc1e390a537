package shardlog

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// testDay is the second at which the tests' events begin.
const testDay = int64(1_700_006_400)

func testSource(partition int32) Source {
	return Source{Cluster: "c1", Topic: strings.Repeat("ab", 16), Partition: partition}
}

func sumOf(s string) string { return objstore.Sum([]byte(s)) }

// testConfig has no clock and no chance in it.
func testConfig(who string, sleep func(context.Context, time.Duration) error) Config {
	n := 0
	return Config{
		Now:      func() time.Time { return time.Unix(testDay, 0) },
		NewNonce: func() string { n++; return fmt.Sprintf("%s%d", who, n) },
		Logger:   slog.New(slog.DiscardHandler),
		Parallel: 1,
		Backoff:  chain.Backoff{Jitter: func() float64 { return 0 }, Sleep: sleep},
	}
}

func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// commit describes an append; makeAppend makes a valid record of it.
type commit struct {
	source  Source
	from    int64
	next    int64
	opened  RangeSet
	closed  RangeSet
	control int64
	dup     int64
	dead    int64
	tenant  event.TenantID
	bucket  int64 // data bucket, seconds
	name    string
	intake  RangeSet
}

func testFragment(key string, tenant event.TenantID, table Table, bucket, rows int64, seq uint64) Fragment {
	return Fragment{
		Key: key, Tenant: tenant, Table: table, Bucket: bucket, Rows: rows, Bytes: 100 * rows, Sum: sumOf(key),
		Min: event.Timestamp(bucket) * 1e9, Max: event.Timestamp(bucket+3599) * 1e9, SeqMin: seq, SeqMax: seq,
		Ranges: []ColumnRange{{Column: "service", Min: "a", Max: "z"}},
	}
}

// makeAppend is the append of a commit on top of s. Each closed record is one event.
func makeAppend(s *State, c commit) *Record {
	if c.tenant == "" {
		c.tenant = "acme"
	}
	if c.bucket == 0 {
		c.bucket = testDay
	}
	records := c.next - c.from - CountRanges(c.opened) + CountRanges(c.closed) - c.control
	stored := records - c.dup - c.dead
	seq := s.Seq() + 1
	if c.name == "" {
		c.name = fmt.Sprintf("%d-%d", s.Epoch(), seq)
	}
	a := &Append{Epoch: s.Epoch(), Seq: seq, LowWater: s.LowWater(), Ledger: Ledger{Events: records, Stored: stored, Duplicate: c.dup, Dead: c.dead}}
	a.Progress = []Progress{{
		Source: c.source, TopicName: "events-shard", From: c.from, Next: c.next, LeaderEpoch: 3,
		Opened: c.opened, Closed: c.closed, Records: records, Control: c.control,
	}}
	hour := time.Unix(c.bucket, 0).UTC().Format("2006-01-02T15")
	if stored > 0 {
		key := fmt.Sprintf("data/%s/%s/0-%s.parquet", c.tenant, hour, c.name)
		a.Fragments = append(a.Fragments, testFragment(key, c.tenant, TableEvents, c.bucket, stored, seq))
	}
	if c.dead > 0 {
		key := fmt.Sprintf("letters/%s/%s/0-%s.parquet", c.tenant, hour, c.name)
		a.Fragments = append(a.Fragments, testFragment(key, c.tenant, TableDeadLetters, c.bucket, c.dead, seq))
	}
	if ids := stored + c.dead; ids > 0 {
		a.IDs = testSegment("ids/0/"+c.name+".ids", map[int64]int64{c.bucket: ids})
	}
	if len(c.intake) > 0 {
		set := NewIntake()
		for _, r := range c.intake {
			set.AddRange(testSource(100), r.From, r.Next)
		}
		a.Intake = set.ToIntake()
	}
	return &Record{Kind: KindAppend, Append: a}
}

// testSegment holds so many ids in each bucket.
func testSegment(key string, ids map[int64]int64) *IDSegment {
	seg := &IDSegment{Key: key, Sum: sumOf(key)}
	for _, b := range sortedKeys(ids) {
		seg.Buckets = append(seg.Buckets, IDBucket{Bucket: b, IDs: ids[b], Offset: seg.Bytes, Length: 20 * ids[b]})
		seg.Bytes += 20 * ids[b]
		seg.IDs += ids[b]
	}
	return seg
}

func sortedKeys(m map[int64]int64) []int64 { return slices.Sorted(maps.Keys(m)) }

// tryAppend applies r to s without a store, as an appender would.
func tryAppend(s *State, nonce string, r *Record) error {
	if err := s.Check(r); err != nil {
		return err
	}
	s.Head().address(s.Shard(), r)
	r.Nonce = nonce
	body, err := Encode(r)
	if err != nil {
		return err
	}
	decoded, err := Decode(body)
	if err != nil {
		return err
	}
	return s.Apply(decoded, body)
}

// wholeText is the state's text with the intake offsets that its checkpoints hold; l may be nil if there is none.
func wholeText(t testing.TB, l *Log, s *State) string {
	t.Helper()
	text, err := textWithIntake(l, s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func textWithIntake(l *Log, s *State) (string, error) {
	intake, err := s.unsaved().ToIntake(), error(nil)
	if len(s.archive) > 0 {
		intake, err = l.Intake(context.Background(), s)
	}
	text := s.Text()
	for _, in := range intake {
		text += fmt.Sprintf("intake %s %s\n", in.Source, objstore.Sum(in.Bitmap))
	}
	return text, err
}
