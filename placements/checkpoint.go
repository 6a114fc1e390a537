package placements

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// checkpoint is a whole table as stored.
type checkpoint struct {
	Format  int             `json:"format"`
	Version Version         `json:"version"`
	Link    Link            `json:"link"` // to the record of this version
	Sum     string          `json:"sum"`  // objstore.Sum of Table's bytes
	Table   json.RawMessage `json:"table"`
}

type checkpointTable struct {
	Horizon     event.Timestamp           `json:"horizon"`
	Shards      int                       `json:"shards"`
	DeadLetters Shards                    `json:"dead_letters"`
	Defaults    []Default                 `json:"defaults"`
	Mappings    map[string][]*mappedFrom  `json:"mappings"`
	Rules       []Rule                    `json:"rules"`
	Tenants     map[event.TenantID]tenant `json:"tenants,omitempty"`
}

// errMoved: a checkpoint that was listed is gone, as there is a newer one.
var errMoved = errors.New("placement checkpoint was deleted")

// newest is the object that names the newest checkpoint. It may lag.
type newest struct {
	Format  int     `json:"format"`
	Version Version `json:"version"`
}

// Checkpoint returns the table as it is stored. Equal tables give equal bytes.
func (t *Table) Checkpoint() ([]byte, error) {
	body := checkpointTable{
		Horizon: t.horizon, Shards: t.shards, DeadLetters: t.dead, Defaults: t.Defaults(),
		Mappings: t.mappings, Tenants: make(map[event.TenantID]tenant, t.tenants.n),
	}
	for _, r := range t.rules {
		body.Rules = append(body.Rules, r.Rule)
	}
	for _, name := range t.tenants.names() {
		body.Tenants[name] = *t.tenants.get(hashTenant(name), name)
	}
	table, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode placement checkpoint: %w", err)
	}
	return json.Marshal(checkpoint{Format: Format, Version: t.version, Link: t.link, Sum: objstore.Sum(table), Table: table})
}

// DecodeCheckpoint is strict, as DecodeRecord is, and checks the table against the same
// rules as the fold.
func DecodeCheckpoint(hasher *event.Hasher, b []byte) (*Table, error) {
	if err := chain.CheckFormat(b, Format, ErrFormat); err != nil {
		return nil, fmt.Errorf("placement checkpoint: %w", err)
	}
	var c checkpoint
	if err := chain.DecodeStrict(b, &c); err != nil {
		return nil, fmt.Errorf("placement checkpoint: %w", err)
	}
	if c.Version == 0 || c.Link.Nonce == "" || c.Link.Sum == "" {
		return nil, errors.New("placement checkpoint: no version or no link")
	}
	if sum := objstore.Sum(c.Table); sum != c.Sum {
		return nil, fmt.Errorf("placement checkpoint %d: its table has the checksum %s, not %s", c.Version, sum, c.Sum)
	}
	var body checkpointTable
	if err := chain.DecodeStrict(c.Table, &body); err != nil {
		return nil, fmt.Errorf("placement checkpoint %d: %w", c.Version, err)
	}
	t := Empty(hasher)
	t.version, t.link = c.Version, c.Link
	if err := t.restore(&body); err != nil {
		return nil, fmt.Errorf("placement checkpoint %d: %w", c.Version, err)
	}
	return t, nil
}

// restore builds the table by the steps of the fold, so that it holds what they
// check. The horizon comes last: nothing below it may change.
func (t *Table) restore(c *checkpointTable) error {
	if c.Shards < 1 || c.Shards > maxShards {
		return refuse("%d shards", c.Shards)
	}
	t.shards, t.dead = c.Shards, c.DeadLetters
	if err := t.checkShards(t.dead); err != nil {
		return fmt.Errorf("shards of dead letters: %w", err)
	}
	if err := checkLine(c.Defaults, true, func(d Default) event.Timestamp { return d.From }); err != nil {
		return fmt.Errorf("default rules: %w", err)
	}
	for _, d := range c.Defaults {
		if err := t.changeDefault(d); err != nil {
			return err
		}
	}
	if err := checkLine(c.Rules, true, func(r Rule) event.Timestamp { return r.From }); err != nil {
		return fmt.Errorf("rules of admission: %w", err)
	}
	for _, r := range c.Rules {
		if err := checkRule(r); err != nil {
			return err
		}
		t.rules = append(t.rules, rule{Rule: r})
	}
	if err := t.restoreMappings(c.Mappings); err != nil {
		return err
	}
	edit := t.tenants.edit()
	for name, st := range c.Tenants {
		if err := t.restoreTenant(name, &st); err != nil {
			return err
		}
		edit.set(name, st)
	}
	t.tenants, t.horizon = edit.m, c.Horizon
	return nil
}

func (t *Table) restoreMappings(mappings map[string][]*mappedFrom) error {
	if len(mappings[""]) == 0 || len(mappings) > maxTopics {
		return refuse("mappings of %d topics, or none for topics without their own", len(mappings))
	}
	for topic, line := range mappings {
		for _, m := range line {
			if m == nil {
				return refuse("mapping of topic %q: null", topic)
			}
			if err := m.Mapping.Validate(); err != nil {
				return refuse("mapping of topic %q: %v", topic, err)
			}
		}
		if err := checkLine(line, topic == "", func(m *mappedFrom) event.Timestamp { return m.From }); err != nil {
			return fmt.Errorf("mapping of topic %q: %w", topic, err)
		}
	}
	t.mappings = mappings
	return nil
}

