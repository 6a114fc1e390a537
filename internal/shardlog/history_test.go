package shardlog

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/event"
)

// draw is where a random history takes its choices from.
type draw func(n int, what string) int // in [0, n)

// seededDraw gives the same choices for the same seed; what says what for.
func seededDraw(seed uint64) draw {
	r := rand.New(rand.NewPCG(seed, 7))
	return func(n int, _ string) int { return r.IntN(n) }
}

// eachSeed runs a random test for seeds 1 to n; the subtest's name is the seed.
func eachSeed(t *testing.T, n uint64, run func(t *testing.T, d draw)) {
	for seed := uint64(1); seed <= n; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { run(t, seededDraw(seed)) })
	}
}

// nextRecord makes a record that s must take, of any kind.
func nextRecord(s *State, d draw) *Record {
	if s.Owner() == nil {
		return &Record{Kind: KindClaim, Claim: &Claim{Owner: "w", Incarnation: "i", Epoch: s.Epoch() + 1}}
	}
	switch k := d(20, "kind"); k {
	case 0:
		return &Record{Kind: KindRelease, Release: &Release{Epoch: s.Epoch()}}
	case 1:
		return &Record{Kind: KindClaim, Claim: &Claim{Owner: "v", Incarnation: "i", Epoch: s.Epoch() + 1}}
	case 2:
		return randomExpire(s, d)
	case 3:
		return randomErase(s, d)
	case 4, 5:
		return randomMergeBegin(s, d)
	case 6, 7, 8:
		return randomMergeEnd(s, d)
	case 9:
		return randomGap(s, d)
	case 10:
		var keys []string
		s.Fragments("", -maxSecond, maxSecond, func(f Fragment) bool { keys = append(keys, f.Key); return true })
		if len(keys) > 0 && d(3, "quarantine") == 0 {
			return &Record{Kind: KindQuarantine, Quarantine: &Quarantine{Key: keys[d(len(keys), "key")], Reason: "checksum"}}
		}
	}
	return randomAppend(s, d)
}

var testTenants = []event.TenantID{"acme", "beta", "gamma"}

func randomAppend(s *State, d draw) *Record {
	src := testSource(int32(d(3, "partition")))
	cur, _ := s.SourceOf(src)
	c := commit{source: src, from: cur.Next, next: cur.Next + int64(d(20, "offsets"))}
	for o := c.from; o < c.next; o++ {
		if d(6, "open") == 0 {
			c.opened = AddRanges(c.opened, RangeSet{{o, o + 1}})
		}
	}
	for _, r := range cur.Open {
		if d(2, "close") == 0 {
			c.closed = append(c.closed, r)
		}
	}
	records := c.next - c.from - CountRanges(c.opened) + CountRanges(c.closed)
	c.control = int64(d(int(records)+1, "control"))
	c.dup = int64(d(int(records-c.control)+1, "dup"))
	from := int64(d(1<<22, "intake"))
	c.intake = RangeSet{{from, from + 1 + int64(d(5000, "width"))}}
	r := makeAppend(s, c)
	// Spread the rows over tenants, days and tables.
	a := r.Append
	rows := a.Ledger.Stored
	a.Fragments, a.IDs = nil, nil
	ids := map[int64]int64{}
	for n := 0; rows > 0; n++ {
		part := 1 + int64(d(int(rows), "rows"))
		rows -= part
		tenant, table := testTenants[d(3, "tenant")], TableEvents
		bucket := testDay + 3600*int64(d(72, "hour"))
		floor, _ := s.Floor(tenant, table)
		if event.Timestamp(bucket)*1e9 < floor || d(5, "letter") == 0 {
			table = TableDeadLetters
			a.Ledger.Stored -= part
			a.Ledger.Dead += part
		}
		key := fmt.Sprintf("%s/%s/%d/0-%d-%d-%d", table, tenant, bucket, s.Epoch(), a.Seq, n)
		a.Fragments = append(a.Fragments, testFragment(key, tenant, table, bucket, part, a.Seq))
		ids[bucket] += part
	}
	if len(ids) > 0 {
		a.IDs = testSegment(fmt.Sprintf("ids/0/%d-%d", s.Epoch(), a.Seq), ids)
	}
	return r
}

func randomExpire(s *State, d draw) *Record {
	floor := event.Timestamp(testDay+1800*int64(d(100, "floor"))) * 1e9
	x := &Expire{}
	tenants := append([]event.TenantID{""}, testTenants...)
	tenant := tenants[d(4, "whose")]
	for _, table := range []Table{TableEvents, TableDeadLetters} {
		old := s.floors(tenant)
		x.Floors = append(x.Floors, Floor{Tenant: tenant, Table: table, Floor: max(old.of(table), floor)})
	}
	if tenant == "" && d(2, "ids") == 0 {
		below := max(s.IDsBelow(), floorSecond(floor))
		x.IDsBelow = &below
	}
	return &Record{Kind: KindExpire, Expire: x}
}

