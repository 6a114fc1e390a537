package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/togodb/togo/internal/e2e/oracle"
)

// tool calls the program's own commands, as a user would.
type tool struct {
	bin  string
	args []string // before the command
}

func (t tool) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, t.bin, append(append([]string{}, t.args...), args...)...)
}

// status is what the demo reads of `togo status --json`.
type status struct {
	Totals struct {
		Duplicate int64 `json:"duplicate"`
		Conflict  int64 `json:"conflict"`
		Dead      int64 `json:"dead"`
	} `json:"totals"`
	RouterLag *int64 `json:"router_lag"`
	WriterLag *int64 `json:"writer_lag"`
}

func (t tool) status(ctx context.Context) (status, error) {
	var s status
	out, err := t.command(ctx, "status", "--json").Output()
	if err != nil {
		return s, failure("status", err)
	}
	return s, json.Unmarshal(out, &s)
}

// addEvents reads all events of a tenant.
func (t tool) addEvents(ctx context.Context, tenant string, into oracle.Stored) error {
	out, err := t.command(ctx, "events", "--meta", "--tenant", tenant).Output()
	if err != nil {
		return failure("events", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var row struct {
			ID    string          `json:"id"`
			Event json.RawMessage `json:"event"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return fmt.Errorf("togo events: %.200q: %w", lines.Text(), err)
		}
		if err := into.Add(oracle.Key{Tenant: tenant, ID: row.ID}, row.Event); err != nil {
			return err
		}
	}
	return lines.Err()
}

// show runs a command for people to see; it says whether it succeeded.
func (t tool) show(ctx context.Context, title string, args ...string) bool {
	fmt.Printf("\n$ togo %s\n", title)
	cmd := t.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run() == nil
}

func failure(what string, err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("togo %s: %w: %s", what, err, exit.Stderr)
	}
	return fmt.Errorf("togo %s: %w", what, err)
}
