package shardlog

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
)

// Creator is the claim or the merge in whose name an object was uploaded. It stands in
// the object's key, so that a state alone tells whether the object may still be
// committed. A creator's uploads are numbered, and a number is used once.
type Creator struct {
	Shard  event.ShardID
	Epoch  Epoch          // of a claim; 0 for a merge
	Job    chain.Position // of a merge-begin; 0 for a claim
	Nonce  string         // of the claim or the merge-begin
	Number uint64
}

// Folders of the objects that shard logs name.
const (
	EventsFolder  = "data"
	LettersFolder = "letters"
	IDsFolder     = "ids"

	fragmentSuffix = ".parquet"
	segmentSuffix  = ".ids"
)

// name is the part of a key that says whose the object is.
func (c Creator) name() string {
	if c.Job > 0 {
		return fmt.Sprintf("j%d-%s-%d", uint64(c.Job), c.Nonce, c.Number)
	}
	return fmt.Sprintf("%d-%s-%d", uint64(c.Epoch), c.Nonce, c.Number)
}

// FragmentKey is the key of a fragment: <folder>/<tenant>/<bucket>/<shard>-<creator>.parquet,
// with the bucket's start (seconds since 1970) as a date and an hour.
func (c Creator) FragmentKey(table Table, tenant event.TenantID, bucket int64) string {
	folder := EventsFolder
	if table == TableDeadLetters {
		folder = LettersFolder
	}
	return fmt.Sprintf("%s/%s/%s/%s-%s%s", folder, tenant, time.Unix(bucket, 0).UTC().Format("2006-01-02T15"), c.Shard, c.name(), fragmentSuffix)
}

// SegmentKey is the key of an id segment: ids/<shard>/<creator>.ids.
func (c Creator) SegmentKey() string {
	return fmt.Sprintf("%s/%s/%s%s", IDsFolder, c.Shard, c.name(), segmentSuffix)
}

// CreatorOf reads a key of FragmentKey or SegmentKey; an error means that no claim and no
// merge ever uploads under this key.
func CreatorOf(key string) (Creator, error) {
	folder, rest, _ := strings.Cut(key, "/")
	var name string
	var c Creator
	switch folder {
	case EventsFolder, LettersFolder:
		file := rest[strings.LastIndexByte(rest, '/')+1:]
		shard, own, ok := strings.Cut(strings.TrimSuffix(file, fragmentSuffix), "-")
		if !ok || !strings.HasSuffix(file, fragmentSuffix) || strings.Count(rest, "/") != 2 {
			return c, fmt.Errorf("key %q is no fragment's", key)
		}
		rest, name = shard, own
	case IDsFolder:
		shard, file, ok := strings.Cut(rest, "/")
		if !ok || !strings.HasSuffix(file, segmentSuffix) {
			return c, fmt.Errorf("key %q is no id segment's", key)
		}
		rest, name = shard, strings.TrimSuffix(file, segmentSuffix)
	default:
		return c, fmt.Errorf("key %q is neither a fragment's nor an id segment's", key)
	}
	parts := strings.Split(name, "-")
	if len(parts) != 3 || !isHex(parts[1], 32) {
		return c, fmt.Errorf("key %q names no claim and no merge", key)
	}
	first, job := strings.CutPrefix(parts[0], "j")
	at, err1 := parseNumber(first)
	number, err2 := parseNumber(parts[2])
	shard, err3 := parseNumber(rest)
	if err1 != nil || err2 != nil || err3 != nil || at == 0 || shard > maxShard {
		return c, fmt.Errorf("key %q names no claim and no merge", key)
	}
	c = Creator{Shard: event.ShardID(shard), Nonce: parts[1], Number: number}
	if job {
		c.Job = chain.Position(at)
	} else {
		c.Epoch = Epoch(at)
	}
	return c, nil
}

const maxShard = 1<<31 - 1

// parseNumber reads a decimal number as fmt writes it, and nothing else.
func parseNumber(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err == nil && strconv.FormatUint(n, 10) != s {
		err = strconv.ErrSyntax
	}
	return n, err
}
