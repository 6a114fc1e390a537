package planner

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/placements"
)

// testConfig: a shard bears 100, a tenant grows above 80 a shard and shrinks below 40.
func testConfig() Config {
	c := DefaultConfig()
	c.Capacity, c.MaxShards, c.MaxMoves = 100, 4, 10
	return c
}

// input reads shards such as "0 1 2drained 3lags" and tenants such as "acme=30@0,1".
func input(t *testing.T, c Config, shards, tenants string) Input {
	in := Input{Config: c}
	for _, w := range strings.Fields(shards) {
		var s Shard
		w, s.Draining = strings.CutSuffix(w, "drained")
		w, lags := strings.CutSuffix(w, "lags")
		if lags {
			s.LagSeconds = c.MaxLagSeconds + 1
		}
		n, err := strconv.Atoi(w)
		if err != nil {
			t.Fatal(err)
		}
		s.ID = event.ShardID(n)
		in.Shards = append(in.Shards, s)
	}
	for _, w := range strings.Fields(tenants) {
		name, rest, _ := strings.Cut(w, "=")
		rate, list, _ := strings.Cut(rest, "@")
		n, err := strconv.ParseInt(rate, 10, 64)
		current, err2 := placements.ParseShards(list)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		in.Tenants = append(in.Tenants, Tenant{event.TenantID(name), n, current})
	}
	return in
}

func moves(p Plan) string {
	var out []string
	for _, m := range p.Moves {
		out = append(out, fmt.Sprintf("%s=%s", m.Tenant, m.To))
	}
	return strings.Join(out, " ")
}

func TestPlans(t *testing.T) {
	for _, c := range []struct{ name, shards, tenants, want string }{
		{"steady state", "0 1 2", "a=60@0 b=70@1 c=50@0,1 idle=0@2", ""},
		{"uneven, but nothing is too full", "0 1 2", "a=50@0 b=50@0", ""},
		{"between shrink and grow", "0 1 2", "a=160@0,1 b=80@2", ""},
		{"grows by one", "0 1 2", "a=81@0", "a=0-1"},
		{"grows by as many as it needs", "0 1 2 3 4", "a=300@1", "a=1,0,2-3"},
		{"grows no further than it may", "0 1 2 3 4 5 6 7", "a=900@0", "a=0-3"},
		{"grows to where few are", "0 1 2", "a=90@0 b=1@1 c=1@1 d=2@2", "a=0,2"},
		{"a tenth of the capacity counts more than few tenants", "0 1 2", "a=90@0 b=1@1 c=1@1 d=30@2", "a=0-1"},
		{"does not grow onto what is as full", "0 1", "a=90@0 b=80@1", ""},
		{"shrinks", "0 1 2 3", "a=30@0,1,2", "a=0"},
		{"shrinks off the fullest", "0 1 2", "a=60@2,0,1 b=30@2", "a=0-1"},
		{"does not shrink into too much", "0 1", "a=30@0,1 b=70@0 c=70@1", ""},
		{"silence keeps its shards", "0 1 2 3", "a=0@0,1,2", ""},
		{"drains, in the same place", "0drained 1 2", "a=100@0,1 b=0@0", "a=2,1 b=1"},
		{"drains to nowhere else", "0drained 1", "a=50@0,1", "a=1"},
		{"cannot drain the last one", "0drained", "a=50@0", ""},
		{"leaves shards that are not there", "0 1", "a=50@7", "a=0"},
		{"does not grow onto lag", "0 1lags 2", "a=150@0 b=20@2", "a=0,2"},
		{"drains onto lag if need be", "0drained 1lags", "a=50@0", "a=1"},
		{"lag is relieved early", "0lags 1", "a=50@0 b=40@0", "b=1"},
		{"small neighbours make room", "0 1", "a=70@0 b=20@0 c=20@0", "b=1"},
		{"the smallest that suffices", "0 1", "a=60@0 b=15@0 c=30@0", "b=1"},
		{"the largest that fits", "0 1", "a=79@0 b=79@0 c=10@0 d=20@0 e=60@1", "d=1"},
		{"nothing fits", "0 1", "a=79@0 b=79@0 c=79@1", ""},
		{"more shards are allowed no more", "0 1 2 3 4 5", "a=300@0,1,2,3,4 b=1@0", "a=1-4"},
		{"silence keeps more shards than are allowed", "0 1 2 3 4", "a=0@0,1,2,3,4", ""},
		{"drained, it keeps as many as are allowed", "0 1drained 2 3 4", "a=0@0,1,2,3,4", "a=0,2-4"},
		{"order of the list does not matter", "2 1 0", "idle=0@2 c=50@0,1 b=70@1 a=60@0", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := moves(Make(input(t, testConfig(), c.shards, c.tenants))); got != c.want {
				t.Errorf("moves %q, want %q", got, c.want)
			}
		})
	}
}

