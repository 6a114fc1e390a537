package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/tenants"
)

type tenantsCmd struct {
	Show  tenantsShowCmd  `cmd:"" help:"What holds for a tenant, and for all others: retention, sort key, sizes, limits."`
	Set   tenantsSetCmd   `cmd:"" help:"Set values of a tenant, or of the default: 'togo tenants set acme retention=30d'."`
	Unset tenantsUnsetCmd `cmd:"" help:"Take values back, so that the default's hold again."`
	Erase tenantsEraseCmd `cmd:"" help:"Erase all that the store holds of a tenant, keep late copies out, and say what remains until when."`
}

// meta reads the store's togo.json.
func (a *app) meta(store objstore.Store) (objstore.Meta, error) {
	return readMeta(a.ctx, store)
}

// readMeta reads what a store is; there must be one.
func readMeta(ctx context.Context, store objstore.Store) (objstore.Meta, error) {
	body, err := store.Get(ctx, objstore.MetaKey)
	if err != nil {
		return objstore.Meta{}, fmt.Errorf("%s: read %s: %w", objstore.Name(store), objstore.MetaKey, err)
	}
	return objstore.DecodeMeta(body)
}

// newSettings makes the keeper of the tenants' settings; where nobody has set
// anything the process's configuration counts.
func newSettings(c *config.Config, store objstore.Store, meta objstore.Meta, cfg tenants.Config) (*tenants.Keeper, error) {
	builtin := tenants.Builtin()
	builtin.MaxColumns = c.Writer.MaxColumns
	cfg.Store, cfg.Builtin, cfg.DataBucket = store, &builtin, time.Duration(meta.DataBucketSeconds)*time.Second
	return tenants.NewKeeper(cfg)
}

// settings opens the tenants' settings of the configured store.
func (a *app) settings() (*tenants.Keeper, error) {
	c, store, err := a.existing()
	if err != nil {
		return nil, err
	}
	meta, err := a.meta(store)
	if err != nil {
		return nil, err
	}
	k, err := newSettings(c, store, meta, tenants.Config{Logger: a.toolLog(c)})
	if err != nil {
		return nil, err
	}
	return k, k.Load(a.ctx)
}

type tenantsShowCmd struct {
	Tenant string `arg:"" optional:"" help:"Only this tenant."`
	JSON   bool   `help:"As JSON." name:"json"`
}

// shownSetting is a setting's value and whose it is.
type shownSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"` // tenant, default or built-in, or the setting that it follows
	Doc   string `json:"-"`
}

type shownTenant struct {
	Tenant   event.TenantID `json:"tenant,omitempty"` // absent: the default
	Settings []shownSetting `json:"settings"`
}

type shownTenants struct {
	Version tenants.Version `json:"version"`
	Tenants []shownTenant   `json:"tenants"`
}