func (t *Table) restoreTenant(name event.TenantID, st *tenant) error {
	if err := checkTenant(name); err != nil {
		return err
	}
	if len(st.Placements) > 0 {
		if err := checkLine(st.Placements, false, func(p Placement) event.Timestamp { return p.From }); err != nil {
			return fmt.Errorf("placements of %q: %w", name, err)
		}
	}
	for _, p := range st.Placements {
		if err := t.checkShards(p.Shards); err != nil {
			return fmt.Errorf("placement of %q: %w", name, err)
		}
	}
	after := -1
	for _, n := range st.Late {
		if n <= after || n >= len(t.rules) || st.Since != nil && n >= *st.Since {
			return refuse("tenant %q in the set of rule %d", name, n)
		}
		after = n
		t.rules[n].count++
	}
	if st.Since == nil {
		return nil
	}
	if *st.Since < 0 || *st.Since >= len(t.rules) {
		return refuse("tenant %q in the sets from rule %d on", name, *st.Since)
	}
	for n := *st.Since; n < len(t.rules); n++ {
		t.rules[n].count++
	}
	return nil
}

// checkLine checks a timeline: not empty, ascending, bounded, and whether it must
// begin at Beginning.
func checkLine[E any](line []E, fromBeginning bool, from func(E) event.Timestamp) error {
	if len(line) == 0 || len(line) > maxTimeline {
		return refuse("a timeline of %d entries", len(line))
	}
	if fromBeginning && from(line[0]) != Beginning {
		return refuse("the timeline does not begin at the beginning")
	}
	if !slices.IsSortedFunc(line, func(a, b E) int {
		if from(a) < from(b) {
			return -1
		}
		return 1
	}) {
		return refuse("the timeline does not ascend")
	}
	return nil
}

// loadCheckpoint returns the table of the newest checkpoint, or Empty. It needs the
// turn.
func (k *Keeper) loadCheckpoint(ctx context.Context) (*Table, error) {
	key, err := k.newestCheckpoint(ctx)
	if err != nil || key == "" {
		return Empty(k.cfg.Hasher), err
	}
	body, err := k.cfg.Store.Get(ctx, key)
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, fmt.Errorf("%w: %s", errMoved, key)
	}
	if err != nil {
		return nil, fmt.Errorf("read placement checkpoint %s: %w", key, err)
	}
	t, err := DecodeCheckpoint(k.cfg.Hasher, body)
	if errors.Is(err, ErrFormat) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrCorrupt, key, err)
	}
	if checkpointKey(t.version) != key {
		return nil, fmt.Errorf("%w: %s holds version %d", ErrCorrupt, key, t.version)
	}
	return t, nil
}

func checkpointKey(v Version) string { return checkpointPrefix + "/" + v.Position().String() }

// newestCheckpoint lists from the one that the hint names, so that the cost does
// not grow with the number of checkpoints; "" if there is none.
func (k *Keeper) newestCheckpoint(ctx context.Context) (string, error) {
	hint, err := k.hint(ctx)
	if err != nil {
		return "", err
	}
	if hint > 0 {
		// The one of the hint itself is listed too.
		key, err := k.lastCheckpoint(ctx, checkpointKey(hint-1))
		if err != nil || key != "" {
			return key, err
		}
	}
	return k.lastCheckpoint(ctx, "")
}

func (k *Keeper) lastCheckpoint(ctx context.Context, after string) (string, error) {
	key := ""
	for object, err := range k.cfg.Store.List(ctx, checkpointPrefix+"/", after) {
		if err != nil {
			return "", fmt.Errorf("list placement checkpoints: %w", err)
		}
		if _, err := chain.ParsePosition(strings.TrimPrefix(object.Key, checkpointPrefix+"/")); err == nil {
			key = object.Key
		}
	}
	return key, nil
}

// hint is the version of a checkpoint that is not far from the newest; 0: none known.
func (k *Keeper) hint(ctx context.Context) (Version, error) {
	body, err := k.cfg.Store.Get(ctx, newestKey)
	if errors.Is(err, objstore.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", newestKey, err)
	}
	var n newest
	if err := chain.CheckFormat(body, Format, ErrFormat); err != nil {
		return 0, fmt.Errorf("%s: %w", newestKey, err)
	}
	if err := chain.DecodeStrict(body, &n); err != nil {
		return 0, fmt.Errorf("%w: %s: %v", ErrCorrupt, newestKey, err)
	}
	return n.Version, nil
}

// checkpoint writes t, whose record is known to be in the chain. That it fails costs a
// later start some reads and nothing else, so it is logged and not returned.
func (k *Keeper) checkpoint(ctx context.Context, t *Table) {
	err := k.writeCheckpoint(ctx, t)
	if err != nil {
		k.metrics.checkpoints.WithLabelValues("failed").Inc()
		k.cfg.Logger.Warn("placement checkpoint not written", "version", uint64(t.version), "err", err)
		return
	}
	k.metrics.checkpoints.WithLabelValues("written").Inc()
}

func (k *Keeper) writeCheckpoint(ctx context.Context, t *Table) error {
	body, err := t.Checkpoint()
	if err != nil {
		return err
	}
	err = k.cfg.Store.PutIfAbsent(ctx, checkpointKey(t.version), body)
	if err != nil && !errors.Is(err, objstore.ErrExists) {
		return err
	}
	// The one of this version is there, whoever wrote it: all write the same bytes.
	hint, err := json.Marshal(newest{Format: Format, Version: t.version})
	if err != nil {
		return err
	}
	return k.cfg.Store.Put(ctx, newestKey, hint)
}
