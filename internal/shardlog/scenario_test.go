package shardlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// TestScenarios runs the protocol's stories; those of testdata/faults have a test
// each. A file is one store and the processes that use it; `-rewrite` writes the
// answers anew.
//
//	load P                      P loads the shard (and forgets what it knew)
//	follow P                    P reads on
//	claim P                     P claims
//	append P from= next= ...    P makes an append of its state, and appends it
//	prepare P from= next= ...   P makes an append, and freezes before it
//	thaw P                      P goes on with what it prepared
//	record P / {json body}      P appends any other record
//	gap P next= ...             an operator accepts a loss with P's state
//	release P, checkpoint P, state P, jobs P
//	trim P margin= [plan]       P deletes old records (plan: and says only what)
//	redo P                      P does what it planned before
//	plan P, write P             a checkpoint in two steps
//	reload P                    P, the owner, reads the log anew
//	fanout N                    so many manifests of a level become one
//	fault effect= key= op= ...  a rule for the store; land, clear
//	remove KEY, damage KEY, copy FROM TO, objects PREFIX, log
//
// tries= bounds the tries of one call; after them it gives up, unsettled.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", tell)
}

// tell runs one story.
func tell(t *testing.T, path string) {
	before := defaultLayout
	defer func() { defaultLayout = before }()
	datadriven.RunTest(t, path, newWorld().run)
}

type world struct {
	memory *objstore.Memory
	fault  *objstore.Fault
	actors map[string]*actor
}

// actor is one process.
type actor struct {
	log      *Log
	state    *State
	epoch    Epoch // of its last claim
	prepared *Record
	trim     *Trim
	plan     *CheckpointPlan
	nonce    string // of its last claim
	tries    int    // left of the current call
	logged   bytes.Buffer
}

func newWorld() *world {
	memory := objstore.NewMemory()
	return &world{memory: memory, fault: objstore.NewFault(memory), actors: map[string]*actor{}}
}

var errGaveUp = errors.New("gave up")

func (w *world) actor(name string) *actor {
	a := w.actors[name]
	if a == nil {
		a = &actor{}
		cfg := testConfig(name, func(context.Context, time.Duration) error {
			if a.tries--; a.tries <= 0 {
				return errGaveUp
			}
			return nil
		})
		cfg.Logger = slog.New(slog.NewTextHandler(&a.logged, &slog.HandlerOptions{ReplaceAttr: func(_ []string, at slog.Attr) slog.Attr {
			if at.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return at
		}}))
		a.log = OpenWith(w.fault, 0, cfg)
		a.state = NewState(0)
		w.actors[name] = a
	}
	return a
}

func (w *world) run(t *testing.T, d *datadriven.TestData) string {
	name := ""
	if len(d.CmdArgs) > 0 {
		name = d.CmdArgs[0].Key
	}
	out, known, err := w.store(d, name)
	if !known {
		a := w.actor(name)
		a.tries = 5
		if d.HasArg("tries") {
			d.ScanArgs(t, "tries", &a.tries)
		}
		out, err = a.run(t, d)
	}
	if err != nil {
		out += "error: " + err.Error()
		for _, sentinel := range []error{ErrCorrupt, ErrRefused, ErrFenced, ErrNewerFormat, ErrLostRaces, chain.ErrTrimmed} {
			if errors.Is(err, sentinel) {
				out += " [" + sentinel.Error() + "]"
			}
		}
		out += "\n"
	}
	return out
}

