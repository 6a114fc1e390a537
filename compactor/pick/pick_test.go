package pick

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/shardlog"
)

// testPolicy has a target of 1,000 bytes.
func testPolicy() Policy {
	return Policy{TargetBytes: 1000, Fanin: 4, Ratio: 4, Levels: 2, Overlap: 1, MaxInputs: 12, MaxInputBytes: 12_000,
		QuietAfter: time.Minute, QuietNewestAfter: 10 * time.Minute}
}

// parse reads a bucket, one fragment a line: key bytes level min-max [sort key] [busy]. "." is an empty span.
func parse(t *testing.T, text string) Bucket {
	t.Helper()
	busy := map[string]bool{}
	b := Bucket{Tenant: "a", Table: shardlog.TableEvents, Busy: func(key string) bool { return busy[key] }}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		f := shardlog.Fragment{Key: fields[0], Tenant: "a", Table: shardlog.TableEvents}
		var span string
		if _, err := fmt.Sscan(strings.Join(fields[1:4], " "), &f.Bytes, &f.Level, &span); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if span != "." {
			f.KeyMin, f.KeyMax, _ = strings.Cut(span, "-")
		}
		for _, word := range fields[4:] {
			if word == "busy" {
				busy[f.Key] = true
			} else {
				f.SortKey = word
			}
		}
		b.Fragments = append(b.Fragments, f)
	}
	return b
}

func describe(jobs []Job) string {
	var out []string
	for _, j := range jobs {
		keys := j.Keys()
		slices.Sort(keys)
		out = append(out, fmt.Sprintf("%s>%d %s", j.Why, j.Level, strings.Join(keys, " ")))
	}
	return strings.Join(out, "; ")
}

