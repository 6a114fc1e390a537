package scale

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/compactor/pick"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// Sizes of files, from docs/figures.md: a Parquet file of 100 events takes 241 bytes an event, one of 10,000
// takes 104; an identity takes 22 and a segment some more.
const (
	fileBytes    = 13_800
	rowBytes     = 103
	segmentBytes = 200
	idBytes      = 22

	dataBucket, idBucket = 3600, 600 // seconds, as a store has them
	cells                = 256       // values of the sort key that the model tells apart
	envelopeEvents       = 30        // of a record in the shard topic
)

func sizeOf(rows int64) int64 { return fileBytes + rows*rowBytes }

// shardModel is one shard's log with its history.
type shardModel struct {
	cfg    Config
	world  *world
	perDay float64
	r      *rand.Rand

	memory   *objstore.Memory
	registry *prometheus.Registry
	log      *shardlog.Log
	state    *shardlog.State
	epoch    shardlog.Epoch
	policy   pick.Policy // of fragments
	segments pick.Policy // of id segments

	hour   time.Time // that comes next
	first  time.Time // of the history
	now    time.Time // the clock of records
	number uint64    // of the claim's next upload
	offset int64     // of the shard topic
	intake []float64 // next offset of each intake partition

	data        counts // requests for fragments and segments; their bytes
	merges      int64
	flushed     int64 // bytes
	rewrites    int64
	checkpoints []time.Duration // CPU time of those of the hour under way
}

func newShard(ctx context.Context, cfg Config, w *world, perDay float64) (*shardModel, error) {
	s := &shardModel{
		cfg: cfg, world: w, perDay: perDay, r: rand.New(rand.NewPCG(cfg.Seed, uint64(perDay))),
		memory: objstore.NewMemory(), registry: prometheus.NewRegistry(), state: shardlog.NewState(w.shard),
		policy: pick.DefaultPolicy(), segments: pick.DefaultPolicy(), intake: make([]float64, cfg.Partitions),
	}
	s.segments.TargetBytes = 64 << 20
	s.memory.Now = func() time.Time { return s.now }
	s.log = s.open(s.registry)
	s.hour = end.Add(-time.Duration(cfg.RetentionDays) * 24 * time.Hour).Truncate(time.Hour)
	s.first, s.now = s.hour, s.hour
	var err error
	s.epoch, _, err = s.log.Claim(ctx, s.state, "scale", "scale")
	return s, err
}

// open is the log as a process sees it whose requests are counted in the registry.
func (s *shardModel) open(registry *prometheus.Registry) *shardlog.Log {
	return shardlog.OpenWith(objstore.Instrument(s.memory, registry), s.world.shard, shardlog.Config{Logger: quiet, Now: func() time.Time { return s.now }})
}

// reach enters whole hours until the history has so many days.
func (s *shardModel) reach(ctx context.Context, days int) error {
	for s.hour.Before(s.first.Add(time.Duration(days)*24*time.Hour - time.Hour)) {
		if err := s.enter(ctx); err != nil {
			return err
		}
	}
	return nil
}

// enter adds an hour as compaction leaves it, in one commit.
func (s *shardModel) enter(ctx context.Context) error {
	var files []shardlog.Fragment
	bucket := s.hour.Unix()
	for _, m := range s.world.inHour(s.hour) {
		rows := poisson(s.r, m.share*s.perDay/24)
		if rows == 0 {
			continue
		}
		n := max(1, int64(math.Round(float64(sizeOf(rows))/float64(s.policy.TargetBytes))))
		for i := range n {
			f := shardlog.Fragment{Tenant: m.name, Rows: max(1, rows/n), Bucket: bucket}
			f.KeyMin, f.KeyMax = key(i*cells/n), key((i+1)*cells/n-1)
			f.Min, f.Max = stamp(bucket), stamp(bucket+dataBucket-1)
			files = append(files, f)
		}
	}
	s.hour = s.hour.Add(time.Hour)
	s.now = s.hour
	if len(files) == 0 {
		return nil
	}
	if _, err := s.commit(ctx, files, bucket, bucket+dataBucket); err != nil {
		return err
	}
	s.checkpoints = nil
	for {
		done, err := s.mergeSegments(ctx, pick.DefaultPolicy().QuietAfter)
		if err != nil || done == 0 {
			return err
		}
	}
}

// commit appends files whose events lie in [from, to) seconds, as a writer does. It returns the CPU time
// that the commit waits for.
func (s *shardModel) commit(ctx context.Context, files []shardlog.Fragment, from, to int64) (time.Duration, error) {
	r := s.record(files, from, to)
	began := cpuTime()
	won, found, stored, err := s.log.Settle(ctx, s.state.Head(), r)
	if err == nil && !won {
		err = fmt.Errorf("position %v is another's", found.Position)
	}
	if err == nil {
		err = s.state.Apply(found, stored)
	}
	if err != nil {
		return 0, err
	}
	return cpuTime() - began, s.checkpoint(ctx)
}