func TestMinShards(t *testing.T) {
	c := testConfig()
	c.MinShards = 2
	if got := moves(Make(input(t, c, "0 1 2", "a=30@0,1,2 b=3@1,2 c=3@0"))); got != "a=1-2" {
		t.Errorf("moves %q", got)
	}
}

func TestSaysWhyAndWhatIsLeft(t *testing.T) {
	c := testConfig()
	c.MaxMoves = 1
	p := Make(input(t, c, "0drained 1 2", "a=60@0 b=50@0 c=150@1"))
	want := Plan{ // drained shards come first
		Moves:  []Move{{"a", placements.Shards{0}, placements.Shards{2}, []string{"shard 0 is drained"}}},
		Before: []Load{{0, 2, 110}, {1, 1, 150}, {2, 0, 0}},
		After:  []Load{{0, 1, 50}, {1, 1, 150}, {2, 1, 60}},
		Left: []string{
			"1 tenants still on drained shards", "more than 1 tenants need other shards; plan again after this",
		},
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("plan\n%+v, want\n%+v", p, want)
	}
	p = Make(input(t, testConfig(), "0 1lags", "a=150@0"))
	if want := []string{"shard 0 at 150 B/s, above 100 B/s, with nothing that fits elsewhere"}; !slices.Equal(p.Left, want) {
		t.Errorf("left %q, want %q", p.Left, want)
	}
}

// drawn makes any input; tame leaves out what may fill a shard anew.
func drawn(rt *rapid.T, tame bool) Input {
	in := Input{Config: testConfig()}
	in.Config.MaxMoves = rapid.IntRange(1, 12).Draw(rt, "moves")
	in.Config.MinShards = rapid.IntRange(1, 2).Draw(rt, "min")
	n := rapid.IntRange(1, 8).Draw(rt, "shards")
	for id := range n {
		s := Shard{ID: event.ShardID(id), LagSeconds: rapid.SampledFrom([]float64{0, 0, 0, 500}).Draw(rt, "lag")}
		s.Draining = !tame && rapid.IntRange(0, 5).Draw(rt, "draining") == 0
		in.Shards = append(in.Shards, s)
	}
	for i := range rapid.IntRange(0, 20).Draw(rt, "tenants") {
		most := n + 1 // one is unknown
		if tame {
			most = n
		}
		all := make(placements.Shards, most)
		for id := range all {
			all[id] = event.ShardID(id)
		}
		list := rapid.Permutation(all).Draw(rt, "list")[:rapid.IntRange(1, min(most, 6)).Draw(rt, "k")]
		if tame {
			list = list[:min(len(list), in.Config.MaxShards)]
		}
		rate := rapid.SampledFrom([]int64{0, 3, 30, 100, 1000}).Draw(rt, "about")
		rate = rapid.Int64Range(0, rate).Draw(rt, "rate")
		in.Tenants = append(in.Tenants, Tenant{event.TenantID(fmt.Sprint("t", i)), rate, list})
	}
	return in
}

func applied(in Input, p Plan) Input {
	in.Tenants = slices.Clone(in.Tenants)
	for _, m := range p.Moves {
		i := slices.IndexFunc(in.Tenants, func(t Tenant) bool { return t.ID == m.Tenant })
		in.Tenants[i].Current = m.To
	}
	return in
}

// fullest is the load of the shard that has most.
func fullest(loads []Load) (most int64) {
	for _, l := range loads {
		most = max(most, l.BytesPerSecond)
	}
	return most
}

// TestInvariants are those of the package comment, over any input.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tame := rapid.Bool().Draw(rt, "tame")
		in := drawn(rt, tame)
		p := Make(in)
		if len(p.Moves) > in.Config.MaxMoves {
			rt.Fatalf("%d moves", len(p.Moves))
		}
		usable := 0 // not drained, do not lag
		for _, s := range in.Shards {
			if !s.Draining && s.LagSeconds == 0 {
				usable++
			}
		}
		for _, m := range p.Moves {
			checkMove(rt, in, m, usable)
		}
		after := applied(in, p)
		if got := newPlan(after).loads(); !slices.Equal(got, p.After) {
			rt.Fatalf("loads %v, the plan says %v", got, p.After)
		}
		if grow := int64(80); tame && fullest(p.After) > max(fullest(p.Before), grow) {
			rt.Fatalf("the fullest shard gets fuller: %v, was %v", p.After, p.Before)
		}
		// A plan that was cut goes on; it must come to an end, and stay there.
		for rounds := 0; len(p.Moves) == in.Config.MaxMoves; rounds++ {
			if rounds > 100 {
				rt.Fatal("never ends")
			}
			p = Make(after)
			after = applied(after, p)
		}
		if again := Make(after); len(again.Moves) > 0 {
			rt.Fatalf("planning again finds %+v", again.Moves)
		}
	})
}

