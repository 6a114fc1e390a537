package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/togodb/togo/placements"
)

// command runs a command line of togo against the app's store, and returns what it
// printed with single spaces.
func command(t *testing.T, a *app, args ...string) (string, error) {
	t.Helper()
	c := cli{}
	k, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := k.Parse(args)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	c.Dir = a.cli.Dir
	err = parsed.Run(&app{cli: &c, out: &out, log: a.log, ctx: a.ctx})
	return regexp.MustCompile(` +`).ReplaceAllString(out.String(), " "), err
}

func mustCommand(t *testing.T, a *app, args ...string) string {
	t.Helper()
	out, err := command(t, a, args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return out
}

// TestSettingsOfTenants: what is set is shown with whose it is, and what is refused
// changes nothing.
func TestSettingsOfTenants(t *testing.T) {
	a := planStore(t, placements.UnknownAccept)
	wantText(t, mustCommand(t, a, "tenants", "show"), "version 0\n", "(default) retention forever built-in", "(default) sort_key service,status,timestamp built-in", "(default) max_columns 1000 built-in")
	wantText(t, mustCommand(t, a, "tenants", "set", "--default", "retention=30d"),
		"version 1: (default)\n retention forever (built-in) -> 30d (default)\n letters_retention forever (retention) -> 30d (retention)\n")
	wantText(t, mustCommand(t, a, "tenants", "set", "acme", "sort_key=host", "bloom_columns="),
		"version 2: acme\n sort_key service,status,timestamp (built-in) -> host,timestamp (tenant)\n key_columns 2 (built-in) -> 1 (sort_key)\n", "request_id (built-in) -> none (tenant)\n")
	if got := mustCommand(t, a, "tenants", "set", "acme", "sort_key=host"); got != "version 2: nothing to change\n" {
		t.Errorf("the same again: %s", got)
	}
	got := mustCommand(t, a, "tenants", "show")
	wantText(t, got, "version 2\n", "(default) retention 30d default", "acme sort_key host,timestamp tenant", "acme bloom_columns none tenant")
	if strings.Contains(got, "acme retention") {
		t.Errorf("the list of all tenants shows more than what is their own:\n%s", got)
	}
	wantText(t, mustCommand(t, a, "tenants", "show", "acme"), "acme retention 30d default", "acme letters_retention 30d retention", "acme key_columns 1 sort_key")
	for _, tc := range []struct{ args, want string }{
		{"set acme retention=90m", `tenant "acme": retention: 1h30m0s is not a whole number of data buckets of 1h; 0 keeps all; nothing was changed`},
		{"set acme retention=1d max_columns=0", "max_columns: 0 is not from 1 to 10000"},
		{"set acme colour=red", `no setting "colour"; there are retention,`},
		{"set acme retention", `"retention" is no setting=value`},
		{"set acme", "no setting; there are retention"},
		{"set retention=1d", "name a tenant first, or --default"},
		{"unset acme colour", `no setting "colour"`},
		{"show a/b", "bad tenant"},
	} {
		if _, err := command(t, a, append([]string{"tenants"}, strings.Fields(tc.args)...)...); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.args, err, tc.want)
		}
	}
	wantText(t, mustCommand(t, a, "tenants", "unset", "acme", "sort_key", "bloom_columns"), "version 3: acme\n sort_key host,timestamp (tenant) -> service,status,timestamp (built-in)\n")
	// A process's own configuration is the built-in value.
	wantText(t, mustCommand(t, a, "--set", "writer.max_columns=77", "tenants", "show", "acme"), "acme max_columns 77 built-in")

	var change settingChange
	if err := json.Unmarshal([]byte(mustCommand(t, a, "tenants", "set", "--json", "acme", "max_columns=9")), &change); err != nil ||
		change.Version != 4 || change.Tenant != "acme" || len(change.Changes) != 1 || change.Changes[0] != (settingDiff{"max_columns", "1000", "built-in", "9", "tenant"}) {
		t.Errorf("%+v, %v", change, err)
	}
	var shown shownTenants
	if err := json.Unmarshal([]byte(mustCommand(t, a, "tenants", "show", "--json")), &shown); err != nil ||
		shown.Version != 4 || len(shown.Tenants) != 2 || shown.Tenants[1].Tenant != "acme" || shown.Tenants[1].Settings[6] != (shownSetting{Name: "max_columns", Value: "9", From: "tenant"}) {
		t.Errorf("%+v, %v", shown, err)
	}
}
