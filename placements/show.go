package placements

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/togodb/togo/internal/event"
)

// Show writes the table for people. Without names it lists every tenant that the table
// knows, else these alone.
func (t *Table) Show(w io.Writer, names ...event.TenantID) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	p := func(cells ...string) { fmt.Fprintln(tw, strings.Join(cells, "\t")) }
	p("version", t.version.String())
	p("horizon", showTime(t.horizon))
	p("shards", strconv.Itoa(t.shards))
	p("dead letters", "shards "+t.dead.String())
	p()
	p("DEFAULT FROM", "SHARDS", "A TENANT")
	for _, d := range t.defaults {
		p(showTime(d.From), d.Shards.String(), strconv.Itoa(d.Spread))
	}
	p()
	p("TOPIC", "KAFKA TIME FROM", "FORMAT", "TENANT", "TIMESTAMP", "ID")
	for _, topic := range slices.Sorted(maps.Keys(t.mappings)) {
		for _, m := range t.mappings[topic] {
			name := topic
			if topic == "" {
				name = "(all others)"
			}
			p(name, showTime(m.From), string(m.Mapping.Format), showRules(m.Mapping.Tenant), showRules(m.Mapping.Timestamp), showRules(m.Mapping.ID))
		}
	}
	p()
	p("UNKNOWN TENANTS FROM", "RULE", "MAX", "ADMITTED")
	for _, r := range t.rules {
		bound, count := "none", "-"
		if r.MaxTenants > 0 {
			bound, count = strconv.Itoa(r.MaxTenants), strconv.Itoa(r.count)
		}
		p(showTime(r.From), string(r.Unknown), bound, count)
	}
	if len(names) == 0 {
		names = t.Known()
	}
	if len(names) > 0 {
		p()
		p("TENANT", "FROM", "SHARDS", "KNOWN BY")
	}
	for _, name := range names {
		t.showTenant(p, name)
	}
	return tw.Flush()
}

func (t *Table) showTenant(p func(...string), name event.TenantID) {
	st := t.tenants.get(hashTenant(name), name)
	var by []string
	if st != nil && len(st.Placements) > 0 {
		by = append(by, "placement")
	}
	if st != nil && st.AllowedFrom != nil {
		by = append(by, "allow list from "+showTime(*st.AllowedFrom))
	}
	if st != nil && (st.Since != nil || len(st.Late) > 0) {
		by = append(by, "admission")
	}
	if by == nil {
		by = []string{"-"}
	}
	if st == nil || len(st.Placements) == 0 || st.Placements[0].From > Beginning {
		for i, d := range t.defaults {
			if st != nil && len(st.Placements) > 0 && d.From >= st.Placements[0].From {
				break
			}
			p(string(name), showTime(d.From), t.defaults[i].rank(name).String()+" (default)", strings.Join(by, ", "))
		}
	}
	if st == nil {
		return
	}
	for _, one := range st.Placements {
		p(string(name), showTime(one.From), one.Shards.String(), strings.Join(by, ", "))
	}
}

// String is the list with runs shortened: 0-3,7.
func (s Shards) String() string {
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j+1 < len(s) && s[j+1] == s[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(s[i].String())
		if j > i {
			b.WriteString("-" + s[j].String())
		}
		i = j + 1
	}
	return b.String()
}

// ParseShards reads what String writes: numbers and runs, in the order given.
func ParseShards(text string) (Shards, error) {
	var out Shards
	for _, part := range strings.Split(text, ",") {
		first, last, run := strings.Cut(strings.TrimSpace(part), "-")
		from, err := strconv.ParseUint(first, 10, 31)
		to := from
		if err == nil && run {
			to, err = strconv.ParseUint(last, 10, 31)
		}
		if err != nil || to < from || to >= maxShards {
			return nil, fmt.Errorf("%q is no list of shards such as 0-3,7: each at most %d", text, maxShards-1)
		}
		for n := from; n <= to; n++ {
			out = append(out, event.ShardID(n))
		}
		if len(out) > maxShards {
			return nil, fmt.Errorf("%q names more than %d shards", text, maxShards)
		}
	}
	return out, nil
}

func showTime(ts event.Timestamp) string {
	if ts == Beginning {
		return "beginning"
	}
	return ts.String()
}

func showRules(rules []event.Rule) string {
	var out []string
	for _, r := range rules {
		switch {
		case r.Key:
			out = append(out, "key")
		case r.Header != "":
			out = append(out, "header "+r.Header)
		case r.Fixed != "":
			out = append(out, "fixed "+r.Fixed)
		default:
			out = append(out, "field "+r.Field)
		}
		if r.Unit != "" {
			out[len(out)-1] += " (" + string(r.Unit) + ")"
		}
	}
	if out == nil {
		return "Kafka's"
	}
	return strings.Join(out, ", ")
}
