package placements

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
)

// Format is the newest format of records and checkpoints that this program knows.
const Format = 1

// Version numbers the placement table; it is the position in the placement chain.
type Version uint64

// String is the version as people write it.
func (v Version) String() string { return fmt.Sprintf("%d", uint64(v)) }

// Position is the version as a position of the chain.
func (v Version) Position() chain.Position { return chain.Position(v) }

// Kind names what a record does. The names are stored and never change.
type Kind string

const (
	KindGenesis   Kind = "genesis"   // version 1
	KindExtend    Kind = "extend"    // raises the horizon
	KindPlace     Kind = "place"     // adds to the timelines of tenants
	KindDefault   Kind = "default"   // another default rule from a time on
	KindMapping   Kind = "mapping"   // another mapping of an intake topic from a time on
	KindAdmission Kind = "admission" // another rule for unknown tenants from a time on
	KindAdmit     Kind = "admit"     // tenants enter the set of a rule
	KindShards    Kind = "shards"    // more shards
)

// Link ties a record to its predecessor.
type Link struct {
	Nonce string `json:"nonce"`
	Sum   string `json:"sum"` // objstore.Sum of the predecessor's bytes as stored
}

// Record is one entry of the placement chain. Exactly the field that Kind names
// is set.
type Record struct {
	Format  int     `json:"format"`
	Version Version `json:"version"`
	Kind    Kind    `json:"kind"`
	Nonce   string  `json:"nonce"`          // 128 random bits, hex; one for each record that was ever tried
	Prev    *Link   `json:"prev,omitempty"` // absent in version 1 only
	TimeMS  int64   `json:"time_ms"`        // the writer's clock; for people, decides nothing

	Genesis   *Genesis   `json:"genesis,omitempty"`
	Extend    *Extend    `json:"extend,omitempty"`
	Place     *Place     `json:"place,omitempty"`
	Default   *Default   `json:"default,omitempty"`
	Mapping   *MapTopic  `json:"mapping,omitempty"`
	Admission *Rule      `json:"admission,omitempty"`
	Admit     *Admit     `json:"admit,omitempty"`
	Shards    *AddShards `json:"shards,omitempty"`
}

// Genesis is the table of version 1. Its rules and placements hold from the
// beginning of time.
type Genesis struct {
	// Horizon is usually Beginning: nothing is routed before the first extension.
	Horizon event.Timestamp `json:"horizon"`
	Shards  int             `json:"shards"`
	// DeadLetters are the shards of dead letters and skipped ranges, for ever.
	DeadLetters []event.ShardID `json:"dead_letters"`
	Default     Default         `json:"default"`
	// Mappings by intake topic; the one of "" is for every topic without its own.
	Mappings  map[string]event.Mapping  `json:"mappings"`
	Admission Rule                      `json:"admission"`
	Tenants   map[event.TenantID]Shards `json:"tenants,omitempty"`
}

// Shards is an ordered list: an event's shard is Shards[hash(id) mod len(Shards)].
type Shards []event.ShardID

// Extend raises the horizon.
type Extend struct {
	Horizon event.Timestamp `json:"horizon"`
}

// Placement holds from an event time on, until the tenant's next one.
type Placement struct {
	From   event.Timestamp `json:"from"`
	Shards Shards          `json:"shards"`
}

// TenantPlacement is a placement of one tenant.
type TenantPlacement struct {
	Tenant event.TenantID `json:"tenant"`
	Placement
}

// Place gives tenants new placements. Each replaces the tenant's placements that
// were planned for its From or later.
type Place struct {
	Placements []TenantPlacement `json:"placements"`
}

// Default is the rule for tenants without a placement: the Spread shards that
// score highest for the tenant by rendezvous hashing, the highest first.
type Default struct {
	From   event.Timestamp `json:"from"`
	Shards Shards          `json:"shards"`
	Spread int             `json:"spread"`
}

// MapTopic gives an intake topic another mapping for records with a Kafka timestamp >= From.
type MapTopic struct {
	Topic   string          `json:"topic"` // by name; "" for every topic without its own
	From    event.Timestamp `json:"from"`
	Mapping event.Mapping   `json:"mapping"`
}

