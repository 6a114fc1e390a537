package queryset

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// World is a set with tenants of several kinds: acme has events of all shapes and dead letters, nano has times with nanoseconds,
// real has events of real services, few has a handful, void has nothing.
type World struct {
	*Set
	Names []event.TenantID
	// Sent are the payloads of the events by tenant and id.
	Sent map[event.TenantID]map[string]string
	// Nanos are the tenants with nanoseconds.
	Nanos map[event.TenantID]bool
	// Floors are the times below which events are gone, though files may still hold them.
	Floors map[event.TenantID]event.Timestamp
}

// WorldShards is how many shards a World has.
const WorldShards = 3

// WorldConfig says what is in a World. The zero values of Commits and Span stand for many small files.
type WorldConfig struct {
	Seed    uint64
	Rows    int           // about as many events has acme; the others have fewer
	Commits int           // 0 is 14
	Span    time.Duration // of acme's events; 0 is three hours
	Folder  string        // of internal/fragment/testdata
}

// NewWorld writes a World.
func NewWorld(ctx context.Context, store objstore.Store, c WorldConfig) (*World, error) {
	seed, rows, commits := c.Seed, c.Rows, cmp.Or(c.Commits, 14)
	set, err := New(ctx, store, Config{Shards: WorldShards, Spread: 2})
	if err != nil {
		return nil, err
	}
	w := &World{
		Set: set, Names: []event.TenantID{"acme", "nano", "real", "few", "void"},
		Sent: map[event.TenantID]map[string]string{}, Nanos: map[event.TenantID]bool{"nano": true},
		Floors: map[event.TenantID]event.Timestamp{"acme": event.Timestamp(Begin.Add(7*time.Minute + 33*time.Second).UnixNano()), "nano": event.Timestamp(Begin.UnixNano() + 1e9*60 + 123)},
	}
	for _, t := range w.Names {
		w.Sent[t] = map[string]string{}
	}
	acme, nano, few := NewEvents("acme", seed), NewEvents("nano", seed+1), NewEvents("few", seed+2)
	nano.Nanos, acme.Span = true, c.Span
	real, err := realRows("real", c.Folder)
	if err != nil {
		return nil, err
	}
	for i := range commits {
		batch := slices.Concat(acme.Next(rows/commits), nano.Next(rows/commits/3), acme.Letters(4), nano.Letters(1), real[len(real)*i/commits:len(real)*(i+1)/commits])
		if i < 6 {
			batch = append(batch, few.Next(3)...)
		}
		for _, r := range batch {
			if r.Reason == "" {
				w.Sent[r.Tenant][r.ID] = r.Payload
			}
		}
		if err := w.Commit(ctx, batch...); err != nil {
			return nil, err
		}
	}
	for _, tenant := range w.Names {
		if floor, ok := w.Floors[tenant]; ok {
			if err := w.Expire(ctx, tenant, floor); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

// realRows are real events, one every half minute.
func realRows(tenant event.TenantID, folder string) ([]Row, error) {
	var out []Row
	for _, name := range []string{"app", "haproxy", "mixed", "otel_logs", "otel_spans", "vpcflow", "segment"} {
		f, err := os.Open(filepath.Join(folder, name+".ndjson"))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		s := bufio.NewScanner(f)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			if line := strings.TrimSpace(s.Text()); strings.HasPrefix(line, "{") {
				at := Begin.Add(time.Duration(len(out)) * 30 * time.Second)
				out = append(out, Row{Tenant: tenant, Timestamp: event.Timestamp(at.UnixNano()), ID: fmt.Sprintf("r%04d", len(out)), Payload: line})
			}
		}
		if s.Err() != nil {
			return nil, s.Err()
		}
	}
	return out, nil
}
