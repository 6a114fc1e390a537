package placements

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// t0 is the time at which every scenario begins; scenarios write times as offsets from it.
var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func testHasher() *event.Hasher { return event.NewHasher(event.Seed([]byte("placements tests"))) }

// scenario is a store, a time, and processes with clocks of their own.
type scenario struct {
	t      *testing.T
	memory *objstore.Memory
	saved  *objstore.Memory
	now    time.Time
	date   time.Duration // of the store, beside now
	actors map[string]*actor
	every  int
}

type actor struct {
	name   string
	fault  *objstore.Fault
	keeper *Keeper
	clock  time.Duration // beside now
	nonces int
}

// TestScenarios runs testdata/scenarios; those of testdata/faults have a test each.
func TestScenarios(t *testing.T) { datadriven.Walk(t, "testdata/scenarios", tell) }

// tell runs one scenario.
func tell(t *testing.T, path string) {
	s := &scenario{t: t, now: t0, actors: map[string]*actor{}, every: 100}
	s.memory = objstore.NewMemory()
	s.memory.Now = func() time.Time { return s.now.Add(s.date) }
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		out := s.run(d.Cmd, d.CmdArgs, d.Input)
		if !strings.HasSuffix(out, "\n") {
			out += "\n"
		}
		return out
	})
}

type words map[string]string

func (w words) has(key string) bool { _, ok := w[key]; return ok }

// run does one command. The first argument without a value is the actor, the second the tenant or topic.
func (s *scenario) run(cmd string, args []datadriven.CmdArg, input string) string {
	w := words{}
	var plain []string
	for _, a := range args {
		if len(a.Vals) == 0 {
			plain = append(plain, a.Key)
			continue
		}
		w[a.Key] = strings.Join(a.Vals, ",")
	}
	plain = append(plain, "", "")
	for i := range plain {
		if plain[i] == "*" { // the topic of all others
			plain[i] = ""
		}
	}
	if out, done := s.runWorld(cmd, w, plain[0], input); done {
		return out
	}
	a := s.actors[plain[0]]
	if a == nil {
		return "no such process: " + plain[0]
	}
	if cmd == "fault" {
		return s.addFault(a, w, input)
	}
	if out, done := s.runRead(cmd, a, w, plain[1]); done {
		return out
	}
	ctx := context.Background()
	if w.has("tries") { // give up after so many tries, as a process whose context ends
		n, _ := strconv.Atoi(w["tries"])
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		a.keeper.log.Backoff.Sleep = func(context.Context, time.Duration) error {
			if n--; n <= 0 {
				cancel()
				return context.Canceled
			}
			return nil
		}
		defer func() { a.keeper.log.Backoff.Sleep = noPause }()
	}
	return s.runWrite(ctx, cmd, a, w, plain[1])
}