// store runs the commands that are the world's.
func (w *world) store(d *datadriven.TestData, name string) (out string, known bool, err error) {
	ctx := context.Background()
	switch d.Cmd {
	case "fault":
		rule := objstore.Rule{}
		for _, arg := range d.CmdArgs {
			switch v := arg.Vals[0]; arg.Key {
			case "effect":
				rule.Effect = objstore.Effect(v)
			case "op":
				rule.Op = objstore.Op(v)
			case "key":
				rule.Key = v
			case "times":
				rule.Times, _ = strconv.Atoi(v)
			case "err":
				rule.Err = map[string]error{"409": objstore.ErrConflict, "412": objstore.ErrExists, "404": objstore.ErrNotFound}[v]
			}
		}
		w.fault.Add(rule)
	case "land":
		return fmt.Sprintf("landed: %v\n", w.fault.Land()), true, nil
	case "clear":
		w.fault.Clear()
	case "remove":
		err = w.memory.Delete(ctx, name)
	case "fanout":
		defaultLayout.fanout, err = strconv.Atoi(name)
	case "damage":
		body, err := w.memory.Get(ctx, name)
		if err != nil {
			return "", true, err
		}
		body = append([]byte(nil), body...)
		body[len(body)/2] ^= 1
		return "", true, w.memory.Put(ctx, name, body)
	case "edit": // edit KEY / old / ---- / new, in the object's text
		body, _ := w.memory.Get(ctx, name)
		parts := strings.SplitN(d.Input, "\n", 2)
		if !strings.Contains(string(body), parts[0]) {
			return "no such text\n", true, nil
		}
		err = w.memory.Put(ctx, name, []byte(strings.Replace(string(body), parts[0], parts[1], 1)))
	case "objects":
		for o, err := range w.memory.List(ctx, name, "") {
			if err != nil {
				return out, true, err
			}
			out += o.Key + "\n"
		}
	case "log":
		for p := chain.Position(1); ; p++ {
			body, err := w.memory.Get(ctx, "shards/0/log/"+p.String())
			if err != nil {
				return out, true, nil
			}
			r, err := Decode(body)
			if err != nil {
				return out, true, err
			}
			out += r.Line() + "\n"
		}
	default:
		return "", false, nil
	}
	return out, true, err
}