// Unknown says what becomes of the records of tenants that are not known.
type Unknown string

const (
	UnknownAccept Unknown = "accept"
	UnknownDeny   Unknown = "deny"
)

// Rule is a rule of admission, for records with a Kafka timestamp >= From.
type Rule struct {
	From    event.Timestamp `json:"from"`
	Unknown Unknown         `json:"unknown"`
	// MaxTenants bounds how many unknown tenants the rule accepts; 0 is no bound.
	MaxTenants int `json:"max_tenants,omitempty"`
	// Allow names more tenants that are known from From on, whatever comes later.
	Allow []event.TenantID `json:"allow,omitempty"`
}

// Admit enters tenants into the set of the rule that begins at Rule.
type Admit struct {
	Rule    event.Timestamp  `json:"rule"`
	Tenants []event.TenantID `json:"tenants"`
}

// AddShards raises the number of shards.
type AddShards struct {
	Shards int `json:"shards"`
}

// The sentinels that a caller acts on.
var (
	// ErrFormat: written by a newer program; stop.
	ErrFormat = errors.New("written in a format newer than this program knows")
	// ErrCorrupt: the chain is not as it was left; stop.
	ErrCorrupt = errors.New("placement chain is corrupt")
	// ErrRefused: the change breaks a rule of the table; it was not written.
	ErrRefused = errors.New("placement change refused")
)

// maxRecordBytes bounds what is decoded: the largest legal records (an admit or
// place of maxBatch tenants, a genesis with a mapping for each of some thousand topics) are
// far below it.
const maxRecordBytes = 16 << 20

// Encode returns the bytes of a record as they are stored.
func (r Record) Encode() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode placement record: %w", err)
	}
	if len(b) > maxRecordBytes {
		return nil, fmt.Errorf("%w: the record has %d bytes, at most %d are allowed", ErrRefused, len(b), maxRecordBytes)
	}
	return b, nil
}

// DecodeRecord is strict: an unknown field, trailing bytes or a body other than
// the kind's is an error, a newer format is ErrFormat.
func DecodeRecord(b []byte) (Record, error) {
	var r Record
	if len(b) > maxRecordBytes {
		return r, fmt.Errorf("placement record of %d bytes, at most %d are allowed", len(b), maxRecordBytes)
	}
	if err := chain.CheckFormat(b, Format, ErrFormat); err != nil {
		return r, fmt.Errorf("placement record: %w", err)
	}
	if err := chain.DecodeStrict(b, &r); err != nil {
		return Record{}, fmt.Errorf("placement record: %w", err)
	}
	if err := r.check(); err != nil {
		return Record{}, err
	}
	return r, nil
}

// check looks at the record's own shape; what it may change is Apply's matter.
func (r Record) check() error {
	bodies := []struct {
		kind Kind
		set  bool
	}{
		{KindGenesis, r.Genesis != nil}, {KindExtend, r.Extend != nil}, {KindPlace, r.Place != nil},
		{KindDefault, r.Default != nil}, {KindMapping, r.Mapping != nil}, {KindAdmission, r.Admission != nil},
		{KindAdmit, r.Admit != nil}, {KindShards, r.Shards != nil},
	}
	known := false
	for _, b := range bodies {
		known = known || b.kind == r.Kind
		if b.set != (b.kind == r.Kind) {
			return fmt.Errorf("placement record %d: kind %q and body %q do not go together", r.Version, r.Kind, b.kind)
		}
	}
	switch {
	case !known:
		return fmt.Errorf("placement record %d: unknown kind %q", r.Version, r.Kind)
	case r.Format != Format:
		return fmt.Errorf("placement record %d: format %d", r.Version, r.Format)
	case r.Version == 0:
		return errors.New("placement record without a version")
	case r.Nonce == "":
		return fmt.Errorf("placement record %d: no nonce", r.Version)
	case (r.Version == 1) != (r.Kind == KindGenesis):
		return fmt.Errorf("placement record %d: kind %q at this version", r.Version, r.Kind)
	case (r.Version == 1) != (r.Prev == nil):
		return fmt.Errorf("placement record %d: link to the predecessor missing or one too many", r.Version)
	}
	return nil
}
