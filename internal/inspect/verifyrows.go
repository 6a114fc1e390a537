package inspect

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/shardlog"
)

// unit is what can share an identity: one tenant's rows of one table and bucket,
// over all shards.
type unit struct {
	tenant event.TenantID
	table  shardlog.Table
	bucket int64
}

// verifyFragments reads every live fragment, unit by unit, so that memory holds
// the identities of one unit.
func (v *View) verifyFragments(ctx context.Context, r *Report, ids *idLedger) error {
	var files []File
	for id, s := range v.Shards {
		s.Fragments("", -maxBucket, maxBucket, func(f shardlog.Fragment) bool {
			files = append(files, File{event.ShardID(id), f})
			return true
		})
		for _, f := range s.Quarantined() { // its rows are out of sight, its identities are not
			ids.unread(File{event.ShardID(id), f}, v.Meta.IDBucketSeconds)
		}
	}
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Table, b.Table), cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Key, b.Key))
	})
	seen := map[event.Hash]string{}
	var last unit
	for _, f := range files {
		if u := (unit{f.Tenant, f.Table, f.Bucket}); u != last {
			clear(seen)
			last = u
		}
		r.Files++
		r.Bytes += f.Bytes
		if err := v.verifyFragment(ctx, r, f, seen, ids); err != nil {
			return err
		}
	}
	return nil
}

func (v *View) verifyFragment(ctx context.Context, r *Report, f File, seen map[event.Hash]string, ids *idLedger) error {
	body, ok, err := v.object(ctx, r, referenced{f.Shard, "fragment", f.Key, f.Bytes, f.Sum})
	if err != nil {
		return err
	}
	if !ok {
		ids.unread(f, v.Meta.IDBucketSeconds)
		return nil
	}
	file, err := fragment.OpenBytes(f.Key, body)
	if err != nil {
		r.fail(CheckRows, "%v", err)
		ids.unread(f, v.Meta.IDBucketSeconds)
		return nil
	}
	r.Results[CheckIsolation].Checked++
	info := file.Info()
	if info.Tenant != f.Tenant || tableOf(info.Kind) != f.Table || info.Bucket != f.Bucket {
		r.fail(CheckIsolation, "%s says it holds %s, %s, bucket %d; its record says %s, %s, %d",
			f.Key, info.Tenant, tableOf(info.Kind), info.Bucket, f.Tenant, f.Table, f.Bucket)
	}
	var rows int64
	for m, err := range file.Meta() {
		if err != nil {
			r.fail(CheckRows, "%s: %v", f.Key, err)
			ids.unread(f, v.Meta.IDBucketSeconds)
			return nil
		}
		rows++
		v.verifyRow(r, f, m.Timestamp, m.ID, seen, ids)
	}
	r.Results[CheckRows].Checked += rows
	if rows != f.Rows {
		r.fail(CheckRows, "%s has %d rows, its record says %d", f.Key, rows, f.Rows)
	}
	if f.Table == shardlog.TableEvents {
		r.Rows += rows
	} else {
		r.Letters += rows
	}
	return ctx.Err()
}

func (v *View) verifyRow(r *Report, f File, ts event.Timestamp, id []byte, seen map[event.Hash]string, ids *idLedger) {
	hash := v.Hasher.Identity(f.Tenant, ts, id)
	r.Results[CheckUnique].Checked++
	if first, twice := seen[hash]; twice {
		r.fail(CheckUnique, "tenant %s: %s at %s is in %s and in %s", f.Tenant, id, ts, first, f.Key)
	}
	seen[hash] = f.Key
	if ts < f.Min || ts > f.Max {
		r.fail(CheckRows, "%s: %s at %s lies outside of [%s, %s]", f.Key, id, ts, f.Min, f.Max)
	}
	if bucketOf(ts, v.Meta.DataBucketSeconds) != f.Bucket {
		r.fail(CheckIsolation, "%s: %s at %s lies outside of its bucket, %d", f.Key, id, ts, f.Bucket)
	}
	ids.row(f.Shard, f.Tenant, bucketOf(ts, v.Meta.IDBucketSeconds), hash)
	if f.Table != shardlog.TableEvents {
		return // a letter of a writer lies in the shard that found it
	}
	r.Results[CheckRouting].Checked++
	shard, ok := v.Table.Shard(f.Tenant, ts, v.Hasher.Routing(id))
	if !ok || shard != f.Shard {
		r.fail(CheckRouting, "tenant %s: %s at %s lies in shard %d; placements at version %s say %d (below the horizon: %t)",
			f.Tenant, id, ts, f.Shard, v.Table.Version(), shard, ok)
	}
}

func tableOf(k fragment.Kind) shardlog.Table {
	if k == fragment.DeadLetters {
		return shardlog.TableDeadLetters
	}
	return shardlog.TableEvents
}