// TestRules: each rule of the picker, with what it does at its edge.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name, fragments string
		idle            time.Duration
		newest          bool
		want            string
	}{
		{name: "nothing there"},
		{name: "three of similar size wait", fragments: "a 10 0 a-z\n b 10 0 a-z\n c 10 0 a-z"},
		{name: "four make a merge", fragments: "a 10 0 a-z\n b 10 0 a-z\n c 10 0 a-z\n d 10 0 a-z", want: "tier>0 a b c d"},
		{name: "four of which one is larger than a fourth of all wait", fragments: "a 10 0 a-z\n b 10 0 a-z\n c 10 0 a-z\n d 11 0 a-z"},
		{name: "the large one is left out", fragments: "a 10 0 a-z\n b 10 0 a-z\n c 10 0 a-z\n d 10 0 a-z\n e 90 0 a-z", want: "tier>0 a b c d"},
		{name: "more than four go together", fragments: "a 10 0 a-z\n b 10 0 a-z\n c 10 0 a-z\n d 10 0 a-z\n e 12 0 a-z", want: "tier>0 a b c d e"},
		{name: "a busy one is not there", fragments: "a 10 0 a-z\n b 10 0 a-z\n c 10 0 a-z\n d 10 0 a-z busy"},
		{name: "a whole target does not wait for its like when many wait", fragments: "a 400 0 a-b\n b 400 0 a-b\n c 400 0 a-b\n d 400 0 a-b busy\n e 1 0 a-z\n f 5 0 a-z\n g 25 0 a-z\n h 120 0 a-z\n i 400 0 a-z\n j 400 0 a-z\n k 400 0 a-z\n l 400 0 a-z\n m 400 0 a-z",
			want: "tier>0 a b c e f g h"},
		{name: "two tiers at once", fragments: "a 10 0 a-z\n b 10 0 a-z\n c 10 0 a-z\n d 10 0 a-z\n e 300 0 a-z\n f 300 0 a-z\n g 300 0 a-z\n h 300 0 a-z",
			want: "tier>0 a b c d; tier>0 e f g h"},
		{name: "what is done is no tier", fragments: "a 500 0 a-z\n b 500 0 a-z\n c 500 0 a-z\n d 500 0 a-z"},
		{name: "level 0 goes on at four targets", fragments: "a 1000 0 a-m\n b 1000 0 c-z\n c 1000 0 a-z\n d 1000 0 b-z", want: "level>1 a b c d"},
		{name: "with what it overlaps", fragments: "a 1000 0 a-m\n b 1000 0 c-k\n c 1000 0 a-m\n d 1000 0 b-m\n e 900 1 l-p\n f 900 1 p-z", want: "level>1 a b c d e"},
		{name: "into level 2, where level 1 would be too large", fragments: "a 1000 0 a-m\n b 1000 0 c-k\n c 1000 0 a-m\n d 1000 0 b-m\n e 900 1 c-d\n h 4000 1 o-z\n f 900 2 e-f\n g 900 2 n-z",
			want: "level>2 a b c d e f"},
		{name: "not for more than as much again", fragments: "a 1000 0 a-m\n b 1000 0 c-k\n c 1000 0 a-m\n d 1000 0 b-m\n e 1500 1 a-d\n f 1500 1 d-f\n g 1500 1 g-z\n h 1500 2 a-d\n i 1500 2 d-f\n j 2000 2 g-z"},
		{name: "then level 1 makes room first", fragments: "a 1000 0 a-m\n b 1000 0 c-k\n c 1000 0 a-m\n d 1000 0 b-m\n e 1500 1 a-d\n f 1500 1 d-f\n g 1500 1 g-z\n h 900 2 e-f", want: "level>2 e f g h"},
		{name: "touching is not overlapping", fragments: "a 1000 0 a-m\n b 1000 0 c-m\n c 1000 0 a-m\n d 1000 0 b-m\n e 900 1 m-z", want: "level>1 a b c d"},
		{name: "one key alone can't become narrower", fragments: "a 1000 0 a-m\n b 1000 0 c-m\n c 1000 0 a-m\n d 1000 0 b-m\n e 900 1 e-e\n f 100 1 f-f", want: "level>1 a b c d f"},
		{name: "no level while something is busy", fragments: "a 1000 0 a-m\n b 1000 0 c-m\n c 1000 0 a-m\n d 1000 0 b-m\n e 9 1 x-z busy"},
		{name: "a level that has outgrown its size goes on where it overlaps least",
			fragments: "a 2100 1 a-c\n b 2100 1 d-f\n c 2100 1 g-i\n d 2100 1 j-l\n e 1000 2 a-b\n f 1000 2 e-f", want: "level>2 c d"},
		{name: "quiet: all becomes one", fragments: "a 10 0 a-z\n b 300 0 a-z\n c 20 0 a-z", idle: time.Minute, want: "last>1 a b c"},
		{name: "the newest bucket rests longer", fragments: "a 10 0 a-z\n b 300 0 a-z", idle: time.Minute, newest: true},
		{name: "and then", fragments: "a 10 0 a-z\n b 300 0 a-z", idle: 10 * time.Minute, newest: true, want: "last>1 a b"},
		{name: "quiet: one is done", fragments: "a 10 0 a-z", idle: time.Hour},
		{name: "quiet: done", fragments: "a 900 1 a-c\n b 800 1 d-z", idle: time.Hour},
		{name: "late rows join a bucket that is not much larger", fragments: "a 800 1 a-z\n b 200 0 c-d", idle: time.Hour, want: "last>1 a b"},
		{name: "few late rows rewrite nothing", fragments: "a 800 1 a-z\n b 20 0 c-d", idle: time.Hour},
		{name: "they become one", fragments: "a 800 1 a-z\n b 20 0 c-d\n c 10 0 a-b\n d 5 0 x-y", idle: time.Hour, want: "last>0 b c d"},
		{name: "late rows that overlap nothing stay", fragments: "a 800 1 a-c\n b 200 0 d-e", idle: time.Hour},
		{name: "small neighbours of a level become one", fragments: "a 400 1 a-c\n b 300 1 d-e\n c 900 1 f-z", idle: time.Hour, want: "last>1 a b"},
		{name: "one small one stays", fragments: "a 400 1 a-c\n b 900 1 d-e\n c 900 1 f-z", idle: time.Hour},
		{name: "without a span: tiers", fragments: "a 10 0 .\n b 10 0 .\n c 10 0 .\n d 10 0 .\n e 10 0 a-z", want: "tier>0 a b c d"},
		{name: "without a span: no levels", fragments: "a 1000 0 .\n b 1000 0 .\n c 1000 0 .\n d 1000 0 .\n e 1000 0 ."},
		{name: "without a span: a last merge", fragments: "a 10 0 .\n b 20 0 .\n c 900 0 .", idle: time.Hour, want: "last>0 a b"},
		{name: "another sort key waits", fragments: "a 10 0 a-z k\n b 10 0 a-z k\n c 10 0 a-z k\n d 10 0 a-z k\n e 10 0 a-z"},
		{name: "and is sorted by itself", fragments: "a 10 1 a-z k\n b 10 0 a-z k", idle: time.Hour, want: "resort>0 a; resort>0 b"},
		{name: "a level that the policy no longer has is the last one", fragments: "a 400 5 a-c\n b 300 2 d-e", idle: time.Hour, want: "last>2 a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := parse(t, c.fragments)
			b.Idle, b.Newest = c.idle, c.newest
			jobs := Pick(b, testPolicy())
			check(t, b, testPolicy(), jobs)
			if got := describe(jobs); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestLetters: letters have no sort key of their own, whatever the tenant's is.
func TestLetters(t *testing.T) {
	b := parse(t, "a 10 0 .\n b 10 0 .\n c 10 0 .")
	for i := range b.Fragments {
		b.Fragments[i].Table = shardlog.TableDeadLetters
	}
	b.Table, b.Idle = shardlog.TableDeadLetters, time.Hour
	p := testPolicy()
	p.SortKey = "k"
	if got := describe(Pick(b, p)); got != "last>0 a b c" {
		t.Errorf("got %q", got)
	}
}

// TestEvenOutputs: a job's target makes outputs alike in size, not whole ones and a rest.
func TestEvenOutputs(t *testing.T) {
	for bytes, want := range map[int64]int64{10: 10, 999: 999, 1400: 1400, 1600: 800, 2400: 1200, 4600: 920} {
		j := testPolicy().job([]shardlog.Fragment{{Bytes: bytes}}, 0, WhyTier)
		if j.TargetBytes != want {
			t.Errorf("%d bytes: target %d, want %d", bytes, j.TargetBytes, want)
		}
	}
}
