package sim

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/sim/loop"
	"github.com/togodb/togo/internal/tenants"
)

// newSettings loads the settings of tenants. It follows them until its process ends.
func (w *world) newSettings(p *loop.Process, store *client) *tenants.Keeper {
	builtin := tenants.Builtin()
	builtin.MaxColumns, builtin.TargetBytes = w.plan.maxColumns, w.plan.compaction.targetBytes
	k := must(tenants.NewKeeper(tenants.Config{
		Store: store, DataBucket: time.Duration(w.meta.DataBucketSeconds) * time.Second, Builtin: &builtin,
		CheckpointEvery: w.plan.checkpointEvery, Now: w.clockOf(p), NewNonce: w.nonce, Backoff: w.backoff(p), Logger: quiet,
	}))
	for w.settingsErr(k.Load(context.Background())) != nil {
		w.Sleep(time.Second)
	}
	p.Spawn("settings", func() {
		for {
			w.Sleep(delay(w.delays, time.Second, 10*time.Second))
			_, err := k.Refresh(context.Background())
			_ = w.settingsErr(err)
		}
	})
	return k
}

// settingsErr fails the run if an error says that the settings are not as they were left.
func (w *world) settingsErr(err error) error {
	if tenants.IsFinal(err) {
		w.fail("settings: %v", err)
	}
	return err
}

// changeSettings has the operator give a tenant, or all, other settings.
func (o *operator) changeSettings(k *tenants.Keeper) {
	w, r := o.w, o.settingsRandom
	tenant := event.TenantID(append(w.plan.tenants, "")[r.IntN(len(w.plan.tenants)+1)])
	name := []string{"sort_key", "key_columns", "bloom_columns", "max_columns", "target_bytes", "retention", "retention", "letters_retention"}[r.IntN(8)]
	if k.Version() == 0 && r.IntN(2) == 0 {
		tenant, name = "", "retention" // so that runs in which things expire are not rare
	}
	value := ""
	switch name {
	case "sort_key", "bloom_columns":
		var paths []string
		for _, i := range r.Perm(len(settingPaths))[:r.IntN(4)] {
			paths = append(paths, settingPaths[i])
		}
		value = strings.Join(paths, ",")
	case "key_columns":
		value = fmt.Sprint(1 + r.IntN(3))
	case "max_columns":
		value = fmt.Sprint(1 + r.IntN(2*w.plan.maxColumns))
	case "retention", "letters_retention": // events come up to three days late
		value = fmt.Sprintf("%dh", 1<<r.IntN(7))
	case "target_bytes":
		value = fmt.Sprintf("%dMiB", 1+r.IntN(64))
	}
	unset := k.Version() > 0 && r.IntN(4) == 0
	_, err := k.Propose(context.Background(), tenant, func(v tenants.Values) (tenants.Values, error) {
		if unset {
			return v.Unset(name)
		}
		return v.Set(name, value)
	})
	w.Note("operator sets %s of %q to %q (unset: %v): %s", name, tenant, value, unset, short(w.settingsErr(err)))
}

// settingPaths are what files are sorted and indexed by: some that events have, of one
// type and of several, and one that none has.
var settingPaths = []string{"n", "f0", "f1", "service", "status", "nowhere"}
