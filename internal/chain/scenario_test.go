package chain_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
)

// scenario is one file of testdata/scenarios or testdata/faults: a store with faults, and commands on a chain in it.
//
//	fault op=put_if_absent effect=fail-before err=conflict times=2
//	append at=1 record=a:text [timeout=1m]   prints each request and what came of it
//	put at=1 record=b:text                   another writer, who meets no faults
//	clear                                    no more faults
//	land                                     late writes are applied
//	objects | head from=0 | follow after=0
//	base                                     from here on the chain has base markers
//	mark at=5 | delete to=5 | confirm at=5   a marker; another deletes records; what is to be believed
//
// A record's nonce is what stands before its colon. before-put=1/b:text in a fault
// is another writer's record that appears just before the request.
type scenario struct {
	memory *objstore.Memory
	faults *objstore.Fault
	base   string
	trace  strings.Builder
}

func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", tell)
}

// tell runs one scenario.
func tell(t *testing.T, path string) {
	s := &scenario{memory: objstore.NewMemory()}
	s.faults = objstore.NewFault(s.memory)
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		s.trace.Reset()
		// Each command has a clock of its own, on which back-off takes no time.
		synctest.Test(t, func(t *testing.T) { s.command(t, d) })
		return s.trace.String()
	})
}

func (s *scenario) command(t *testing.T, d *datadriven.TestData) {
	switch d.Cmd {
	case "fault":
		s.faults.Add(s.rule(t, d))
	case "append":
		s.append(t, d)
	case "put":
		var at int
		var record string
		d.ScanArgs(t, "at", &at)
		d.ScanArgs(t, "record", &record)
		if err := s.memory.PutIfAbsent(t.Context(), s.log().Key(chain.Position(at)), []byte(record)); err != nil {
			t.Fatal(err)
		}
	case "clear":
		s.faults.Clear()
	case "land":
		s.printf("%s\n", short(s.faults.Land()))
	case "objects":
		for object := range s.memory.List(t.Context(), "", "") {
			body, _ := s.memory.Get(t.Context(), object.Key)
			s.printf("%s %s\n", object.Key, body)
		}
	case "head":
		var from int
		d.ScanArgs(t, "from", &from)
		head, err := s.log().Head(t.Context(), chain.Position(from))
		s.printf("head %d: %s\n", head, short(err))
	case "follow":
		var after int
		d.ScanArgs(t, "after", &after)
		for entry, err := range s.log().Follow(t.Context(), chain.Position(after)) {
			s.printf("%d %s: %s\n", entry.Position, entry.Body, short(err))
		}
	case "base":
		s.base = "base"
	case "mark", "delete", "confirm":
		s.trim(t, d)
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
}

// trim is what a trimmer does, and what others ask because of it.
func (s *scenario) trim(t *testing.T, d *datadriven.TestData) {
	var at int
	var err error
	switch d.Cmd {
	case "mark":
		d.ScanArgs(t, "at", &at)
		err = s.memory.PutIfAbsent(t.Context(), s.log().BaseKey(chain.Position(at)), []byte("{}"))
	case "delete":
		d.ScanArgs(t, "to", &at)
		for p := 1; p <= at && err == nil; p++ {
			err = s.memory.Delete(t.Context(), s.log().Key(chain.Position(p)))
		}
	case "confirm":
		d.ScanArgs(t, "at", &at)
		err = s.log().Confirm(t.Context(), chain.Position(at))
		s.printf("%v (trimmed: %v)\n", err, errors.Is(err, chain.ErrTrimmed))
		return
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s *scenario) printf(format string, args ...any) { fmt.Fprintf(&s.trace, format, args...) }

func (s *scenario) log() *chain.Log {
	return &chain.Log{
		Store: traced{Store: s.faults, s: s}, Prefix: "log", Base: s.base,
		Backoff: chain.Backoff{Jitter: func() float64 { return 0 }},
	}
}

func (s *scenario) append(t *testing.T, d *datadriven.TestData) {
	var at int
	var record string
	timeout := "24h"
	d.ScanArgs(t, "at", &at)
	d.ScanArgs(t, "record", &record)
	d.MaybeScanArgs(t, "timeout", &timeout)
	limit, err := time.ParseDuration(timeout)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	nonce, _, _ := strings.Cut(record, ":")
	begin := time.Now()
	outcome, err := s.log().Append(ctx, chain.Position(at), []byte(record), func(found []byte) bool {
		return strings.HasPrefix(string(found), nonce+":")
	})
	waited := time.Since(begin)
	switch {
	case err != nil:
		s.printf("unsettled after %s: %v\n", waited, err)
	case outcome.Won:
		s.printf("won after %s: %s\n", waited, outcome.Body)
	default:
		s.printf("lost after %s: %s\n", waited, outcome.Body)
	}
}

var errorNames = map[string]error{
	"conflict": objstore.ErrConflict, "unavailable": objstore.ErrUnavailable, "not-found": objstore.ErrNotFound,
	"exists": objstore.ErrExists, "reset": errors.New("connection reset by peer"), "500": errors.New("500 internal error"),
}

func (s *scenario) rule(t *testing.T, d *datadriven.TestData) objstore.Rule {
	var op, effect, name, before string
	var rule objstore.Rule
	d.MaybeScanArgs(t, "op", &op)
	d.ScanArgs(t, "effect", &effect)
	d.MaybeScanArgs(t, "err", &name)
	d.MaybeScanArgs(t, "times", &rule.Times)
	d.MaybeScanArgs(t, "skip", &rule.Skip)
	d.MaybeScanArgs(t, "land-after", &rule.LandAfter)
	d.MaybeScanArgs(t, "bytes", &rule.Bytes)
	d.MaybeScanArgs(t, "before-put", &before)
	rule.Op, rule.Effect = objstore.Op(op), objstore.Effect(effect)
	if name != "" {
		if rule.Err = errorNames[name]; rule.Err == nil {
			t.Fatalf("no error is named %q", name)
		}
	}
	if before != "" {
		var at int
		var record string
		if _, err := fmt.Sscanf(before, "%d/%s", &at, &record); err != nil {
			t.Fatal(err)
		}
		rule.Before = func(objstore.Call) {
			err := s.memory.PutIfAbsent(context.Background(), s.log().Key(chain.Position(at)), []byte(record))
			s.printf("  another puts %s at %d: %s\n", record, at, short(err))
		}
	}
	return rule
}

// traced prints each request with its answer.
type traced struct {
	objstore.Store
	s *scenario
}

func (t traced) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	err := t.Store.PutIfAbsent(ctx, key, body)
	t.s.printf("  create %s: %s\n", strings.TrimLeft(key, "log/0"), short(err))
	return err
}

func (t traced) Get(ctx context.Context, key string) ([]byte, error) {
	body, err := t.Store.Get(ctx, key)
	t.s.printf("  get %s: %s %s\n", strings.TrimLeft(key, "log/0"), body, short(err))
	return body, err
}

func (t traced) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		t.s.printf("  list %s after %s\n", prefix, strings.TrimLeft(after, "base/0"))
		t.Store.List(ctx, prefix, after)(yield)
	}
}

// short is the last part of an error, which says what the store said.
func short(err error) string {
	if err == nil {
		return "ok"
	}
	text := err.Error()
	return text[strings.LastIndex(text, ": ")+1:]
}