func (c tenantsShowCmd) Run(a *app) error {
	names := []event.TenantID{""}
	if c.Tenant != "" {
		t, err := anyOwner(c.Tenant)
		if err != nil {
			return err
		}
		names[0] = t
	}
	k, err := a.settings()
	if err != nil {
		return err
	}
	table := k.Current()
	if c.Tenant == "" {
		names = append(names, table.Tenants()...)
	}
	out := shownTenants{Version: table.Version()}
	for _, t := range names {
		out.Tenants = append(out.Tenants, shownTenant{t, showSettings(table, t)})
	}
	if c.JSON {
		enc := json.NewEncoder(a.out)
		enc.SetIndent("", "  ")
		return enc.Encode(out)
	}
	fmt.Fprintf(a.out, "version %s\n", out.Version)
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TENANT\tSETTING\tVALUE\tFROM\tMEANING")
	for i, t := range out.Tenants {
		for _, s := range t.Settings {
			if i > 0 && s.From != "tenant" {
				continue // in the list of all tenants only what is their own
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", tenantOrDefault(t.Tenant), s.Name, orNone(s.Value), s.From, s.Doc)
		}
	}
	return w.Flush()
}

// showSettings lists what holds for a tenant ("": for those without values of their own).
func showSettings(table *tenants.Table, t event.TenantID) []shownSetting {
	var out []shownSetting
	holds := table.Get(t)
	for _, name := range tenants.Names() {
		s := shownSetting{Name: name, Value: holds.Show(name), From: "built-in", Doc: tenants.Doc(name)}
		switch {
		case t != "" && table.Own(t).Has(name):
			s.From = "tenant"
		case table.Own("").Has(name):
			s.From = "default"
		case name == "letters_retention":
			s.From = "retention"
		case name == "key_columns" && (table.Own(t).Has("sort_key") || table.Own("").Has("sort_key")):
			s.From = "sort_key"
		}
		out = append(out, s)
	}
	return out
}

func tenantOrDefault(t event.TenantID) string {
	if t == "" {
		return "(default)"
	}
	return string(t)
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// ownerArgs is TENANT or --default, and what follows.
type ownerArgs struct {
	Default bool     `help:"For all tenants without a value of their own, instead of TENANT." name:"default"`
	Args    []string `arg:"" help:"The tenant (unless --default), then the settings." name:"args"`
}

func (o ownerArgs) parse() (event.TenantID, []string, error) {
	t, rest := event.TenantID(""), o.Args
	if !o.Default {
		var err error
		if t, err = anyOwner(o.Args[0]); err != nil {
			return "", nil, fmt.Errorf("%w (name a tenant first, or --default)", err)
		}
		rest = o.Args[1:]
	}
	if len(rest) == 0 {
		return "", nil, fmt.Errorf("no setting; there are %s", strings.Join(tenants.Names(), ", "))
	}
	return t, rest, nil
}

type tenantsSetCmd struct {
	ownerArgs `embed:""`
	JSON      bool `help:"As JSON." name:"json"`
}

func (c tenantsSetCmd) Run(a *app) error {
	t, pairs, err := c.parse()
	if err != nil {
		return err
	}
	return a.changeSettings(t, c.JSON, func(v tenants.Values) (tenants.Values, error) {
		for _, pair := range pairs {
			name, text, ok := strings.Cut(pair, "=")
			if !ok {
				return v, fmt.Errorf("%q is no setting=value", pair)
			}
			var err error
			if v, err = v.Set(name, text); err != nil {
				return v, err
			}
		}
		return v, nil
	})
}

type tenantsUnsetCmd struct {
	ownerArgs `embed:""`
	JSON      bool `help:"As JSON." name:"json"`
}

func (c tenantsUnsetCmd) Run(a *app) error {
	t, names, err := c.parse()
	if err != nil {
		return err
	}
	return a.changeSettings(t, c.JSON, func(v tenants.Values) (tenants.Values, error) {
		for _, name := range names {
			var err error
			if v, err = v.Unset(name); err != nil {
				return v, err
			}
		}
		return v, nil
	})
}

// settingChange is what a command did.
type settingChange struct {
	Version tenants.Version `json:"version"`
	Tenant  event.TenantID  `json:"tenant,omitempty"` // absent: the default
	Changes []settingDiff   `json:"changes"`
}

type settingDiff struct {
	Name    string `json:"name"`
	Was     string `json:"was"`
	WasFrom string `json:"was_from"`
	Is      string `json:"is"`
	IsFrom  string `json:"is_from"`
}

// changeSettings sets a tenant's values and prints what that changed.
func (a *app) changeSettings(t event.TenantID, asJSON bool, change func(tenants.Values) (tenants.Values, error)) error {
	k, err := a.settings()
	if err != nil {
		return err
	}
	var before *tenants.Table
	after, err := k.Propose(a.ctx, t, func(v tenants.Values) (tenants.Values, error) {
		before = k.Current()
		return change(v)
	})
	if err != nil && !errors.Is(err, tenants.ErrRefused) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	out := settingChange{Version: after.Version(), Tenant: t, Changes: []settingDiff{}}
	was, is := showSettings(before, t), showSettings(after, t)
	for i := range is {
		if was[i] != is[i] {
			out.Changes = append(out.Changes, settingDiff{is[i].Name, was[i].Value, was[i].From, is[i].Value, is[i].From})
		}
	}
	if asJSON {
		enc := json.NewEncoder(a.out)
		enc.SetIndent("", "  ")
		return enc.Encode(out)
	}
	if len(out.Changes) == 0 {
		fmt.Fprintf(a.out, "version %s: nothing to change\n", out.Version)
		return nil
	}
	fmt.Fprintf(a.out, "version %s: %s\n", out.Version, tenantOrDefault(t))
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, d := range out.Changes {
		fmt.Fprintf(w, "  %s\t%s (%s)\t->\t%s (%s)\n", d.Name, orNone(d.Was), d.WasFrom, orNone(d.Is), d.IsFrom)
	}
	return w.Flush()
}
