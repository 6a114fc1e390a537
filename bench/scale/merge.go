package scale

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/togodb/togo/compactor/pick"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// Requests for files, as the code makes them: a reader takes the end of a file, and then ranges of the columns
// (84 for a file of 8 MiB with 25 columns, docs/figures.md); an upload above partBytes goes in parts.
const (
	tailBytes  = 64 << 10
	rangeBytes = 100 << 10
	partBytes  = 8 << 20
)

func (s *shardModel) put(bytes int64) {
	s.data.writes++
	if bytes > partBytes {
		s.data.writes += 1 + (bytes+partBytes-1)/partBytes // its begin and parts; the end is counted above
	}
	s.data.bytesWritten += bytes
}

func (s *shardModel) get(bytes int64) {
	s.data.reads++
	if bytes > tailBytes {
		s.data.reads += (bytes - tailBytes + rangeBytes - 1) / rangeBytes
	}
	s.data.bytesRead += bytes
}

// mergeBucket does what the picker asks for in a tenant's bucket now.
func (s *shardModel) mergeBucket(ctx context.Context, tenant event.TenantID, bucket int64, idle time.Duration, newest bool) (int, error) {
	b := pick.Bucket{Tenant: tenant, Table: shardlog.TableEvents, Bucket: bucket, Idle: idle, Newest: newest}
	s.state.Fragments(tenant, bucket, bucket+1, func(f shardlog.Fragment) bool {
		b.Fragments = append(b.Fragments, f)
		return true
	})
	jobs := pick.Pick(b, s.policy)
	for _, job := range jobs {
		err := s.merge(ctx, job.Keys(), func(c shardlog.Creator, end *shardlog.MergeEnd) {
			s.outputs(job, c, end)
		})
		if err != nil {
			return 0, fmt.Errorf("merge of %s: %w", tenant, err)
		}
	}
	return len(jobs), nil
}

// outputs are the merge's: rows and keys of its inputs, as many files as their size asks for.
func (s *shardModel) outputs(job pick.Job, c shardlog.Creator, end *shardlog.MergeEnd) {
	one := job.Inputs[0]
	rows, from, to := int64(0), cells-1, 0
	for _, f := range job.Inputs {
		s.get(f.Bytes)
		rows += f.Rows
		var low, high int
		fmt.Sscanf(f.KeyMin+" "+f.KeyMax, "k%d k%d", &low, &high)
		from, to = min(from, low), max(to, high)
		one.Min, one.Max = min(one.Min, f.Min), max(one.Max, f.Max)
		one.SeqMin, one.SeqMax = min(one.SeqMin, f.SeqMin), max(one.SeqMax, f.SeqMax)
	}
	span := int64(to - from + 1)
	n := max(1, int64(math.Round(float64(sizeOf(rows))/float64(job.TargetBytes))))
	n = min(n, rows, span)
	for i := range n {
		f := one
		c.Number = uint64(i)
		f.Key, f.Level = c.FragmentKey(f.Table, f.Tenant, f.Bucket), job.Level
		f.Rows = (i+1)*rows/n - i*rows/n
		f.Bytes, f.Sum = sizeOf(f.Rows), objstore.Sum([]byte(f.Key))
		f.KeyMin, f.KeyMax = key(int64(from)+i*span/n), key(int64(from)+(i+1)*span/n-1)
		s.put(f.Bytes)
		s.rewrites += f.Bytes
		end.Fragments = append(end.Fragments, f)
	}
}

// mergeSegments does what the picker asks for among the id segments.
func (s *shardModel) mergeSegments(ctx context.Context, idle time.Duration) (int, error) {
	in := pick.Segments{IDsBelow: s.state.IDsBelow(), Idle: idle, BucketSeconds: idBucket}
	s.state.Segments(func(seg shardlog.IDSegment) bool {
		in.Live = append(in.Live, seg)
		return true
	})
	jobs := pick.PickSegments(in, s.segments)
	for _, job := range jobs {
		err := s.merge(ctx, job.Keys(), func(c shardlog.Creator, end *shardlog.MergeEnd) {
			s.segmentOutputs(job, c, end)
		})
		if err != nil {
			return 0, fmt.Errorf("merge of id segments: %w", err)
		}
	}
	return len(jobs), nil
}

func (s *shardModel) segmentOutputs(job pick.SegmentJob, c shardlog.Creator, end *shardlog.MergeEnd) {
	ids := map[int64]int64{}
	for _, seg := range job.Inputs {
		s.get(seg.Bytes)
		for _, b := range seg.Buckets {
			ids[b.Bucket] += b.IDs
		}
	}
	var all []shardlog.IDBucket
	for bucket, n := range ids {
		all = append(all, shardlog.IDBucket{Bucket: bucket, IDs: n})
	}
	slices.SortFunc(all, func(a, b shardlog.IDBucket) int { return cmp.Compare(a.Bucket, b.Bucket) })
	for len(all) > 0 {
		n, size := 0, int64(0)
		for n < len(all) && (n == 0 || size+all[n].IDs*idBytes <= job.TargetBytes+job.TargetBytes/2) {
			size += all[n].IDs * idBytes
			n++
		}
		seg := shardlog.IDSegment{Key: c.SegmentKey(), Buckets: slices.Clone(all[:n])}
		for _, b := range seg.Buckets {
			seg.IDs += b.IDs
		}
		s.seal(&seg)
		s.put(seg.Bytes)
		end.IDs = append(end.IDs, seg)
		c.Number++
		all = all[n:]
	}
}

// merge begins a job, lets outputs fill its end, and ends it.
func (s *shardModel) merge(ctx context.Context, inputs []string, outputs func(shardlog.Creator, *shardlog.MergeEnd)) error {
	begin := &shardlog.Record{Kind: shardlog.KindMergeBegin, MergeBegin: &shardlog.MergeBegin{Worker: "scale", Inputs: inputs}}
	found, err := s.append(ctx, begin)
	if err != nil {
		return err
	}
	end := &shardlog.MergeEnd{Job: found.Nonce, Inputs: inputs}
	outputs(shardlog.Creator{Shard: s.world.shard, Job: found.Position, Nonce: found.Nonce}, end)
	if _, err := s.append(ctx, &shardlog.Record{Kind: shardlog.KindMergeEnd, MergeEnd: end}); err != nil {
		return err
	}
	s.merges++
	return nil
}

// append adds a record that is not a writer's, and the checkpoint that it makes due.
func (s *shardModel) append(ctx context.Context, r *shardlog.Record) (shardlog.Record, error) {
	won, found, err := s.log.Append(ctx, s.state, r)
	if err == nil && !won {
		err = fmt.Errorf("position %v is another's", found.Position)
	}
	if err == nil {
		err = s.checkpoint(ctx)
	}
	return found, err
}
