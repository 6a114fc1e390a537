package tenants

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/togodb/togo/internal/event"
)

// timestamp is the event's own time as it stands in sort keys.
const timestamp = "timestamp"

// The bounds of values.
const (
	// maxRetention keeps every floor well within what 64-bit nanoseconds hold.
	maxRetention = 100 * 365 * 24 * time.Hour
	// maxSortKey: what stands behind some columns no longer changes what a scan reads.
	maxSortKey = 8
	// maxBloomColumns: a filter costs about ten bits a value.
	maxBloomColumns = 32
	// maxName is the longest path of an attribute that becomes a column.
	maxName = 256
	// Files below a mebibyte cost more requests than bytes; ones above four gibibytes are
	// slow to merge again and to move.
	minTarget, maxTarget = 1 << 20, 4 << 30
	// maxMaxColumns keeps a tenant's list, which is written whole with each change, at about a megabyte.
	maxMaxColumns = 10_000
)

// Settings are what holds for one tenant. The lists must not be changed.
type Settings struct {
	// Retention is how long events are kept after their event time, in whole data
	// buckets; 0: for ever.
	Retention time.Duration
	// LettersRetention is the same for dead letters and conflicts, by the Kafka time of their records.
	LettersRetention time.Duration
	// SortKey are the paths by which files are sorted; it ends with "timestamp".
	SortKey []string
	// KeyColumns is how many leading paths of SortKey tell files apart in compaction; what stands
	// behind them sorts, and does not count as overlap. 0 only if the key is "timestamp" alone.
	KeyColumns int
	// BloomColumns are the columns that get a Bloom filter; never nil, may be empty.
	BloomColumns []string
	// TargetBytes is the size of a file that is not merged any further.
	TargetBytes int64
	// MaxColumns is how many columns the tenant's attributes may have; the rest is kept in _rest.
	MaxColumns int
}

// Builtin are the settings where nobody has set anything.
func Builtin() Settings {
	return Settings{
		SortKey: []string{"service", "status", timestamp}, KeyColumns: 2,
		BloomColumns: []string{"id", "trace_id", "span_id", "traceId", "spanId", "trace.id", "span.id", "request_id"},
		TargetBytes:  256 << 20, // some seconds to merge, and few requests for a scan
		MaxColumns:   1000,
	}
}

// Values are what was set for one tenant, or for the default; nil: not set.
type Values struct {
	Retention        *Span     `json:"retention,omitempty"`
	LettersRetention *Span     `json:"letters_retention,omitempty"`
	SortKey          *[]string `json:"sort_key,omitempty"` // without "timestamp"
	KeyColumns       *int      `json:"key_columns,omitempty"`
	BloomColumns     *[]string `json:"bloom_columns,omitempty"`
	TargetBytes      *int64    `json:"target_bytes,omitempty"`
	MaxColumns       *int      `json:"max_columns,omitempty"`
}

// IsZero says that nothing is set.
func (v Values) IsZero() bool { return v == Values{} }

// resolve gives what holds: own values, the default's, the built-in ones. Letters without a
// retention of their own, here or in the default, are kept as long as the events.
func resolve(own, def Values, builtin Settings) Settings {
	s := builtin
	s.Retention = time.Duration(first(own.Retention, def.Retention, Span(builtin.Retention)))
	s.LettersRetention = time.Duration(first(own.LettersRetention, def.LettersRetention, Span(s.Retention)))
	if key := firstOf(own.SortKey, def.SortKey); key != nil {
		s.SortKey = append(slices.Clone(*key), timestamp)
		s.KeyColumns = len(*key)
	}
	// A default's number meets the keys of tenants, which may be shorter.
	s.KeyColumns = min(first(own.KeyColumns, def.KeyColumns, s.KeyColumns), len(s.SortKey)-1)
	s.BloomColumns = first(own.BloomColumns, def.BloomColumns, builtin.BloomColumns)
	s.TargetBytes = first(own.TargetBytes, def.TargetBytes, builtin.TargetBytes)
	s.MaxColumns = first(own.MaxColumns, def.MaxColumns, builtin.MaxColumns)
	return s
}