func (a *actor) run(t *testing.T, d *datadriven.TestData) (string, error) {
	ctx := context.Background()
	switch d.Cmd {
	case "load":
		a.logged.Reset()
		s, err := a.log.Load(ctx)
		if err != nil {
			return a.logged.String(), err
		}
		a.state, a.prepared = s, nil
		return a.logged.String() + a.brief(), nil
	case "follow":
		read, err := a.log.Follow(ctx, a.state)
		return lines(read) + a.brief(), err
	case "claim":
		epoch, nonce, err := a.log.Claim(ctx, a.state, d.CmdArgs[0].Key, "i")
		a.epoch, a.nonce = epoch, nonce
		return fmt.Sprintf("epoch %d nonce %s\n", epoch, nonce), err
	case "prepare", "append":
		a.prepared = makeAppend(a.state, commitOf(t, d))
		a.prepared.Append.Epoch = a.epoch
		edit(t, d, a.prepared)
		if d.Cmd == "prepare" {
			return "", nil
		}
		return a.settle(ctx)
	case "thaw":
		return a.settle(ctx)
	case "record":
		a.prepared = &Record{}
		if err := json.Unmarshal([]byte(d.Input), a.prepared); err != nil {
			return "", err
		}
		return a.settle(ctx)
	case "gap":
		return a.gap(ctx, t, d)
	case "release":
		return "", a.log.Release(ctx, a.state, a.epoch)
	case "checkpoint":
		return "", a.log.Checkpoint(ctx, a.state)
	case "trim":
		var margin int
		d.ScanArgs(t, "margin", &margin)
		var err error
		if a.trim, err = a.log.PlanTrim(ctx, margin); err != nil {
			return "", err
		}
		out := ""
		if a.trim.Why != "" {
			out = a.trim.Why + "\n"
		}
		if d.HasArg("plan") {
			for _, key := range slices.Concat(a.trim.Checkpoints, a.trim.Manifests, a.trim.Records, a.trim.Markers) {
				out += fmt.Sprintf("%s: %s\n", key, a.trim.Reason(key))
			}
			return out, nil
		}
		done, err := a.trim.Do(ctx)
		return out + fmt.Sprintf("base %d, deleted %+v\n", uint64(a.trim.Base), done), err
	case "plan":
		a.plan = a.state.PlanCheckpoint()
		return fmt.Sprintf("built on %d\n", uint64(a.plan.root.Parent)), nil
	case "write":
		err := a.log.WriteCheckpoint(ctx, a.plan)
		if err == nil {
			a.state.CheckpointWritten(a.plan)
		}
		return "", err
	case "reload":
		a.logged.Reset()
		s, err := a.log.Load(ctx)
		if err == nil {
			s.Own(a.nonce)
			a.state = s
		}
		return a.logged.String(), err
	case "redo":
		done, err := a.trim.Do(ctx)
		return fmt.Sprintf("base %d, deleted %+v\n", uint64(a.trim.Base), done), err
	case "state":
		return textWithIntake(a.log, a.state)
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return "", nil
}

func (a *actor) settle(ctx context.Context) (string, error) {
	won, found, err := a.log.Append(ctx, a.state, a.prepared)
	if err != nil {
		return "", err
	}
	if won {
		return fmt.Sprintf("won at %d\n", uint64(a.state.Position())), nil
	}
	return fmt.Sprintf("lost to %s\n", found.Line()), nil
}

func (a *actor) gap(ctx context.Context, t *testing.T, d *datadriven.TestData) (string, error) {
	c := commitOf(t, d)
	epoch := int32(3)
	if d.HasArg("leader") {
		var e int
		d.ScanArgs(t, "leader", &e)
		epoch = int32(e)
	}
	err := a.log.AcceptGap(ctx, a.state, func(s *State) (*Gap, error) {
		return s.GapTo(c.source, c.closed, c.next, epoch, "disk lost", "ann"), nil
	})
	return a.brief(), err
}

// brief is the state in a line and one for each source.
func (a *actor) brief() string {
	s := a.state
	fragments, segments := s.Counts()
	out := fmt.Sprintf("position %d epoch %d owned %v seq %d fragments %d segments %d lost %d\n",
		uint64(s.Position()), s.Epoch(), s.Owner() != nil, s.Seq(), fragments, segments, s.Totals().Lost)
	for _, src := range s.Sources() {
		out += fmt.Sprintf("  partition %d next %d open %s\n", src.Source.Partition, src.Next, ranges(src.Open))
	}
	return out
}

func lines(records []Record) string {
	out := ""
	for _, r := range records {
		out += r.Line() + "\n"
	}
	return out
}

// commitOf reads an append's arguments.
func commitOf(t *testing.T, d *datadriven.TestData) commit {
	c := commit{source: testSource(0)}
	for _, arg := range d.CmdArgs[1:] {
		v := strings.Join(arg.Vals, ",")
		n, _ := strconv.ParseInt(v, 10, 64)
		switch arg.Key {
		case "from":
			c.from = n
		case "next":
			c.next = n
		case "opened", "closed", "gone", "intake":
			set := parseRanges(t, arg.Vals)
			switch arg.Key {
			case "opened":
				c.opened = set
			case "intake":
				c.intake = set
			default:
				c.closed = set
			}
		case "control":
			c.control = n
		case "dup":
			c.dup = n
		case "dead":
			c.dead = n
		case "tenant":
			c.tenant = event.TenantID(v)
		case "hour":
			c.bucket = testDay + 3600*n
		case "name":
			c.name = v
		case "partition":
			c.source = testSource(int32(n))
		}
	}
	return c
}

func parseRanges(t *testing.T, vals []string) RangeSet {
	var out RangeSet
	for _, v := range vals {
		from, next, pair := strings.Cut(v, "-")
		a, err := strconv.ParseInt(from, 10, 64)
		b := a
		if err == nil && pair {
			b, err = strconv.ParseInt(next, 10, 64)
		}
		if err != nil {
			t.Fatalf("range %q: %v", v, err)
		}
		out = append(out, Range{a, b + 1})
	}
	return out
}

// edit breaks a valid append as the arguments say.
func edit(t *testing.T, d *datadriven.TestData, r *Record) {
	a := r.Append
	for _, arg := range d.CmdArgs[1:] {
		v := strings.Join(arg.Vals, ",")
		n, _ := strconv.ParseInt(v, 10, 64)
		switch arg.Key {
		case "set-epoch":
			a.Epoch = Epoch(n)
		case "set-seq":
			a.Seq = uint64(n)
		case "set-low-water":
			a.LowWater = uint64(n)
		case "set-events":
			a.Ledger.Events = n
		case "set-stored":
			a.Ledger.Stored, a.Ledger.Events = n, n
		case "set-conflict":
			a.Ledger.Conflict, a.Ledger.Events = n, a.Ledger.Events+n
		case "set-records":
			a.Progress[0].Records = n
		case "set-ids":
			a.IDs.IDs, a.IDs.Buckets[0].IDs = n, n
		case "set-key":
			a.Fragments[0].Key = v
		case "twice":
			a.Progress = append(a.Progress, a.Progress[0])
		case "set-bitmap":
			a.Intake[0].Bitmap = []byte(v)
		}
	}
}
