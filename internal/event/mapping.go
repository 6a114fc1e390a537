package event

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/togodb/togo/internal/event/eventtime"
)

// Format names how the records of an intake topic are read.
type Format string

// Formats of an intake topic.
const (
	JSON Format = "json"
	Text Format = "text" // the whole value is one attribute, "message"
)

// Rule is one place to take a value from. Exactly one of Field, Header, Key and Fixed
// is set.
type Rule struct {
	// Field is a path in the JSON record. A dot in it stands for itself in a key or for
	// nesting: "a.b" is the key "a.b", and if the record has none the key "b" in the
	// object "a".
	Field string `json:"field,omitempty" yaml:"field,omitempty"`
	// Header is the name of a Kafka header; the case of ASCII letters does not matter.
	// Of several headers of the name the last one counts.
	Header string `json:"header,omitempty" yaml:"header,omitempty"`
	// Key is the Kafka record's key.
	Key bool `json:"key,omitempty" yaml:"key,omitempty"`
	// Fixed is a value that stands here; tenants only.
	Fixed string `json:"fixed,omitempty" yaml:"fixed,omitempty"`
	// Unit of a number; timestamps only.
	Unit eventtime.Unit `json:"unit,omitempty" yaml:"unit,omitempty"`
}

// Mapping says where the tenant, the timestamp and the id of an intake topic's records
// are. Each is a list of rules, tried in order; the first that gives a value counts.
type Mapping struct {
	Format    Format `json:"format" yaml:"format"`
	Tenant    []Rule `json:"tenant" yaml:"tenant"`                           // none gives one: a dead letter
	Timestamp []Rule `json:"timestamp,omitempty" yaml:"timestamp,omitempty"` // none gives one: Kafka's
	ID        []Rule `json:"id,omitempty" yaml:"id,omitempty"`               // none gives one: the position
}

// DefaultMapping serves a topic without configuration.
func DefaultMapping() Mapping {
	return Mapping{
		Format:    JSON,
		Tenant:    []Rule{{Header: "X-Scope-OrgID"}, {Fixed: "anonymous"}},
		Timestamp: []Rule{{Field: "timestamp"}, {Field: "@timestamp"}, {Field: "time"}, {Field: "ts"}},
		ID:        []Rule{{Field: "event_id"}},
	}
}

// Bounds of a mapping.
const (
	// MaxRules bounds each list; more is a mistake, and each costs time on each event.
	MaxRules = 16
	// MaxDots bounds the dots of a Field: one with n dots is looked for in 2^n ways.
	MaxDots = 6
	// maxPlace bounds a Field, a Header and a Fixed in bytes.
	maxPlace = 1024
)

// ErrBadMapping is a mapping that says something that can't be.
var ErrBadMapping = errors.New("bad mapping")

// Validate refuses what is not a mapping, and says where.
func (m *Mapping) Validate() error {
	if m.Format != JSON && m.Format != Text {
		return fmt.Errorf("%w: format %q is neither %q nor %q", ErrBadMapping, m.Format, JSON, Text)
	}
	if len(m.Tenant) == 0 {
		return fmt.Errorf("%w: tenant has no rule", ErrBadMapping)
	}
	for _, list := range []struct {
		name  string
		rules []Rule
	}{{"tenant", m.Tenant}, {"timestamp", m.Timestamp}, {"id", m.ID}} {
		if len(list.rules) > MaxRules {
			return fmt.Errorf("%w: %s has %d rules, at most %d are allowed", ErrBadMapping, list.name, len(list.rules), MaxRules)
		}
		for i, r := range list.rules {
			if err := r.validate(list.name, m.Format); err != nil {
				return fmt.Errorf("%w: %s rule %d: %w", ErrBadMapping, list.name, i+1, err)
			}
			if r.Fixed != "" && i < len(list.rules)-1 {
				return fmt.Errorf("%w: %s rule %d is fixed, no rule after it can count", ErrBadMapping, list.name, i+1)
			}
		}
	}
	return nil
}

func (r *Rule) validate(list string, format Format) error {
	places := 0
	for _, set := range []bool{r.Field != "", r.Header != "", r.Key, r.Fixed != ""} {
		if set {
			places++
		}
	}
	if places != 1 {
		return errors.New("exactly one of field, header, key and fixed must be set")
	}
	for _, s := range []string{r.Field, r.Header, r.Fixed} {
		if len(s) > maxPlace || !utf8.ValidString(s) {
			return fmt.Errorf("a text is longer than %d bytes or no UTF-8", maxPlace)
		}
	}
	if r.Field != "" && format != JSON {
		return fmt.Errorf("field %q needs format %q", r.Field, JSON)
	}
	if strings.Count(r.Field, ".") > MaxDots {
		return fmt.Errorf("field %q has more than %d dots", r.Field, MaxDots)
	}
	if r.Fixed != "" {
		if list != "tenant" {
			return errors.New("fixed is for tenants only")
		}
		if _, err := ParseTenant(r.Fixed); err != nil {
			return err
		}
	}
	switch r.Unit {
	case eventtime.Auto:
	case eventtime.Seconds, eventtime.Milliseconds, eventtime.Microseconds, eventtime.Nanoseconds:
		if list != "timestamp" {
			return errors.New("unit is for timestamps only")
		}
	default:
		return fmt.Errorf("unit %q is none of s, ms, us, ns", r.Unit)
	}
	return nil
}

// ways lists the key lists that a Field may stand for, the one to prefer first: at each
// level the longest key comes first, so "a.b.c" is [a.b.c], [a.b c], [a b.c], [a b c].
func ways(field string) [][]string {
	all := [][]string{{field}}
	for i := len(field) - 1; i >= 0; i-- {
		if field[i] != '.' {
			continue
		}
		for _, rest := range ways(field[i+1:]) {
			all = append(all, append([]string{field[:i]}, rest...))
		}
	}
	return all
}

// Limits are the bounds of event times, one for the whole store, so that all routers
// give the same verdict.
type Limits struct {
	MinTime   Timestamp     // earlier events are dead: too_far_in_past
	MaxFuture time.Duration // events later than their record's Kafka timestamp by more are dead: too_far_in_future
}
