package shard

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

// TestScenarios runs testdata/scenarios; those of testdata/faults have a test each. The commands:
//
//	produce                    a record of the shard topic a line; see world.envelope; also "control", "hole N", "junk"
//	claim W                    W claims the shard, loads and asks for the topic
//	run W [batch=N] [hold=A,B] W works until it rests; effects named in hold are held back
//	free W [but=A,B]           the held effects of W are done, but for those named, W works on
//	drop W                     W forgets its held effects and everything else: it is dead
//	deliver W Append           W's held effect is done, but its answer is lost: it is held for ever
//	tick W DURATION            time passes
//	release W                  W is asked to stop
//	topic NAME                 the topic is deleted and created anew; every living writer hears of it
//	vanish N                   the record at N is compacted away
//	trim N, cut N              retention passes N; the log is cut at N and goes on under another leader epoch
//	accept W                   an operator appends the gap that W's loss asks for
//	reload W                   W drops all and reads the log anew
//	expire floor=SECONDS [letters=SECONDS] [ids=SECONDS], erase TENANT floor=SECONDS
//	config NAME=VALUE...
//	rows, state, status W
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", tell)
}

// tell runs one scenario.
func tell(t *testing.T, path string) {
	w := newWorld(t)
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		w.t = t
		w.out.Reset()
		w.command(d)
		return w.out.String()
	})
}

func (w *world) command(d *datadriven.TestData) {
	var arg string
	if len(d.CmdArgs) > 0 {
		arg = d.CmdArgs[0].Key
	}
	wr := w.writers[arg]
	switch d.Cmd {
	case "produce":
		for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
			w.produce(line)
		}
	case "claim":
		w.claim(arg)
	case "run":
		wr.hold = map[string]bool{}
		for _, a := range d.CmdArgs[1:] {
			for _, v := range a.Vals {
				if a.Key == "batch" {
					wr.batch, _ = strconv.Atoi(v)
				} else {
					wr.hold[v] = true
				}
			}
		}
		w.run(wr)
	case "free":
		wr.hold = map[string]bool{}
		for _, a := range d.CmdArgs[1:] {
			for _, v := range a.Vals {
				wr.hold[v] = true
			}
		}
		wr.queue = append(wr.held, wr.queue...)
		wr.held = nil
		w.run(wr)
	case "drop":
		delete(w.writers, arg)
	case "deliver":
		w.deliver(wr)
	case "tick":
		dur, err := time.ParseDuration(d.CmdArgs[1].Key)
		w.must(err)
		w.now = w.now.Add(dur)
		w.step(wr, Tick{})
		w.run(wr)
	case "release":
		w.step(wr, Release{})
		w.run(wr)
	case "topic":
		w.newTopic(arg)
		for _, wr := range w.writers {
			wr.reading = false
			w.step(wr, Topic{w.source, "shards"})
		}
	case "config":
		w.configure(d)
	case "rows":
		fmt.Fprintln(&w.out, strings.Join(w.rows(), "\n"))
	case "state":
		w.printState()
	case "status":
		s := wr.core.Status(w.now)
		fmt.Fprintf(&w.out, "%s committed=%d oldest_open=%d open=%d lag=%d lost=%d ready=%v\n", s.State, s.Committed, s.OldestOpen, s.OpenOffsets, s.Lag, s.LostOffsets, wr.core.Ready(w.now))
	default:
		w.operator(d)
	}
}

// operator is what others than writers do to the log and to Kafka.
func (w *world) operator(d *datadriven.TestData) {
	num := func(key string, or int64) int64 {
		n := or
		d.MaybeScanArgs(w.t.(*testing.T), key, &n)
		return n
	}
	p := w.part()
	switch d.Cmd {
	case "trim":
		n, _ := strconv.ParseInt(d.CmdArgs[0].Key, 10, 64)
		p.start = n
		p.records = p.from(n, len(p.records))
	case "cut":
		n, _ := strconv.ParseInt(d.CmdArgs[0].Key, 10, 64)
		keep := len(p.records) - len(p.from(n, len(p.records)))
		p.records, p.end = p.records[:keep], n
		p.cuts[p.epoch] = n
		p.epoch++
	case "vanish":
		n, _ := strconv.ParseInt(d.CmdArgs[0].Key, 10, 64)
		p.records = slices.DeleteFunc(p.records, func(r Record) bool { return r.Offset == n })
	case "accept":
		wr := w.writers[d.CmdArgs[0].Key]
		g := w.accept(wr.stopped.Loss.Source)
		fmt.Fprintf(&w.out, "gap of %v, next %d\n", g.Lost, g.Next)
		w.foreign(&shardlog.Record{Kind: shardlog.KindGap, Gap: g})
		w.reload(wr)
		w.run(wr)
	case "reload":
		w.reload(w.writers[d.CmdArgs[0].Key])
		w.run(w.writers[d.CmdArgs[0].Key])
	case "expire":
		x := &shardlog.Expire{Floors: []shardlog.Floor{{Table: shardlog.TableEvents, Floor: event.Timestamp(num("floor", 0) * 1e9)}}}
		if letters := num("letters", -1); letters >= 0 {
			x.Floors = append(x.Floors, shardlog.Floor{Table: shardlog.TableDeadLetters, Floor: event.Timestamp(letters * 1e9)})
		}
		if ids := num("ids", -1); ids >= 0 {
			x.IDsBelow = &ids
		}
		w.foreign(&shardlog.Record{Kind: shardlog.KindExpire, Expire: x})
	case "erase":
		x := &shardlog.Erase{Tenant: event.TenantID(d.CmdArgs[0].Key), Floor: event.Timestamp(num("floor", 0) * 1e9)}
		w.foreign(&shardlog.Record{Kind: shardlog.KindErase, Erase: x})
	case "merge-begin":
		w.foreign(&shardlog.Record{Kind: shardlog.KindMergeBegin, MergeBegin: &shardlog.MergeBegin{Worker: "c", Inputs: w.liveFragments()}})
	default:
		w.t.Fatalf("unknown command %s", d.Cmd)
	}
}

