package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
)

// A listing that breaks off goes on where it was; one that breaks off again and again without an object ends with the error.
func TestPatientListGivesEachObjectOnce(t *testing.T) {
	memory := objstore.NewMemory()
	var want []string
	for i := range 9 {
		want = append(want, fmt.Sprintf("list/%d", i))
		if err := memory.Put(t.Context(), want[i], nil); err != nil {
			t.Fatal(err)
		}
	}
	store := objstore.NewFault(memory)
	p := patient{store, chain.Backoff{Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}}
	list := func() (got []string, err error) {
		for o, err := range p.List(t.Context(), "list/", "") {
			if err != nil {
				return got, err
			}
			got = append(got, o.Key)
		}
		return got, nil
	}
	store.Add(objstore.Rule{Op: objstore.OpList, Effect: objstore.Truncate, Bytes: 1, Err: objstore.ErrUnavailable, Times: 7})
	if got, err := list(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	before := store.Count(objstore.OpList)
	store.Add(objstore.Rule{Op: objstore.OpList, Effect: objstore.FailBefore, Times: -1})
	if got, err := list(); !errors.Is(err, objstore.ErrInjected) || len(got) > 0 || store.Count(objstore.OpList) != before+readTries {
		t.Errorf("%q, %v, %d tries", got, err, store.Count(objstore.OpList)-before)
	}
}