// checkpoint writes one if it is due.
func (s *shardModel) checkpoint(ctx context.Context) error {
	if !s.log.CheckpointDue(s.state) {
		return nil
	}
	began := cpuTime()
	s.state.Own(s.state.ClaimNonce())
	err := s.log.Checkpoint(ctx, s.state)
	s.checkpoints = append(s.checkpoints, cpuTime()-began)
	return err
}

func (s *shardModel) record(files []shardlog.Fragment, from, to int64) *shardlog.Record {
	a := &shardlog.Append{Epoch: s.epoch, Seq: s.state.Seq() + 1}
	creator := shardlog.Creator{Shard: s.world.shard, Epoch: s.epoch, Nonce: s.state.ClaimNonce()}
	var rows int64
	for _, f := range files {
		creator.Number = s.upload()
		f.Table, f.Key = shardlog.TableEvents, creator.FragmentKey(shardlog.TableEvents, f.Tenant, f.Bucket)
		f.Bytes, f.Sum = sizeOf(f.Rows), objstore.Sum([]byte(f.Key))
		f.SeqMin, f.SeqMax = a.Seq, a.Seq
		f.Ranges = []shardlog.ColumnRange{{Column: "service", Min: "ads", Max: "shipping"}, {Column: "status", Min: "200", Max: "500"}}
		a.Fragments = append(a.Fragments, f)
		rows += f.Rows
		s.flushed += f.Bytes
		s.put(f.Bytes)
	}
	creator.Number = s.upload()
	a.IDs = &shardlog.IDSegment{Key: creator.SegmentKey(), IDs: rows}
	a.IDs.Buckets = idBuckets(rows, from, to)
	s.seal(a.IDs)
	s.put(a.IDs.Bytes)
	a.LowWater = s.number
	records := max(1, rows/envelopeEvents)
	a.Progress = []shardlog.Progress{{
		Source: shardlog.Source{Cluster: "kafka", Topic: strings.Repeat("cd", 16)}, TopicName: "shards",
		From: s.offset, Next: s.offset + records, Records: records,
	}}
	s.offset += records
	a.Ledger = shardlog.Ledger{Events: rows, Stored: rows}
	a.Intake = s.offsets(rows)
	return &shardlog.Record{Kind: shardlog.KindAppend, Append: a}
}

// offsets are intake offsets of n events, one record each: every so-manieth of each partition, as the
// other shards have the others.
func (s *shardModel) offsets(n int64) []shardlog.Intake {
	set := shardlog.NewIntake()
	for i := range n {
		p := int(i) % s.cfg.Partitions
		s.intake[p] += 1 + s.r.ExpFloat64()*float64(s.cfg.Shards-1)
		set.Add(shardlog.Source{Cluster: "kafka", Topic: strings.Repeat("ab", 16), Partition: int32(p)}, int64(s.intake[p]))
	}
	return set.ToIntake()
}

func (s *shardModel) upload() uint64 {
	s.number++
	return s.number - 1
}

// seal gives a segment its size and checksum.
func (s *shardModel) seal(seg *shardlog.IDSegment) {
	seg.Bytes = segmentBytes
	for i := range seg.Buckets {
		b := &seg.Buckets[i]
		b.Offset, b.Length = seg.Bytes, b.IDs*idBytes
		seg.Bytes += b.Length
	}
	seg.Sum = objstore.Sum([]byte(seg.Key))
}

// idBuckets spreads identities evenly over [from, to).
func idBuckets(ids, from, to int64) []shardlog.IDBucket {
	first, last := from-from%idBucket, (to-1)-(to-1)%idBucket
	n := min(ids, (last-first)/idBucket+1)
	var out []shardlog.IDBucket
	for i := range n {
		out = append(out, shardlog.IDBucket{Bucket: first + i*idBucket, IDs: (i+1)*ids/n - i*ids/n})
	}
	return out
}

func key(cell int64) string { return fmt.Sprintf("k%04d", cell) }

func stamp(second int64) event.Timestamp { return event.Timestamp(second * int64(time.Second)) }

// poisson draws how often something happens that is expected mean times.
func poisson(r *rand.Rand, mean float64) int64 {
	if mean > 50 {
		return max(0, int64(math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
	}
	n := int64(0)
	for p := r.Float64(); p > math.Exp(-mean); n++ {
		p *= r.Float64()
	}
	return n
}
