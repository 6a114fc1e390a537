package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/togodb/togo/internal/event"
)

func config() Config {
	return Config{Concurrent: 2, TenantConcurrent: 2, Waiting: 3, AllWaiting: 5, Wait: time.Minute}
}

// TestANoisyTenantDelaysOthersByOneQuery: whoever has fewer running is next, however many wait in front.
func TestANoisyTenantDelaysOthersByOneQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(config())
		var order []string
		finish := map[string]chan struct{}{}
		ask := func(tenant event.TenantID, name string) {
			end := make(chan struct{})
			finish[name] = end
			go func() {
				leave, err := q.Enter(t.Context(), tenant)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				order = append(order, name)
				<-end
				leave()
			}()
			synctest.Wait()
		}
		for i := range 5 {
			ask("noisy", fmt.Sprintf("n%d", i))
		}
		ask("quiet", "q0")
		ask("other", "o0")
		for _, name := range []string{"n0", "n1", "q0", "n2", "o0", "n3", "n4"} {
			close(finish[name])
			synctest.Wait()
		}
		if want := []string{"n0", "n1", "q0", "n2", "o0", "n3", "n4"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		if running, waiting := q.Len(); running != 0 || waiting != 0 || len(q.tenants) != 0 {
			t.Errorf("left behind: %d running, %d waiting, %d tenants", running, waiting, len(q.tenants))
		}
	})
}

// TestWhoWaitsLongestIsNext: newcomers do not pass a tenant that had a turn before.
func TestWhoWaitsLongestIsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Concurrent: 1, TenantConcurrent: 1, Waiting: 9, AllWaiting: 9, Wait: time.Hour})
		leave, err := q.Enter(t.Context(), "first")
		if err != nil {
			t.Fatal(err)
		}
		var order []event.TenantID
		for _, tenant := range []event.TenantID{"first", "a", "b", "c"} {
			go func() {
				leave, err := q.Enter(t.Context(), tenant)
				if err != nil {
					t.Error(err)
				}
				order = append(order, tenant)
				leave()
			}()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		// All have none running; the first had its start before the others came.
		if want := []event.TenantID{"first", "a", "b", "c"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
	})
}

func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(config())
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 100)
		enter := func(ctx context.Context, tenant event.TenantID) {
			go func() {
				_, err := q.Enter(ctx, tenant)
				errs <- err
			}()
			synctest.Wait()
		}
		next := func() error {
			select {
			case err := <-errs:
				return err
			default:
				return errors.New("none")
			}
		}
		for range 2 {
			enter(t.Context(), "a")
			if err := next(); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			enter(ctx, "a")
		}
		enter(t.Context(), "a")
		if err := next(); !errors.Is(err, ErrFull) {
			t.Errorf("the fourth of a tenant that waits: %v", err)
		}
		enter(ctx, "b")
		enter(t.Context(), "c")
		enter(t.Context(), "d")
		if err := next(); !errors.Is(err, ErrAllFull) {
			t.Errorf("the sixth that waits: %v", err)
		}
		if running, waiting := q.Len(); running != 2 || waiting != 5 {
			t.Errorf("%d run, %d wait", running, waiting)
		}
		cancel()
		synctest.Wait()
		for range 4 {
			if err := next(); !errors.Is(err, context.Canceled) {
				t.Errorf("a client that left: %v", err)
			}
		}
		time.Sleep(2 * time.Minute) // of the bubble's clock
		synctest.Wait()
		if err := next(); !errors.Is(err, ErrWaited) {
			t.Errorf("too long: %v", err)
		}
		if running, waiting := q.Len(); running != 2 || waiting != 0 || len(q.tenants) != 1 {
			t.Errorf("%d run, %d wait, %d tenants", running, waiting, len(q.tenants))
		}
	})
}

// TestOneTenantDoesNotFillAll: with fewer for a tenant than for all, another gets in at once.
func TestOneTenantDoesNotFillAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Concurrent: 3, TenantConcurrent: 2, Waiting: 9, AllWaiting: 9, Wait: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		for range 5 {
			go func() { _, _ = q.Enter(ctx, "a") }()
		}
		synctest.Wait()
		if running, waiting := q.Len(); running != 2 || waiting != 3 {
			t.Errorf("%d run, %d wait", running, waiting)
		}
		leave, err := q.Enter(ctx, "b")
		if err != nil {
			t.Fatal(err)
		}
		leave()
		leave() // again does nothing
		if running, _ := q.Len(); running != 2 {
			t.Errorf("%d run", running)
		}
		cancel()
		synctest.Wait()
	})
}

// TestATurnThatComesTooLateIsGivenBack: the client leaves in the moment in which it is let in.
func TestATurnThatComesTooLateIsGivenBack(t *testing.T) {
	q := New(Config{Concurrent: 1, TenantConcurrent: 1, Waiting: 9, AllWaiting: 9, Wait: time.Hour})
	left := 0
	for range 300 {
		leave, err := q.Enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		turn, err := q.join("a")
		if err != nil {
			t.Fatal(err)
		}
		leave()
		cancel()
		if leave, err := q.wait(ctx, "a", turn); err == nil {
			leave()
		} else {
			left++
		}
		if running, waiting := q.Len(); running != 0 || waiting != 0 {
			t.Fatalf("%d run and %d wait when all have ended", running, waiting)
		}
	}
	if left == 0 {
		t.Error("no client left in time")
	}
}
