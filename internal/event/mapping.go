package event

import "time"

// Format names how the records of an intake topic are read.
type Format string

// Formats of an intake topic.
const (
	JSON Format = "json"
	Text Format = "text"
)

// Rule is one place to take a value from. Exactly one of Field, Header, Key and Fixed is set.
type Rule struct {
	// Field is a path in the JSON record; a dot stands for nesting or for itself.
	Field string `json:"field,omitempty" yaml:"field,omitempty"`
	// Header is the name of a Kafka header; case does not matter.
	Header string `json:"header,omitempty" yaml:"header,omitempty"`
	// Key is the Kafka record's key.
	Key bool `json:"key,omitempty" yaml:"key,omitempty"`
	// Fixed is a value that stands here; tenants only.
	Fixed string `json:"fixed,omitempty" yaml:"fixed,omitempty"`
	// Unit of a number; timestamps only.
	Unit Unit `json:"unit,omitempty" yaml:"unit,omitempty"`
}

// Mapping says where the tenant, the timestamp and the id of an intake topic's records
// are. Of each list the first rule that gives a value counts.
type Mapping struct {
	Format    Format `json:"format" yaml:"format"`
	Tenant    []Rule `json:"tenant" yaml:"tenant"`
	Timestamp []Rule `json:"timestamp,omitempty" yaml:"timestamp,omitempty"` // none gives one: Kafka's
	ID        []Rule `json:"id,omitempty" yaml:"id,omitempty"`               // none gives one: the position
}

// DefaultMapping serves a topic without configuration.
func DefaultMapping() Mapping { panic("to be filled") }

// Validate refuses what is not a mapping, and says where.
func (m *Mapping) Validate() error { panic("to be filled") }

// Limits are the bounds of event times, one for the whole store.
type Limits struct {
	MinTime   Timestamp     // earlier events are dead: too_far_in_past
	MaxFuture time.Duration // events later than their record's Kafka timestamp by more are dead: too_far_in_future
}