func randomErase(s *State, d draw) *Record {
	tenant := testTenants[d(3, "whom")]
	floor, _ := s.Floor(tenant, TableEvents)
	s.Fragments(tenant, -maxSecond, maxSecond, func(f Fragment) bool { floor = max(floor, f.Max+1); return true })
	if floor == noFloor {
		floor = 0
	}
	return &Record{Kind: KindErase, Erase: &Erase{Tenant: tenant, Floor: floor}}
}

func randomMergeBegin(s *State, d draw) *Record {
	groups := map[string][]string{}
	s.Fragments("", -maxSecond, maxSecond, func(f Fragment) bool {
		group := fmt.Sprintf("%s %s %d", f.Tenant, f.Table, f.Bucket)
		groups[group] = append(groups[group], f.Key)
		return true
	})
	s.Segments(func(seg IDSegment) bool { groups["ids"] = append(groups["ids"], seg.Key); return true })
	names := slices.Sorted(maps.Keys(groups))
	if len(names) == 0 {
		return randomAppend(s, d)
	}
	inputs := groups[names[d(len(names), "group")]]
	inputs = inputs[:1+d(min(len(inputs), 8), "inputs")]
	return &Record{Kind: KindMergeBegin, MergeBegin: &MergeBegin{Worker: "m", Inputs: inputs}}
}

// randomMergeEnd ends an open job if it still can be, else it gives it up.
func randomMergeEnd(s *State, d draw) *Record {
	jobs := s.Jobs()
	if len(jobs) == 0 {
		return randomAppend(s, d)
	}
	job := jobs[d(len(jobs), "job")]
	end := &MergeEnd{Job: job.Nonce, Inputs: job.Inputs}
	inputs, err := s.mergeInputs(job.Inputs)
	if err != nil || d(5, "abort") == 0 {
		return &Record{Kind: KindMergeAbort, MergeAbort: &MergeAbort{Job: job.Nonce}}
	}
	if inputs[0].segment != nil {
		ids := map[int64]int64{}
		for _, e := range inputs {
			for _, b := range e.segment.Buckets {
				if b.Bucket >= s.IDsBelow() {
					ids[b.Bucket] += b.IDs
				}
			}
		}
		end.IDs = []IDSegment{*testSegment("ids/0/m-"+job.Nonce, ids)}
		return &Record{Kind: KindMergeEnd, MergeEnd: end}
	}
	out := *inputs[0].fragment
	out.Key = path.Dir(out.Key) + "/0-m-" + job.Nonce
	out.Sum = sumOf(out.Key)
	for _, e := range inputs[1:] {
		f := e.fragment
		out.Rows += f.Rows
		out.SeqMin, out.SeqMax = min(out.SeqMin, f.SeqMin), max(out.SeqMax, f.SeqMax)
	}
	if floor, _ := s.Floor(out.Tenant, out.Table); out.Max >= floor {
		end.Fragments = []Fragment{out} // else letters that came late, and go
	}
	return &Record{Kind: KindMergeEnd, MergeEnd: end}
}

func randomGap(s *State, d draw) *Record {
	src := testSource(int32(d(3, "partition")))
	cur, known := s.SourceOf(src)
	if !known {
		return randomAppend(s, d)
	}
	gone := RangeSet{{0, 1 + cur.Next/2}}
	next, epoch := cur.Next+1+int64(d(10, "skip")), cur.LeaderEpoch
	if d(3, "back") == 0 {
		next, epoch = cur.Next/2, epoch+1
	}
	gap := s.GapTo(src, gone, next, epoch, "lost", "op")
	return &Record{Kind: KindGap, Gap: gap}
}

// checkIndexes compares the indexes of a state with one another.
func checkIndexes(t testing.TB, s *State) {
	t.Helper()
	fragments, segments, buckets, packed := 0, 0, map[int64]int{}, 0
	for num, d := range s.days {
		if d.packed != nil {
			if len(d.buckets)+len(d.segments)+len(d.fresh)+len(d.removed) > 0 || len(d.packed) != len(d.runs) {
				t.Fatalf("day %d rests, but has entries", num)
			}
			packed += d.count
			continue
		}
		count := len(d.segments)
		for bucket, index := range d.buckets {
			for tenant, list := range index {
				count += len(list)
				if !slices.IsSortedFunc(list, compareEntries) || len(list) == 0 {
					t.Fatalf("day %d: list of %s in %d: %d entries", num, tenant, bucket, len(list))
				}
				for _, e := range list {
					fragments++
					if e.dead || s.live[e.key()] != e || e.fragment.Tenant != tenant || e.fragment.Bucket != bucket || e.home() != num || !e.belongs(num) {
						t.Fatalf("day %d: entry %s", num, e.key())
					}
				}
			}
		}
		for _, e := range d.segments {
			segments++
			if e.dead || s.live[e.key()] != e {
				t.Fatalf("day %d: segment %s", num, e.key())
			}
			for _, b := range e.segment.Buckets {
				if b.Bucket >= s.IDsBelow() {
					buckets[b.Bucket]++
				}
			}
		}
		if d.count != count {
			t.Fatalf("day %d: %d entries counted, %d there", num, d.count, count)
		}
	}
	if f, g := s.Counts(); f != fragments+packed || g != segments || len(s.live) != fragments+segments {
		t.Fatalf("%d/%d fragments, %d/%d segments, %d live", f, fragments, g, segments, len(s.live))
	}
	if len(buckets) != len(s.ids) {
		t.Fatalf("%d id buckets, %d expected", len(s.ids), len(buckets))
	}
	for b, n := range buckets {
		if len(s.IDSegments(b)) != n {
			t.Fatalf("id bucket %d: %d segments, %d expected", b, len(s.ids[b]), n)
		}
	}
}