func (w *world) liveFragments() (keys []string) {
	s, err := w.log.Load(context.Background())
	w.must(err)
	s.Fragments("", -1<<40, 1<<40, func(f shardlog.Fragment) bool { keys = append(keys, f.Key); return true })
	return keys
}

// foreign appends another's record.
func (w *world) foreign(r *shardlog.Record) {
	s, err := w.log.Load(context.Background())
	w.must(err)
	w.must(s.Check(r))
	won, _, _, err := w.log.Settle(context.Background(), s.Head(), r)
	w.must(err)
	if !won {
		w.t.Fatal("a race in a test")
	}
}

func (w *world) produce(line string) {
	p := w.part()
	first, rest, _ := strings.Cut(line, " ")
	switch first {
	case "control":
		p.add(Record{Control: true})
	case "junk":
		p.add(Record{Value: []byte("junk")})
	case "newer":
		b := w.envelope("a: x@1=1")
		b[2]++ // the format, behind two bytes of magic; its checksum is put right, so that nothing else is wrong
		body := b[:len(b)-4]
		binary.LittleEndian.PutUint32(b[len(body):], crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
		p.add(Record{Value: b})
	case "hole":
		n, err := strconv.ParseInt(rest, 10, 64)
		w.must(err)
		p.end += n
	default:
		p.add(Record{Value: w.envelope(line)})
	}
}

// deliver does the held effects, and loses their answers.
func (w *world) deliver(wr *writer) {
	held := wr.held
	wr.held = nil
	for _, e := range held {
		queue := wr.queue
		if a, ok := e.(Append); ok {
			won, found, _, err := w.log.Settle(context.Background(), a.Head, a.Record)
			w.logf(wr, "%s at %d: %s, %v; the answer is lost", a.Record.Kind, uint64(found.Position), settled(won, found), err)
		}
		wr.queue = queue
	}
}

func (w *world) configure(d *datadriven.TestData) {
	for _, a := range d.CmdArgs {
		n, err := strconv.ParseInt(a.Vals[0], 10, 64)
		if err != nil {
			dur, err := time.ParseDuration(a.Vals[0])
			w.must(err)
			n = int64(dur)
		}
		switch a.Key {
		case "flush_bytes":
			w.config.FlushBytes = n
		case "flush_age":
			w.config.FlushAge = time.Duration(n)
		case "small_tenant_bytes":
			w.config.SmallTenantBytes = n
		case "memory_bytes":
			w.config.MemoryBytes = n
		case "parked_bytes":
			w.config.ParkedBytes = n
		case "dedup_bytes":
			w.config.DedupBytes, w.config.DedupTenantBytes = n, n
		case "max_open":
			w.config.MaxOpen = int(n)
		default:
			w.t.Fatalf("unknown setting %s", a.Key)
		}
	}
	w.must(w.config.Validate())
}

func (w *world) printState() {
	s, err := w.log.Load(context.Background())
	w.must(err)
	t := s.Totals()
	fmt.Fprintf(&w.out, "position %d epoch %d\n", uint64(s.Position()), s.Epoch())
	for _, src := range s.Sources() {
		e, err := src.Source.Event()
		w.must(err)
		fmt.Fprintf(&w.out, "%s next=%d epoch=%d open=%v\n", strings.TrimRight(string(e.Topic[:]), "\x00"), src.Next, src.LeaderEpoch, src.Open)
	}
	fmt.Fprintf(&w.out, "records=%d control=%d lost=%d events=%d stored=%d duplicate=%d conflict=%d dead=%d\n",
		t.Records, t.Control, t.Lost, t.Events, t.Stored, t.Duplicate, t.Conflict, t.Dead)
	set := shardlog.NewIntake()
	classed, err := w.log.Intake(context.Background(), s)
	w.must(err)
	w.must(set.Merge(classed))
	for _, src := range set.Sources() {
		fmt.Fprintf(&w.out, "intake holes %v\n", set.Holes(src, 0, w.intake))
	}
}
