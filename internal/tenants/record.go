package tenants

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
)

// Format is the newest format of records and checkpoints that this program knows.
const Format = 1

// Version numbers the table of settings; it is the position in the chain. 0: nothing was ever set.
type Version uint64

// String is the version as people write it.
func (v Version) String() string { return fmt.Sprintf("%d", uint64(v)) }

// Position is the version as a position of the chain.
func (v Version) Position() chain.Position { return chain.Position(v) }

// The sentinels that a caller acts on.
var (
	// ErrFormat: written by a newer program; stop.
	ErrFormat = errors.New("written in a format newer than this program knows")
	// ErrCorrupt: the chain is not as it was left; stop.
	ErrCorrupt = errors.New("settings of tenants are corrupt")
	// ErrRefused: the values cannot be set; nothing was written.
	ErrRefused = errors.New("setting refused")
)

// link ties a record to its predecessor.
type link struct {
	Nonce string `json:"nonce"`
	Sum   string `json:"sum"` // objstore.Sum of the predecessor's bytes as stored
}

// record is one entry of the chain: from this version on Values are all that is set for
// the tenant ("": for the default).
type record struct {
	Format  int            `json:"format"`
	Version Version        `json:"version"`
	Nonce   string         `json:"nonce"`          // 128 random bits, hex; one for each record that was ever tried
	Prev    *link          `json:"prev,omitempty"` // absent in version 1 only
	TimeMS  int64          `json:"time_ms"`        // the writer's clock; for people, decides nothing
	Tenant  event.TenantID `json:"tenant"`
	Values  Values         `json:"values"`
}

// maxRecordBytes is far above the largest legal record: some forty names of 256 bytes.
const maxRecordBytes = 1 << 20

func (r record) encode() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}
	return b, nil
}

// decodeRecord is strict: an unknown field or trailing bytes are an error, a newer
// format is ErrFormat.
func decodeRecord(b []byte) (record, error) {
	var r record
	if len(b) > maxRecordBytes {
		return r, fmt.Errorf("record of %d bytes, at most %d are allowed", len(b), maxRecordBytes)
	}
	if err := decode(b, &r); err != nil {
		return record{}, err
	}
	switch {
	case r.Version == 0 || r.Nonce == "":
		return record{}, errors.New("record without a version or a nonce")
	case (r.Version == 1) != (r.Prev == nil):
		return record{}, fmt.Errorf("record %d: link to the predecessor missing or one too many", r.Version)
	}
	return r, nil
}

// decode reads a record or a checkpoint, strictly.
func decode(b []byte, into any) error {
	if err := chain.CheckFormat(b, Format, ErrFormat); err != nil {
		return err
	}
	return chain.DecodeStrict(b, into)
}