// Every record that may come is taken; what is not as it must be is refused and
// leaves the state as it was.
func TestApplyIsAtomic(t *testing.T) {
	eachSeed(t, 60, func(t *testing.T, d draw) {
		s := NewState(0)
		for i := range 40 {
			r := nextRecord(s, d)
			bad := breakRecord(s, *r, d)
			before := wholeText(t, nil, s)
			if err := tryAppend(s, fmt.Sprintf("bad%d", i), bad); err != nil {
				if after := wholeText(t, nil, s); after != before {
					t.Fatalf("refused (%v), but the state changed:\n%s\n%s", err, before, after)
				}
				checkIndexes(t, s)
			} else {
				continue // the change was harmless
			}
			if err := tryAppend(s, fmt.Sprintf("n%d", i), r); err != nil {
				t.Fatalf("%s: %v", r.Line(), err)
			}
			checkIndexes(t, s)
		}
	})
}

// breakRecord changes one thing of a record.
func breakRecord(s *State, r Record, d draw) *Record {
	body, err := Encode(&r)
	if err != nil {
		panic(err)
	}
	text := string(body)
	var numbers []int
	for i := range len(text) {
		if text[i] >= '0' && text[i] <= '9' {
			numbers = append(numbers, i)
		}
	}
	at := numbers[d(len(numbers), "at")]
	digit := string(rune('0' + d(10, "digit")))
	changed, err := Decode([]byte(text[:at] + digit + text[at+1:]))
	if err != nil {
		changed = Record{Kind: KindRewrite}
	}
	return &changed
}

// A checkpoint and the records behind it give the same state as all the records,
// whoever wrote which checkpoint of which state.
func TestCheckpointsEqualTheFold(t *testing.T) {
	eachSeed(t, 80, func(t *testing.T, d draw) {
		w := newWorld()
		logs := []*Log{w.actor("a").log, w.actor("b").log}
		states := []*State{NewState(0), NewState(0)}
		truth := NewState(0)
		shape := layout{fanout: 2 + d(3, "fanout"), garbageFactor: 2, garbageSlack: d(8, "slack"), tidyAfter: d(4, "tidy")}
		var plan *CheckpointPlan
		for range 1 + d(120, "steps") {
			who := d(2, "who")
			l, s := logs[who], states[who]
			s.layout = shape
			switch d(8, "step") {
			case 0: // load anew
				loaded, err := l.Load(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				states[who] = loaded
			case 1, 2:
				if s.Position() > 0 {
					s.Own(s.ClaimNonce())
					if err := l.Checkpoint(t.Context(), s); err != nil {
						t.Fatal(err)
					}
				}
			case 3: // a checkpoint during which the log goes on, or that is given up
				if s.Position() == 0 {
					continue
				}
				s.Own(s.ClaimNonce())
				plan = s.PlanCheckpoint()
				moveOn(t, l, s, d, 3)
				if d(4, "give up") == 0 {
					continue
				}
				if err := l.WriteCheckpoint(t.Context(), plan); err != nil {
					t.Fatal(err)
				}
				moveOn(t, l, s, d, 3)
				s.CheckpointWritten(plan)
			case 4:
				states[who] = s.Clone()
				same(t, l, states[who], s)
			default:
				moveOn(t, l, s, d, 6)
			}
			checkIndexes(t, states[who])
		}
		if _, err := logs[0].Follow(t.Context(), truth); err != nil {
			t.Fatal(err)
		}
		for i, s := range states {
			if _, err := logs[i].Follow(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			same(t, logs[i], s, truth)
			loaded, err := logs[i].Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, logs[i], loaded, truth)
			checkIndexes(t, loaded)
		}
		if strings.Contains(w.actor("a").logged.String()+w.actor("b").logged.String(), "level=ERROR") {
			t.Fatalf("a checkpoint was passed over:\n%s", w.actor("a").logged.String())
		}
	})
}

func moveOn(t *testing.T, l *Log, s *State, d draw, n int) {
	if _, err := l.Follow(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for range d(n, "records") {
		r := nextRecord(s, d)
		if won, _, err := l.Append(t.Context(), s, r); err != nil || !won {
			t.Fatalf("%s: won %v, %v", r.Line(), won, err)
		}
	}
}

func same(t *testing.T, l *Log, got, want *State) {
	if a, b := wholeText(t, l, got), wholeText(t, l, want); a != b {
		t.Fatalf("states differ:\n%s\n%s", a, b)
	}
}