func checkMove(rt *rapid.T, in Input, m Move, usable int) {
	if len(m.To) < 1 || len(m.To) > in.Config.MaxShards || len(m.Reasons) == 0 {
		rt.Fatalf("%+v", m)
	}
	seen := map[event.ShardID]bool{}
	for _, id := range m.To {
		if seen[id] || int(id) >= len(in.Shards) || in.Shards[id].Draining {
			rt.Fatalf("shard %s in %+v", id, m)
		}
		seen[id] = true
		if in.Shards[id].LagSeconds > 0 && !slices.Contains(m.From, id) && usable > len(m.To) {
			rt.Fatalf("shard %s lags, others were free: %+v", id, m)
		}
	}
}

// TestDeterministic: neither chance nor the order of the input matters.
func TestDeterministic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := drawn(rt, false)
		want := Make(in)
		r := rand.New(rand.NewPCG(1, 2))
		r.Shuffle(len(in.Tenants), func(i, j int) { in.Tenants[i], in.Tenants[j] = in.Tenants[j], in.Tenants[i] })
		r.Shuffle(len(in.Shards), func(i, j int) { in.Shards[i], in.Shards[j] = in.Shards[j], in.Shards[i] })
		if got := Make(in); !reflect.DeepEqual(got, want) {
			rt.Fatalf("%+v\nthen\n%+v", want, got)
		}
	})
}

// TestUpFastDownSlow follows a tenant that writes much for a while.
func TestUpFastDownSlow(t *testing.T) {
	var s Sizer
	in := input(t, testConfig(), "0 1 2 3", "a=0@0")
	var counts []int
	for minute := range 60 {
		rate := 10.0
		if minute >= 5 && minute < 10 {
			rate = 300
		}
		s.Observe(rate, time.Minute)
		in.Tenants[0].BytesPerSecond = s.Size()
		in = applied(in, Make(in))
		counts = append(counts, len(in.Tenants[0].Current))
	}
	if counts[4] != 1 || counts[5] != 4 {
		t.Errorf("does not go up at once: %v", counts)
	}
	if counts[9+10] != 4 || counts[59] != 1 {
		t.Errorf("goes down too fast, or never: %v", counts)
	}
	for i := 10; i < 59; i++ {
		if counts[i+1] > counts[i] {
			t.Errorf("goes to and fro: %v", counts)
		}
	}
}

func TestRates(t *testing.T) {
	from := time.Unix(1000, 0)
	at := func(second int, bytes int64) Commit {
		return Commit{from.Add(time.Duration(second) * time.Second), bytes}
	}
	for _, c := range []struct {
		name    string
		length  int // seconds
		commits []Commit
		want    string
	}{
		{"nothing", 300, nil, "[0 0 0 0 0]"},
		{"a commit a minute is no burst", 300, []Commit{at(230, 600), at(50, 500), at(110, 600), at(170, 600), at(290, 600)}, "[10 10 10 10 8.33]"},
		{"one commit stands for the time before it", 180, []Commit{at(120, 1200)}, "[10 10 0]"},
		{"two of one time", 120, []Commit{at(60, 300), at(60, 300), at(120, 60), at(120, 60)}, "[10 2]"},
		{"clocks that are off", 120, []Commit{at(-50, 60), at(500, 1200)}, "[11 10]"},
		{"the first step is longer", 150, []Commit{at(90, 900)}, "[10 0]"},
		{"a window of no length", 0, []Commit{at(0, 5)}, "[5]"},
	} {
		var got []string
		for _, r := range Rates(from, from.Add(time.Duration(c.length)*time.Second), c.commits) {
			got = append(got, fmt.Sprintf("%.3g", r))
		}
		if s := fmt.Sprint(got); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

func TestSize(t *testing.T) {
	if got := Size([]float64{0, 1, 50}, []float64{70}); got != 120 {
		t.Errorf("the last step is one of both shards: %d", got)
	}
	if got := Size([]float64{100, 0, 0}); got != 88 {
		t.Errorf("two minutes after a peak of 100: %d", got)
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1234: "1.23 kB", 20e6: "20 MB", 999999: "1 MB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestConfigs(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*Config){
		func(c *Config) { c.Capacity = 0 }, func(c *Config) { c.MaxShards = 0 }, func(c *Config) { c.MinShards = 17 }, func(c *Config) { c.MaxMoves = 0 },
		func(c *Config) { c.Grow = 1.5 }, func(c *Config) { c.Shrink = 0.5 },
	} {
		c := DefaultConfig()
		change(&c)
		if c.Validate() == nil {
			t.Errorf("%+v is valid", c)
		}
	}
}
