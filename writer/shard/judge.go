package shard

import (
	"fmt"
	"strings"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/writer/dedup"
)

// outcome is what becomes of an item.
type outcome uint8

const (
	skipped outcome = iota
	stored
	duplicate
	conflict
	dead
)

// verdict is an item's outcome and what is kept of it.
type verdict struct {
	outcome outcome
	reason  event.Reason // of a letter
	id      event.Hash   // of the event or the letter, unless duplicate
	payload uint32
}

// judgement is a record on its way through the verdicts. Identities that were
// found new are pending in the index from their verdict on, but nothing of the
// record reaches a buffer before all its items have one.
type judgement struct {
	env      event.Envelope
	verdicts []verdict
	// reason is set while the item behind verdicts is known to become a letter,
	// and only the letter's own identity is still asked for: a verdict of the index
	// is given once.
	reason event.Reason
}

func (j *judgement) reset() {
	j.verdicts, j.reason = j.verdicts[:0], ""
}

// judge goes on with the verdicts; false means that it waits for identities.
func (c *Core) judge(j *judgement) bool {
	for len(j.verdicts) < len(j.env.Items) {
		it := &j.env.Items[len(j.verdicts)]
		v, ok := c.judgeItem(j, it)
		if !ok {
			return false
		}
		j.verdicts = append(j.verdicts, v)
		j.reason = ""
	}
	return true
}

func (c *Core) judgeItem(j *judgement, it *event.Item) (verdict, bool) {
	tenant := j.env.Tenant
	switch {
	case it.Kind == event.KindSkipped:
		return verdict{outcome: skipped}, true
	case it.Kind == event.KindDead:
		reason := it.Reason
		if c.erased(tenant, it.FirstSeen) {
			reason = event.ReasonErased
		}
		return c.judgeLetter(tenant, it, reason)
	case j.reason != "":
		return c.judgeLetter(tenant, it, j.reason)
	}
	v := verdict{outcome: stored, id: c.p.Hasher.Identity(tenant, it.Timestamp, it.ID), payload: c.p.Hasher.Payload(it.Payload)}
	bucket := bucketOf(it.Timestamp, c.p.IDBucketSeconds)
	switch c.index.Check(tenant, bucket, v.id, v.payload) {
	case dedup.VerdictWait:
		return verdict{}, false
	case dedup.VerdictDuplicate:
		c.index.Forget(bucket, v.id)
		return verdict{outcome: duplicate}, true
	case dedup.VerdictConflict:
		j.reason = event.ReasonConflict
	default:
		if floor, _ := c.state.Floor(tenant, shardlog.TableEvents); it.Timestamp >= floor {
			c.acceptID(bucket, v)
			return v, true
		}
		j.reason = event.ReasonTooOld
	}
	c.index.Forget(bucket, v.id)
	if c.erased(tenant, it.Timestamp) {
		j.reason = event.ReasonErased
	}
	return c.judgeLetter(tenant, it, j.reason)
}

// judgeLetter asks for the letter's own identity: one that is there makes the
// item a replay.
func (c *Core) judgeLetter(tenant event.TenantID, it *event.Item, reason event.Reason) (verdict, bool) {
	v := verdict{outcome: dead, reason: reason, id: c.letterHash(tenant, it)}
	if reason == event.ReasonConflict {
		v.outcome = conflict
	}
	if reason != event.ReasonErased {
		v.payload = c.p.Hasher.Payload(it.Payload)
	}
	bucket := bucketOf(it.FirstSeen, c.p.IDBucketSeconds)
	switch c.index.Check(tenant, bucket, v.id, v.payload) {
	case dedup.VerdictWait:
		return verdict{}, false
	case dedup.VerdictDuplicate, dedup.VerdictConflict: // whatever was kept of it then
		c.index.Forget(bucket, v.id)
		return verdict{outcome: duplicate}, true
	}
	c.acceptID(bucket, v)
	return v, true
}

// acceptID makes an identity pending that the index just called new.
func (c *Core) acceptID(bucket int64, v verdict) {
	if got := c.index.Accept(bucket, v.id, v.payload); got != dedup.VerdictNew {
		panic(fmt.Sprintf("shard: identity %x was new, and is %s a moment later", v.id, got))
	}
}

