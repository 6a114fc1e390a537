package objstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/togodb/togo/internal/objstore"
)

// checkThenWrite is a store whose create looks first and writes then: right as
// long as nobody races.
type checkThenWrite struct {
	*objstore.Memory
	looked sync.WaitGroup // so that the racers really meet
}

func (s *checkThenWrite) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	_, err := s.Get(ctx, key)
	if strings.Contains(key, "-race-") {
		s.looked.Done()
		s.looked.Wait()
	}
	if err == nil {
		return objstore.ErrExists
	}
	return s.Put(ctx, key, body)
}

// replacing says that an object exists, and replaces it all the same.
type replacing struct{ *objstore.Memory }

func (s replacing) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	_, err := s.Get(ctx, key)
	if err := s.Put(ctx, key, body); err != nil {
		return err
	}
	if err == nil {
		return objstore.ErrExists
	}
	return nil
}

func TestProbeAcceptsGoodStores(t *testing.T) {
	for _, s := range []objstore.Store{objstore.NewMemory(), openDir(t), objstore.NewFault(objstore.NewMemory(),
		objstore.Rule{Op: objstore.OpPutIfAbsent, Key: "**", Effect: objstore.FailBefore, Err: objstore.ErrConflict},
		objstore.Rule{Op: objstore.OpPutIfAbsent, Skip: 2, Times: 31, Effect: objstore.FailBefore, Err: objstore.ErrConflict})} {
		if err := objstore.Probe(t.Context(), s); err != nil {
			t.Errorf("%s: %v", objstore.Name(s), err)
		}
		if left := bodies(t, s); left != "" {
			t.Errorf("%s: the probe left %q", objstore.Name(s), left)
		}
	}
}

func TestFault_store_ignores_condition(t *testing.T) {
	racy := &checkThenWrite{Memory: objstore.NewMemory()}
	racy.looked.Add(32)
	for name, c := range map[string]struct {
		store objstore.Store
		check string
	}{
		"every condition ignored": {objstore.NewFault(objstore.NewMemory(), objstore.Rule{Op: objstore.OpPutIfAbsent, Times: -1, Effect: objstore.IgnoreCondition}), "a create of an object that exists fails"},
		"looks and then writes":   {racy, "of many racing creates one wins"},
		"replaces and says no":    {replacing{objstore.NewMemory()}, "a create of an object that exists fails"},
		"never lets anybody win": {objstore.NewFault(objstore.NewMemory(), objstore.Rule{Op: objstore.OpPutIfAbsent, Key: "probe/*-race-*", Times: -1, Effect: objstore.FailBefore, Err: objstore.ErrConflict}),
			"of many racing creates one wins"},
		"lists what was there long ago": {objstore.NewFault(objstore.NewMemory(), objstore.Rule{Op: objstore.OpList, Times: -1, Effect: objstore.Truncate}), "a listing shows what was created before it"},
		"forgets what it took":          {objstore.NewFault(objstore.NewMemory(), objstore.Rule{Op: objstore.OpGet, Times: -1, Effect: objstore.FailBefore, Err: objstore.ErrNotFound}), "an object that was created is there"},
	} {
		t.Run(name, func(t *testing.T) {
			err := objstore.Probe(t.Context(), c.store)
			var refused *objstore.ProbeError
			if !errors.As(err, &refused) || refused.Check != c.check {
				t.Fatalf("error %v", err)
			}
			if text := err.Error(); !strings.Contains(text, objstore.Name(c.store)) || !strings.Contains(text, c.check) {
				t.Fatalf("the message names not both store and check: %s", text)
			}
		})
	}
}

func TestProbeTellsAnOutageFromABrokenStore(t *testing.T) {
	f := objstore.NewFault(objstore.NewMemory(), objstore.Rule{Times: -1, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable})
	err := objstore.Probe(t.Context(), f)
	var refused *objstore.ProbeError
	if errors.As(err, &refused) || !errors.Is(err, objstore.ErrUnavailable) {
		t.Fatalf("error %v", err)
	}
}