func first[T any](own, def *T, builtin T) T {
	if p := firstOf(own, def); p != nil {
		return *p
	}
	return builtin
}

func firstOf[T any](own, def *T) *T {
	if own != nil {
		return own
	}
	return def
}

// check says what is wrong with values. bucket is the store's data bucket.
func (v Values) check(bucket time.Duration) error {
	if err := checkRetention("retention", v.Retention, bucket); err != nil {
		return err
	}
	if err := checkRetention("letters_retention", v.LettersRetention, bucket); err != nil {
		return err
	}
	if v.SortKey != nil {
		if err := checkNames("sort_key", *v.SortKey, maxSortKey); err != nil {
			return err
		}
		if slices.Contains(*v.SortKey, timestamp) {
			return fmt.Errorf("sort_key: %q stands at the end of every key and is not named among others", timestamp)
		}
	}
	if v.BloomColumns != nil {
		if err := checkNames("bloom_columns", *v.BloomColumns, maxBloomColumns); err != nil {
			return err
		}
	}
	if v.KeyColumns != nil {
		most := maxSortKey
		if v.SortKey != nil {
			most = len(*v.SortKey)
		}
		if *v.KeyColumns < 1 || *v.KeyColumns > most {
			return fmt.Errorf("key_columns: %d is not from 1 to %d, the number of paths of the sort key", *v.KeyColumns, most)
		}
	}
	if v.TargetBytes != nil && (*v.TargetBytes < minTarget || *v.TargetBytes > maxTarget) {
		return fmt.Errorf("target_bytes: %d is not from %d (1 MiB) to %d (4 GiB)", *v.TargetBytes, minTarget, int64(maxTarget))
	}
	if v.MaxColumns != nil && (*v.MaxColumns < 1 || *v.MaxColumns > maxMaxColumns) {
		return fmt.Errorf("max_columns: %d is not from 1 to %d", *v.MaxColumns, maxMaxColumns)
	}
	return nil
}

func checkRetention(name string, r *Span, bucket time.Duration) error {
	switch {
	case r == nil || *r == 0:
		return nil
	case time.Duration(*r) < bucket || time.Duration(*r)%bucket != 0:
		return fmt.Errorf("%s: %s is not a whole number of data buckets of %s; 0 keeps all", name, *r, Span(bucket))
	case time.Duration(*r) > maxRetention:
		return fmt.Errorf("%s: %s is more than %s; 0 keeps all", name, *r, Span(maxRetention))
	}
	return nil
}

// checkNames checks a list of paths or columns. Files hold the sort key as text with
// commas between the paths.
func checkNames(setting string, names []string, most int) error {
	if len(names) > most {
		return fmt.Errorf("%s: %d names, at most %d are allowed", setting, len(names), most)
	}
	for i, n := range names {
		switch {
		case n == "" || len(n) > maxName:
			return fmt.Errorf("%s: name %d has %d bytes, from 1 to %d are allowed", setting, i+1, len(n), maxName)
		case !utf8.ValidString(n) || strings.ContainsFunc(n, func(r rune) bool { return r == ',' || unicode.IsControl(r) }):
			return fmt.Errorf("%s: %q has a comma or a character that is not printable", setting, n)
		case slices.Contains(names[:i], n):
			return fmt.Errorf("%s: %q stands twice", setting, n)
		}
	}
	return nil
}

// checkOwner takes tenants, Unroutable (whose letters are kept for a time, too) and "", the default.
func checkOwner(t event.TenantID, v Values) error {
	switch t {
	case "":
		return nil
	case event.Unroutable:
		if (v != Values{LettersRetention: v.LettersRetention}) {
			return fmt.Errorf("%q has dead letters and nothing else, so only letters_retention can be set", t)
		}
		return nil
	}
	_, err := event.ParseTenant(string(t))
	return err
}