// erased says whether a tenant's data of a time was erased: no payload of it is
// kept, whatever else it is.
func (c *Core) erased(tenant event.TenantID, at event.Timestamp) bool {
	floor, ok := c.state.Erased(tenant)
	return ok && at < floor
}

func (c *Core) letterHash(tenant event.TenantID, it *event.Item) event.Hash {
	c.scratch = event.AppendLetterID(c.scratch[:0], it.Origin)
	return c.p.Hasher.Identity(tenant, it.FirstSeen, c.scratch)
}

// prefetch asks for what the items without a verdict will need, so that they
// wait once and together. It asks the index without taking its verdict.
func (c *Core) prefetch(j *judgement) {
	for i := len(j.verdicts); i < len(j.env.Items); i++ {
		it := &j.env.Items[i]
		switch it.Kind {
		case event.KindEvent:
			c.index.Check(j.env.Tenant, bucketOf(it.Timestamp, c.p.IDBucketSeconds), c.p.Hasher.Identity(j.env.Tenant, it.Timestamp, it.ID), 0)
		case event.KindDead:
			c.index.Check(j.env.Tenant, bucketOf(it.FirstSeen, c.p.IDBucketSeconds), c.letterHash(j.env.Tenant, it), 0)
		}
	}
}

// accept puts a judged record into its tenant's buffer. owned says that the
// bytes of the items need no copy.
func (c *Core) accept(j *judgement, b *buffer, owned bool) {
	keep := b.keep
	if owned {
		keep = func(p []byte) []byte { return p }
	}
	for i := range j.env.Items {
		it, v := &j.env.Items[i], j.verdicts[i]
		src := c.intakeNumber(it.Origin.Source)
		if v.outcome == skipped {
			b.addSpan(span{src, it.Origin.Offset, it.SkipTo})
			continue
		}
		b.addSpan(span{src, it.Origin.Offset, it.Origin.Offset + 1})
		b.ledger.Events++
		row := fragment.Row{IngestedAt: it.FirstSeen, Source: &c.intakes[src].event, Offset: it.Origin.Offset, Format: it.Format}
		at, table := it.Timestamp, shardlog.TableEvents
		switch v.outcome {
		case duplicate:
			b.ledger.Duplicate++
			continue
		case stored:
			b.ledger.Stored++
			row.ID, row.Payload = keep(it.ID), keep(it.Payload)
		case conflict, dead:
			if v.outcome == dead {
				b.ledger.Dead++
			} else {
				b.ledger.Conflict++
			}
			at, table = it.FirstSeen, shardlog.TableDeadLetters
			row.ID, row.Letter = event.LetterID(it.Origin), &fragment.Letter{Reason: v.reason}
			b.memory += int64(len(row.ID)) + letterBytes
			if v.reason != event.ReasonErased {
				row.Payload, row.Letter.Detail = keep(it.Payload), strings.Clone(it.Detail)
				b.memory += int64(len(row.Letter.Detail))
			}
		}
		row.Timestamp = at
		b.addRow(slot{table, bucketOf(at, c.p.DataBucketSeconds)}, row, &c.rowPool)
		b.addID(idseg.Entry{Tenant: b.tenant, Bucket: bucketOf(at, c.p.IDBucketSeconds), ID: v.id, Payload: v.payload}, &c.idPool)
	}
}

// intakeSource is a partition of an intake, as events name it and as the log does.
type intakeSource struct {
	event event.Source
	log   shardlog.Source
}

// intakeNumber gives each intake source a small number, so that a span is short.
func (c *Core) intakeNumber(src event.Source) int32 {
	if n := c.lastIntake; int(n) < len(c.intakes) && c.intakes[n].event == src {
		return n
	}
	n, ok := c.intakeNumbers[src]
	if !ok {
		n = int32(len(c.intakes))
		c.intakes = append(c.intakes, &intakeSource{src, shardlog.SourceFrom(src)})
		c.intakeNumbers[src] = n
	}
	c.lastIntake = n
	return n
}

// bucketOf is the start of the bucket of a time, in seconds.
func bucketOf(t event.Timestamp, size int64) int64 {
	s := int64(t) / 1e9
	if int64(t)%1e9 < 0 {
		s--
	}
	b := s / size
	if s%size < 0 {
		b--
	}
	return b * size
}
