package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/togodb/togo/internal/chain"
)

// trimmed is what the watch knows of a chain whose old records are deleted: by the marker
// base/<B> positions up to B are free again, and whoever still writes there writes to nobody.
type trimmed struct {
	base    chain.Position // of the newest marker
	marks   int            // how many there were
	phantom int            // records that landed on freed positions
}

// chainOf parts a key of a shard log or of the placement chain: "" for others.
func chainOf(key string) (prefix, kind string, p chain.Position) {
	parts := strings.Split(key, "/")
	switch {
	case len(parts) == 4 && parts[0] == "shards":
		prefix, parts = parts[0]+"/"+parts[1], parts[2:]
	case len(parts) == 3 && parts[0] == "placements":
		prefix, parts = parts[0], parts[1:]
	default:
		return "", "", 0
	}
	p, err := chain.ParsePosition(parts[1])
	if err != nil {
		return "", "", 0
	}
	return prefix, parts[0], p
}

func (v *watch) trim(prefix string) *trimmed {
	t := v.trims[prefix]
	if t == nil {
		t = &trimmed{}
		v.trims[prefix] = t
	}
	return t
}

// marked: a checkpoint at or above a marker is there before it.
func (v *watch) marked(prefix string, p chain.Position) error {
	if newest, ok := v.newest(prefix, "checkpoint"); !ok || newest < p {
		return fmt.Errorf("base marker %d of %s, whose newest checkpoint is at %d", p, prefix, newest)
	}
	t := v.trim(prefix)
	t.base = max(t.base, p)
	t.marks++
	return nil
}

// newest is the last object of a kind.
func (v *watch) newest(prefix, kind string) (p chain.Position, ok bool) {
	for o, err := range v.w.objects.List(context.Background(), prefix+"/"+kind+"/", "") {
		if err != nil {
			panic(err)
		}
		if _, _, at := chainOf(o.Key); at >= p {
			p, ok = at, true
		}
	}
	return p, ok
}

// cut is asked before an object of a chain is deleted: records only up to a marker, the
// newest marker never, and never the checkpoint that a marker rests on.
func (v *watch) cut(key string) error {
	prefix, kind, p := chainOf(key)
	t := v.trim(prefix)
	switch kind {
	case "log":
		if p > t.base {
			return fmt.Errorf("%s is deleted, the newest base marker is at %d", key, t.base)
		}
	case "base":
		if p >= t.base {
			return fmt.Errorf("%s, the newest base marker, is deleted", key)
		}
	case "checkpoint":
		if newest, _ := v.newest(prefix, kind); p >= newest || newest < t.base {
			return fmt.Errorf("%s is deleted, the newest checkpoint is at %d, records are gone up to %d", key, newest, t.base)
		}
	}
	return nil
}

// counts are the records of all logs by their kind, the base markers, and the records that landed on
// freed positions.
func (v *watch) counts() map[string]int {
	out := map[string]int{}
	for kind, n := range v.records {
		out[string(kind)] = n
	}
	for _, t := range v.trims {
		out["trim"] += t.marks
		out["phantom"] += t.phantom
	}
	return out
}
