package shardlog

import (
	"strings"
	"testing"
)

func TestCreatorIsInItsKeys(t *testing.T) {
	nonce := strings.Repeat("0a", 16)
	for _, c := range []struct {
		creator Creator
		keys    []string
	}{
		{Creator{Shard: 3, Epoch: 7, Nonce: nonce, Number: 0}, []string{"data/acme-1.x/1970-01-01T01/3-7-" + nonce + "-0.parquet", "letters/acme-1.x/1970-01-01T01/3-7-" + nonce + "-0.parquet", "ids/3/7-" + nonce + "-0.ids"}},
		{Creator{Shard: 0, Job: 12, Nonce: nonce, Number: 41}, []string{"data/acme-1.x/1970-01-01T01/0-j12-" + nonce + "-41.parquet", "letters/acme-1.x/1970-01-01T01/0-j12-" + nonce + "-41.parquet", "ids/0/j12-" + nonce + "-41.ids"}},
	} {
		keys := []string{c.creator.FragmentKey(TableEvents, "acme-1.x", 3600), c.creator.FragmentKey(TableDeadLetters, "acme-1.x", 3600), c.creator.SegmentKey()}
		for i, key := range keys {
			if key != c.keys[i] {
				t.Errorf("key %s, want %s", key, c.keys[i])
			}
			if got, err := CreatorOf(key); err != nil || got != c.creator {
				t.Errorf("%s comes back as %+v, %v", key, got, err)
			}
		}
	}
	for _, key := range []string{
		"", "data", "data/a/b", "data/a/b/c", "ids/3", "ids/3/x.ids", "shards/1/log/00000000000000000001", "columns/a/1",
		"data/a/1970-01-01T01/3-7-" + nonce + "-0", "data/a/3-7-" + nonce + "-0.parquet", "data/a/b/c/3-7-" + nonce + "-0.parquet",
		"ids/3/07-" + nonce + "-0.ids", "ids/3/0-" + nonce + "-0.ids", "ids/3/j0-" + nonce + "-0.ids", "ids/3/7-" + nonce[1:] + "-0.ids",
		"ids/3/7-" + nonce + "-00.ids", "ids/-3/7-" + nonce + "-0.ids", "ids/3/7-" + nonce + "-0.ids.tmp", "ids/4294967299/7-" + nonce + "-0.ids",
	} {
		if got, err := CreatorOf(key); err == nil {
			t.Errorf("%q was read as %+v", key, got)
		}
	}
}