func noPause(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// runWorld does what is no process's command.
func (s *scenario) runWorld(cmd string, w words, name, input string) (string, bool) {
	switch cmd {
	case "settings":
		s.every, _ = strconv.Atoi(w["checkpoint-every"])
		return "ok", true
	case "start":
		a := &actor{name: name, fault: objstore.NewFault(s.memory), clock: duration(w["clock"])}
		s.actors[name] = a
		k, err := NewKeeper(Config{
			Store: a.fault, Hasher: testHasher(), CheckpointEvery: s.every,
			Now:      func() time.Time { return s.now.Add(a.clock) },
			NewNonce: func() string { a.nonces++; return fmt.Sprintf("%s%d", a.name, a.nonces) },
			Backoff:  chain.Backoff{Sleep: noPause},
			Logger:   slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return err.Error(), true
		}
		a.keeper = k
		return "ok", true
	case "advance":
		s.now = s.now.Add(duration(name))
		return "now " + s.show(stamp(s.now)), true
	case "store-date":
		s.date = duration(name)
		return "ok", true
	case "save":
		s.saved = s.memory.Clone()
		return "ok", true
	case "roll-back": // the store is as it was at save, for all who use it
		for object := range s.memory.List(context.Background(), "", "") {
			s.memory.Delete(context.Background(), object.Key)
		}
		for object := range s.saved.List(context.Background(), "", "") {
			body, _ := s.saved.Get(context.Background(), object.Key)
			s.memory.Put(context.Background(), object.Key, body)
		}
		return "ok", true
	case "log":
		return s.showLog(), true
	case "delete":
		return fmt.Sprint(s.memory.Delete(context.Background(), w["key"])), true
	case "put":
		return fmt.Sprint(s.memory.Put(context.Background(), w["key"], []byte(input))), true
	case "edit": // in a record, the first line's text becomes the second's
		v, _ := strconv.Atoi(w["version"])
		key := logPrefix + "/" + chain.Position(v).String()
		if w.has("key") {
			key = w["key"]
		}
		body, err := s.memory.Get(context.Background(), key)
		if err != nil {
			return err.Error(), true
		}
		old, new, _ := strings.Cut(input, "\n")
		if !strings.Contains(string(body), old) {
			return "nothing to replace in " + string(body), true
		}
		s.memory.Put(context.Background(), key, []byte(strings.Replace(string(body), old, new, 1)))
		return "ok", true
	}
	return "", false
}

func (s *scenario) showLog() string {
	var b strings.Builder
	log := chain.Log{Store: s.memory, Prefix: logPrefix}
	for entry, err := range log.Follow(context.Background(), 0) {
		if err != nil {
			return err.Error()
		}
		r, err := DecodeRecord(entry.Body)
		if err != nil {
			fmt.Fprintf(&b, "%d %v\n", entry.Position, err)
			continue
		}
		var fields map[string]json.RawMessage
		json.Unmarshal(entry.Body, &fields)
		fmt.Fprintf(&b, "%d %s %s", entry.Position, r.Nonce, r.Kind)
		switch r.Kind {
		case KindExtend:
			fmt.Fprintf(&b, " %s", s.show(r.Extend.Horizon))
		case KindGenesis:
		default:
			body, _ := json.Marshal(fields[string(r.Kind)])
			fmt.Fprintf(&b, " %s", body)
		}
		b.WriteByte('\n')
	}
	for object := range s.memory.List(context.Background(), checkpointPrefix, "") {
		fmt.Fprintf(&b, "checkpoint %s\n", strings.TrimLeft(strings.TrimPrefix(object.Key, checkpointPrefix), "/0"))
	}
	return b.String()
}

func (s *scenario) addFault(a *actor, w words, input string) string {
	rule := objstore.Rule{Op: objstore.Op(w["op"]), Key: w["key"], Effect: objstore.Effect(w["effect"])}
	rule.Skip, _ = strconv.Atoi(w["skip"])
	rule.Times, _ = strconv.Atoi(w["times"])
	rule.LandAfter, _ = strconv.Atoi(w["land-after"])
	switch w["err"] {
	case "409":
		rule.Err = objstore.ErrConflict
	case "412":
		rule.Err = objstore.ErrExists
	}
	if input != "" { // what others do at just this moment
		rule.Before = func(objstore.Call) {
			for _, line := range strings.Split(input, "\n") {
				cmd, args, err := datadriven.ParseLine(line)
				if err != nil {
					s.t.Fatal(err)
				}
				s.t.Logf("meanwhile %s: %s", line, s.run(cmd, args, ""))
			}
		}
	}
	a.fault.Add(rule)
	return "ok"
}

// runRead does what writes nothing.
func (s *scenario) runRead(cmd string, a *actor, w words, name string) (string, bool) {
	switch cmd {
	case "land":
		return s.result(a, a.fault.Land()), true
	case "load":
		return s.result(a, a.keeper.Load(context.Background())), true
	case "refresh":
		_, err := a.keeper.Refresh(context.Background())
		return s.result(a, err), true
	case "requests":
		before := a.fault.Ops()
		err := a.keeper.Load(context.Background())
		return fmt.Sprintf("%d requests, %s", a.fault.Ops()-before, s.result(a, err)), true
	}
	t := a.keeper.Current()
	switch cmd {
	case "shard":
		var out []string
		for i := range 4 {
			shard, ok := t.Shard(event.TenantID(name), s.time(a, w["at"]), testHasher().Routing([]byte{'a' + byte(i)}))
			if !ok {
				return "not below the horizon", true
			}
			out = append(out, shard.String())
		}
		return strings.Join(out, " "), true
	case "shards-of":
		return fmt.Sprint(t.ShardsOf(event.TenantID(name), s.time(a, w["from"]), s.time(a, w["to"]))), true
	case "admits":
		return t.Admits(event.TenantID(name), s.time(a, w["at"])).String(), true
	case "mapping-of":
		m, ok := t.Mapping(name, s.time(a, w["at"]))
		if !ok {
			return "not below the horizon", true
		}
		return string(m.Format) + ", tenant: " + showRules(m.Tenant), true
	case "dead-shards":
		return fmt.Sprint(t.DeadShards()), true
	case "show":
		var b strings.Builder
		var names []event.TenantID
		if name != "" {
			names = append(names, event.TenantID(name))
		}
		if err := t.Show(&b, names...); err != nil {
			return err.Error(), true
		}
		return strings.ReplaceAll(b.String(), "\n\n", "\n-\n"), true
	}
	return "", false
}

func (s *scenario) runWrite(ctx context.Context, cmd string, a *actor, w words, name string) string {
	var from *event.Timestamp
	if w.has("from") {
		at := s.time(a, w["from"])
		from = &at
	}
	shards, err := ParseShards(w["shards"])
	if w.has("shards") && err != nil {
		return err.Error()
	}
	switch k := a.keeper; cmd {
	case "init":
		g := NewGenesis(len(shards))
		if w.has("max") {
			g.Admission.MaxTenants, _ = strconv.Atoi(w["max"])
		}
		var created bool
		created, err = k.Init(ctx, g)
		return fmt.Sprintf("created %v, %s", created, s.result(a, err))
	case "extend":
		_, err = k.Extend(ctx, s.time(a, w["past"]))
	case "keep-ahead":
		err = k.KeepAhead(ctx)
	case "force-horizon": // what no keeper would propose
		_, err = k.Propose(ctx, func(*Table) (Record, error) {
			return Record{Kind: KindExtend, Extend: &Extend{Horizon: s.time(a, w["to"])}}, nil
		})
	case "place":
		_, err = k.Propose(ctx, SetTenant(event.TenantID(name), shards, from))
	case "default":
		spread, _ := strconv.Atoi(w["spread"])
		_, err = k.Propose(ctx, SetDefault(shards, spread, from))
	case "mapping":
		m := event.Mapping{Format: event.Format(w["format"]), Tenant: []event.Rule{{Fixed: w["tenant"]}}}
		_, err = k.Propose(ctx, SetMapping(name, m, from))
	case "rule":
		r := Rule{Unknown: Unknown(w["unknown"])}
		r.MaxTenants, _ = strconv.Atoi(w["max"])
		if w.has("allow") {
			r.Allow = []event.TenantID{event.TenantID(w["allow"])}
		}
		_, err = k.Propose(ctx, SetRule(r, from))
	case "admit":
		var requests []Request
		for _, one := range strings.Split(w["tenants"], ",") {
			requests = append(requests, Request{Tenant: event.TenantID(strings.TrimSpace(one)), KafkaTS: s.time(a, w["at"])})
		}
		_, err = k.Admit(ctx, requests...)
	case "more-shards":
		n, _ := strconv.Atoi(w["to"])
		_, err = k.AddShards(ctx, n)
	case "force-admit":
		_, err = k.Propose(ctx, func(*Table) (Record, error) {
			return Record{Kind: KindAdmit, Admit: &Admit{Rule: s.time(a, w["rule"]), Tenants: []event.TenantID{event.TenantID(name)}}}, nil
		})
	case "force-shards":
		n, _ := strconv.Atoi(w["to"])
		_, err = k.Propose(ctx, func(*Table) (Record, error) {
			return Record{Kind: KindShards, Shards: &AddShards{Shards: n}}, nil
		})
	default:
		return "no such command: " + cmd
	}
	return s.result(a, err)
}

// result is the process's table after a command, or what went wrong.
func (s *scenario) result(a *actor, err error) string {
	at := "no table"
	if t := a.keeper.Current(); t != nil {
		at = fmt.Sprintf("version %d, horizon %s", t.Version(), s.show(t.Horizon()))
	}
	if err == nil {
		return at
	}
	kind := "error"
	for _, sentinel := range []struct {
		err  error
		name string
	}{{ErrCorrupt, "CORRUPT"}, {ErrFormat, "FORMAT"}, {ErrRefused, "REFUSED"}, {ErrTooFarAhead, "TOO FAR AHEAD"}, {ErrNoGenesis, "NO GENESIS"}} {
		if errors.Is(err, sentinel.err) {
			kind = sentinel.name
			break
		}
	}
	return fmt.Sprintf("%s: %v\n%s", kind, err, at)
}

// time reads an offset from t0, "H" (the actor's horizon) with an offset, or "beginning".
func (s *scenario) time(a *actor, text string) event.Timestamp {
	if text == "beginning" {
		return Beginning
	}
	if rest, ok := strings.CutPrefix(text, "H"); ok {
		return a.keeper.Current().Horizon() + event.Timestamp(duration(rest))
	}
	return stamp(t0.Add(duration(text)))
}

func (s *scenario) show(ts event.Timestamp) string {
	if ts == Beginning {
		return "beginning"
	}
	d := ts.Time().Sub(t0)
	if d >= 0 {
		return "+" + d.String()
	}
	return d.String()
}

func duration(text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}