// bucketOf is the start of the bucket of a time, in seconds.
func bucketOf(t event.Timestamp, seconds int64) int64 {
	b := int64(t) / (seconds * 1e9)
	if int64(t)%(seconds*1e9) < 0 {
		b--
	}
	return b * seconds
}

// idLedger sums the identities of rows and of id segments, so that two sets are
// compared without holding either: by count and by an order-free sum.
type idLedger struct {
	sums map[idKey]*[2]idSum
	// What can't be read is one finding, of its own check, and no second one here:
	// id buckets that miss a file are not compared. A key without a tenant is a
	// segment's, and stands for all.
	missing map[idKey]bool
}

type idKey struct {
	shard  event.ShardID
	tenant event.TenantID
	bucket int64
}

type idSum struct {
	count int64
	sum   [2]uint64
}

func newIDLedger() *idLedger { return &idLedger{map[idKey]*[2]idSum{}, map[idKey]bool{}} }

// unread notes a fragment whose rows are unknown.
func (l *idLedger) unread(f File, bucketSeconds int64) {
	for b := bucketOf(f.Min, bucketSeconds); b <= bucketOf(f.Max, bucketSeconds); b += bucketSeconds {
		l.missing[idKey{f.Shard, f.Tenant, b}] = true
	}
}

func (l *idLedger) add(side int, k idKey, h event.Hash) {
	s := l.sums[k]
	if s == nil {
		s = &[2]idSum{}
		l.sums[k] = s
	}
	s[side].count++
	for i := range 2 {
		s[side].sum[i] += binary.LittleEndian.Uint64(h[i*8:])
	}
}

func (l *idLedger) row(s event.ShardID, t event.TenantID, bucket int64, h event.Hash) {
	l.add(0, idKey{s, t, bucket}, h)
}

// compare fails every (shard, tenant, bucket) whose identities differ. Below a
// floor rows may be gone while the bucket's ids stay; below the end of the ids those may be gone, as far
// as segments were merged, while rows stay in a file that reaches above its floor.
func (l *idLedger) compare(r *Report, v *View) {
	res := r.Results[CheckIDs]
	passed := 0
	for k, s := range l.sums {
		if l.missing[k] || l.missing[idKey{k.shard, "", k.bucket}] {
			passed++
			continue
		}
		res.Checked += s[1].count
		if s[0] == s[1] || k.bucket < v.Shards[k.shard].IDsBelow() {
			continue
		}
		events, _ := v.Shards[k.shard].Floor(k.tenant, shardlog.TableEvents)
		letters, _ := v.Shards[k.shard].Floor(k.tenant, shardlog.TableDeadLetters)
		if event.Timestamp(k.bucket*1e9) < max(events, letters) && s[0].count <= s[1].count {
			continue
		}
		r.fail(CheckIDs, "shard %d, tenant %s, id bucket %d: those of %d rows are not the %d of the segments", k.shard, k.tenant, k.bucket, s[0].count, s[1].count)
	}
	if passed > 0 {
		res.Note = fmt.Sprintf("%d id buckets passed over, because files of theirs can't be read, or were set aside", passed)
	}
}

// verifySegments reads every live id segment.
func (v *View) verifySegments(ctx context.Context, r *Report, ids *idLedger) error {
	for id, s := range v.Shards {
		var segments []shardlog.IDSegment
		s.Segments(func(seg shardlog.IDSegment) bool {
			segments = append(segments, seg)
			return true
		})
		for _, seg := range segments {
			body, ok, err := v.object(ctx, r, referenced{event.ShardID(id), "id segment", seg.Key, seg.Bytes, seg.Sum})
			if err != nil {
				return err
			}
			if !ok {
				for _, b := range seg.Buckets {
					ids.missing[idKey{event.ShardID(id), "", b.Bucket}] = true
				}
				continue
			}
			if err := addSegment(ids, event.ShardID(id), seg, body); err != nil {
				r.fail(CheckIDs, "%s: %v", seg.Key, err)
			}
		}
	}
	return nil
}

func addSegment(ids *idLedger, shard event.ShardID, seg shardlog.IDSegment, body []byte) error {
	parts, buckets, err := idseg.Decode(body)
	if err != nil {
		return err
	}
	if len(buckets) != len(seg.Buckets) {
		return errors.New("its buckets are not those of its record")
	}
	for i, p := range parts {
		if b := seg.Buckets[i]; buckets[i] != (idseg.Bucket{Bucket: b.Bucket, IDs: b.IDs, Offset: b.Offset, Length: b.Length}) {
			return fmt.Errorf("bucket %+v stands as %+v in its record", buckets[i], b)
		}
		for tenant, entries := range p.All() {
			for n := range entries.Len() {
				h, _ := entries.At(n)
				ids.add(1, idKey{shard, tenant, buckets[i].Bucket}, h)
			}
		}
	}
	return nil
}
