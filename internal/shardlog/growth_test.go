package shardlog

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// counting counts requests and bytes.
type counting struct {
	*objstore.Memory
	puts, gets, lists  int
	putBytes, getBytes int64
}

func (c *counting) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	c.puts++
	c.putBytes += int64(len(body))
	return c.Memory.PutIfAbsent(ctx, key, body)
}

func (c *counting) Get(ctx context.Context, key string) ([]byte, error) {
	b, err := c.Memory.Get(ctx, key)
	c.gets++
	c.getBytes += int64(len(b))
	return b, err
}

func (c *counting) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Object, error] {
	c.lists++
	return c.Memory.List(ctx, prefix, after)
}

// A commit and its share of the checkpoints cost at commit 50,000 what they cost
// at commit 100, and a start does not read the history. The commits come every
// five seconds of event time with two tenants each; intake offsets are spread
// over four shards, so that their bitmaps do not compress.
func TestFault_log_growth(t *testing.T) {
	const commits, window = 50_000, 640
	store := &counting{Memory: objstore.NewMemory()}
	l := OpenWith(store, 0, testConfig("w", noSleep))
	s := NewState(0)
	if _, _, err := l.Claim(t.Context(), s, "w", "i"); err != nil {
		t.Fatal(err)
	}
	type cost struct {
		bytes    int64
		requests int
	}
	var early, late, last cost
	for i := 1; i <= commits; i++ {
		r := growthAppend(s, i)
		if won, _, err := l.Append(t.Context(), s, r); err != nil || !won {
			t.Fatal(won, err)
		}
		if l.CheckpointDue(s) {
			s.Own(s.ClaimNonce())
			if err := l.Checkpoint(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		now := cost{store.putBytes, store.puts}
		switch i {
		case 100, commits - window:
			last = now
		case 100 + window:
			early = cost{now.bytes - last.bytes, now.requests - last.requests}
		case commits:
			late = cost{now.bytes - last.bytes, now.requests - last.requests}
		}
	}
	t.Logf("per commit: early %d bytes %.3f requests, late %d bytes %.3f requests",
		early.bytes/window, float64(early.requests)/window, late.bytes/window, float64(late.requests)/window)
	if late.bytes > 2*early.bytes || late.requests > 2*early.requests {
		t.Errorf("a commit costs %+v at first, and %+v in the end", early, late)
	}
	// What it reads are objects of intake offsets that become one.
	if checkpoints := commits / 64; store.gets > 2*checkpoints {
		t.Errorf("%d reads for %d checkpoints by an appender that lost no race", store.gets, checkpoints)
	}

	store.gets, store.getBytes, store.lists = 0, 0, 0
	loaded, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fragments, segments := loaded.Counts()
	t.Logf("start: %d reads, %d lists, %d bytes for %d fragments and %d id segments", store.gets, store.lists, store.getBytes, fragments, segments)
	if store.gets > 64+1+100 || store.lists > 30 {
		t.Errorf("a start after %d commits makes %d reads and %d lists", commits, store.gets, store.lists)
	}
	if wholeText(t, l, loaded) != wholeText(t, l, s) {
		t.Error("the loaded state differs")
	}
}

func growthAppend(s *State, i int) *Record {
	second := testDay + int64(5*i)
	bucket := second - second%3600
	r := makeAppend(s, commit{source: testSource(0), from: int64(i-1) * 10, next: int64(i) * 10, bucket: bucket})
	a := r.Append
	a.Fragments = nil
	for n, tenant := range []event.TenantID{"acme", "beta"} {
		key := fmt.Sprintf("data/%s/%s/0-1-%s-%d.parquet", tenant, dayName(dayOf(bucket)), s.ClaimNonce(), 2*i+n)
		a.Fragments = append(a.Fragments, testFragment(key, tenant, TableEvents, bucket, 5, a.Seq))
	}
	set := NewIntake()
	x := uint64(i)
	for o := int64(i-1) * 40; o < int64(i)*40; o++ {
		if x = x*6364136223846793005 + 1442695040888963407; x>>62 == 0 {
			set.Add(testSource(100), o)
		}
	}
	if !set.Empty() {
		a.Intake = set.ToIntake()
	}
	return r
}
