package shardlog

import (
	"fmt"
	"strings"
	"time"
)

// Line is the record for people, in one line.
func (r Record) Line() string {
	when := time.UnixMilli(r.TimeMS).UTC().Format("2006-01-02 15:04:05.000")
	return fmt.Sprintf("%6d  %s  %-11s  %s", uint64(r.Position), when, r.Kind, r.what())
}

// what tells the record's content.
func (r Record) what() string {
	if err := r.checkBody(); err != nil {
		return "(" + err.Error() + ")"
	}
	switch r.Kind {
	case KindClaim:
		return fmt.Sprintf("epoch %d  owner %s  incarnation %s", r.Claim.Epoch, r.Claim.Owner, r.Claim.Incarnation)
	case KindAppend:
		return r.Append.what()
	case KindRelease:
		return fmt.Sprintf("epoch %d", r.Release.Epoch)
	case KindGap:
		return fmt.Sprintf("%s  lost %s  on at %d  by %s: %s", r.Gap.Source, ranges(r.Gap.Lost), r.Gap.Next, r.Gap.Operator, r.Gap.Reason)
	case KindExpire:
		return r.Expire.what()
	case KindErase:
		return fmt.Sprintf("tenant %s  below %s", r.Erase.Tenant, r.Erase.Floor)
	case KindMergeBegin:
		return fmt.Sprintf("job %s  worker %s  %d inputs", r.Nonce, r.MergeBegin.Worker, len(r.MergeBegin.Inputs))
	case KindMergeEnd:
		rows, bytes := sums(r.MergeEnd.Fragments)
		return fmt.Sprintf("job %s  %d inputs -> %d fragments (%d rows, %d bytes), %d id segments",
			r.MergeEnd.Job, len(r.MergeEnd.Inputs), len(r.MergeEnd.Fragments), rows, bytes, len(r.MergeEnd.IDs))
	case KindMergeAbort:
		return "job " + r.MergeAbort.Job
	default:
		return fmt.Sprintf("%s: %s", r.Quarantine.Key, r.Quarantine.Reason)
	}
}

func sums(fragments []Fragment) (rows, bytes int64) {
	for _, f := range fragments {
		rows += f.Rows
		bytes += f.Bytes
	}
	return rows, bytes
}

func (a *Append) what() string {
	var b strings.Builder
	_, bytes := sums(a.Fragments)
	l := a.Ledger
	fmt.Fprintf(&b, "epoch %d  seq %d  events %d = stored %d + duplicate %d + conflict %d + dead %d  fragments %d (%d bytes)",
		a.Epoch, a.Seq, l.Events, l.Stored, l.Duplicate, l.Conflict, l.Dead, len(a.Fragments), bytes)
	for _, p := range a.Progress {
		fmt.Fprintf(&b, "  %s/%d [%d, %d)", p.TopicName, p.Source.Partition, p.From, p.Next)
		if len(p.Opened) > 0 {
			fmt.Fprintf(&b, " opened %s", ranges(p.Opened))
		}
		if len(p.Closed) > 0 {
			fmt.Fprintf(&b, " closed %s", ranges(p.Closed))
		}
		if p.Control > 0 {
			fmt.Fprintf(&b, " control %d", p.Control)
		}
	}
	return b.String()
}

func (x *Expire) what() string {
	var b strings.Builder
	for i, f := range x.Floors {
		if i > 0 {
			b.WriteString("  ")
		}
		tenant := string(f.Tenant)
		if tenant == "" {
			tenant = "(all tenants)"
		}
		fmt.Fprintf(&b, "%s %s below %s", tenant, f.Table, f.Floor)
	}
	if x.IDsBelow != nil {
		fmt.Fprintf(&b, "  ids below %s", time.Unix(*x.IDsBelow, 0).UTC().Format(time.RFC3339))
	}
	return b.String()
}

// maxShownRanges keeps a line a line.
const maxShownRanges = 8

// ranges is a set for people.
func ranges(set RangeSet) string {
	parts := make([]string, 0, maxShownRanges)
	for i, r := range set {
		if i == maxShownRanges {
			parts = append(parts, fmt.Sprintf("and %d more ranges", len(set)-i))
			break
		}
		parts = append(parts, r.String())
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
