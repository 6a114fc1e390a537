// Package tool calls the program's own commands as a user does, and waits by
// what they print: the tests end to end and the demo look at a store with them.
package tool

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/togodb/togo/internal/e2e/oracle"
	"github.com/togodb/togo/internal/inspect"
)

// Tool is the program, and what stands before each command.
type Tool struct {
	Bin  string
	Args []string
}

// Command is a call that has not begun.
func (t Tool) Command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, t.Bin, append(append([]string{}, t.Args...), args...)...)
}

// Output is what a command prints; its error holds what it complained of.
func (t Tool) Output(ctx context.Context, args ...string) (string, error) {
	out, err := t.Command(ctx, args...).Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return string(out), fmt.Errorf("togo %s: %w: %s", args[0], err, bytes.TrimSpace(exit.Stderr))
	case err != nil:
		return "", fmt.Errorf("togo %s: %w", args[0], err)
	}
	return string(out), nil
}

// Totals are the classes of `togo status`.
type Totals struct {
	Events    int64 `json:"events"`
	Stored    int64 `json:"stored"`
	Duplicate int64 `json:"duplicate"`
	Conflict  int64 `json:"conflict"`
	Dead      int64 `json:"dead"`
	Lost      int64 `json:"lost"`
}

// Shard is one line of `togo status`.
type Shard struct {
	Shard     int    `json:"shard"`
	Owner     string `json:"owner"`
	Epoch     uint64 `json:"epoch"`
	Position  uint64 `json:"position"`
	TopicID   string `json:"topic_id"`
	Committed int64  `json:"committed"`
	Lag       *int64 `json:"lag"`
	Open      int64  `json:"open"`
}

// Status is what `togo status --json` says.
type Status struct {
	Shards    []Shard `json:"shards"`
	Totals    Totals  `json:"totals"`
	RouterLag *int64  `json:"router_lag"`
	WriterLag *int64  `json:"writer_lag"`
	// Live in all shards.
	Fragments  int `json:"fragments"`
	IDSegments int `json:"id_segments"`
}

// Status asks the program.
func (t Tool) Status(ctx context.Context) (Status, error) {
	var s Status
	out, err := t.Output(ctx, "status", "--json")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal([]byte(out), &s)
}

// Routed says that the router has nothing left to do.
func (s Status) Routed() bool { return s.RouterLag != nil && *s.RouterLag == 0 }

// Done says that nothing is left to do.
func (s Status) Done() bool { return s.Routed() && s.WriterLag != nil && *s.WriterLag == 0 }

// Await asks for the status until it is as wanted.
func (t Tool) Await(ctx context.Context, what string, ok func(Status) bool) (Status, error) {
	var last Status // that could be had
	for {
		s, err := t.Status(ctx)
		if err == nil {
			if last = s; ok(s) {
				return s, nil
			}
		}
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("wait until %s: router lag %s, writer lag %s: %w (last error: %v)",
				what, show(last.RouterLag), show(last.WriterLag), ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func show(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprint(*n)
}

// Row is an event as `togo events --meta` shows it.
type Row struct {
	Timestamp  string          `json:"timestamp"`
	ID         string          `json:"id"`
	IngestedAt string          `json:"ingested_at"`
	Partition  int32           `json:"source_partition"`
	Offset     int64           `json:"source_offset"`
	Seq        uint64          `json:"_seq"`
	Event      json.RawMessage `json:"event"`
}

// Events are a tenant's; args narrow them down.
func (t Tool) Events(ctx context.Context, tenant string, args ...string) ([]Row, error) {
	return lines[Row](ctx, t, append([]string{"events", "--meta", "--tenant", tenant}, args...))
}

// Letter is a dead letter as `togo dead-letters` shows it.
type Letter struct {
	ID            string `json:"id"`
	Reason        string `json:"reason"`
	Detail        string `json:"detail"`
	Partition     int32  `json:"source_partition"`
	Offset        int64  `json:"source_offset"`
	Payload       string `json:"payload"`
	PayloadBase64 []byte `json:"payload_base64"`
}

// Body is the payload, whatever form it came in.
func (l Letter) Body() string { return l.Payload + string(l.PayloadBase64) }

// Letters are a tenant's dead letters and conflicts.
func (t Tool) Letters(ctx context.Context, tenant string) ([]Letter, error) {
	return lines[Letter](ctx, t, []string{"dead-letters", "--tenant", tenant})
}

// maxLine is more than any event takes.
const maxLine = 64 << 20

// readTries bounds how often a reading begins again because a file of it was merged away
// and collected meanwhile.
const readTries = 10

func lines[R any](ctx context.Context, t Tool, args []string) ([]R, error) {
	var text string
	var err error
	for range readTries {
		text, err = t.Output(ctx, args...)
		if err == nil || !strings.Contains(err.Error(), inspect.ErrVanished.Error()) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	var out []R
	s := bufio.NewScanner(bytes.NewReader([]byte(text)))
	s.Buffer(nil, maxLine)
	for s.Scan() {
		var row R
		if err := json.Unmarshal(s.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("togo %s: %.200q: %w", args[0], s.Text(), err)
		}
		out = append(out, row)
	}
	return out, s.Err()
}

// Stored reads all events of the tenants.
func (t Tool) Stored(ctx context.Context, tenants []string) (oracle.Stored, error) {
	out := oracle.Stored{}
	for _, tenant := range tenants {
		rows, err := t.Events(ctx, tenant)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if err := out.Add(oracle.Key{Tenant: tenant, ID: r.ID}, r.Event); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// Asked is what SQL finds of the same tenants, and the ids of their dead letters, by tenant.
func (t Tool) Asked(ctx context.Context, tenants []string) (oracle.Stored, map[string][]string, error) {
	out, letters := oracle.Stored{}, map[string][]string{}
	for _, tenant := range tenants {
		type row struct {
			ID    string          `json:"id"`
			Event json.RawMessage `json:"_event"`
		}
		rows, err := lines[row](ctx, t, []string{"query", "--tenant", tenant, "--format", "ndjson", "SELECT id, _event FROM events"})
		if err != nil {
			return nil, nil, err
		}
		for _, r := range rows {
			if err := out.Add(oracle.Key{Tenant: tenant, ID: r.ID}, r.Event); err != nil {
				return nil, nil, err
			}
		}
		rows, err = lines[row](ctx, t, []string{"query", "--tenant", tenant, "--format", "ndjson", "SELECT id FROM dead_letters ORDER BY id"})
		if err != nil {
			return nil, nil, err
		}
		for _, r := range rows {
			letters[tenant] = append(letters[tenant], r.ID)
		}
	}
	return out, letters, nil
}

// Rows is how many rows were found.
func Rows(s oracle.Stored) (n int) {
	for _, rows := range s {
		n += len(rows)
	}
	return n
}
