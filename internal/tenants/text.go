package tenants

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Span is a time for which something is kept, written as 30d or 36h; 0 is "forever".
type Span time.Duration

const day = 24 * time.Hour

// String is what ParseSpan reads.
func (s Span) String() string {
	d := time.Duration(s)
	switch {
	case d == 0:
		return "forever"
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return d.String()
}

// MarshalText writes String.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what ParseSpan reads.
func (s *Span) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSpan(string(text))
	return err
}

// ParseSpan reads days (30d), weeks (2w), Go's durations (36h), and "forever" or 0.
func ParseSpan(text string) (Span, error) {
	if text == "forever" || text == "0" {
		return 0, nil
	}
	if n := len(text) - 1; n > 0 && (text[n] == 'd' || text[n] == 'w') {
		unit := day
		if text[n] == 'w' {
			unit = 7 * day
		}
		// The bound keeps the product in range; what is too long is said by check.
		if count, err := strconv.ParseUint(text[:n], 10, 64); err == nil {
			return Span(time.Duration(min(count, 100_000/uint64(unit/day))) * unit), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no time to keep something, such as 30d, 2w, 36h or forever", text)
	}
	return Span(d), nil
}

// field is one setting as people write it.
type field struct {
	name, doc string
	set       func(v *Values, text string) error
	unset     func(v *Values)
	isSet     func(v Values) bool
	show      func(s Settings) string
}

// fields lists all settings in the order in which they are shown.
var fields = []field{
	fieldOf("retention", "how long events are kept after their event time; forever: always",
		func(v *Values) **Span { return &v.Retention }, ParseSpan,
		func(s Settings) string { return Span(s.Retention).String() }),
	fieldOf("letters_retention", "the same for dead letters, by Kafka time; not set: as retention",
		func(v *Values) **Span { return &v.LettersRetention }, ParseSpan,
		func(s Settings) string { return Span(s.LettersRetention).String() }),
	fieldOf("sort_key", "paths by which files are sorted, such as service,status",
		func(v *Values) **[]string { return &v.SortKey }, parseSortKey,
		func(s Settings) string { return strings.Join(s.SortKey, ",") }),
	fieldOf("key_columns", "how many leading paths of the sort key tell files apart in compaction; not set: all",
		func(v *Values) **int { return &v.KeyColumns }, strconv.Atoi,
		func(s Settings) string { return strconv.Itoa(s.KeyColumns) }),
	fieldOf("bloom_columns", "columns with a Bloom filter; empty: none",
		func(v *Values) **[]string { return &v.BloomColumns }, parseNames,
		func(s Settings) string { return strings.Join(s.BloomColumns, ",") }),
	fieldOf("target_bytes", "size of a compacted file, such as 128MiB",
		func(v *Values) **int64 { return &v.TargetBytes }, parseBytes,
		func(s Settings) string { return showBytes(s.TargetBytes) }),
	fieldOf("max_columns", "columns of the tenant's attributes; later ones are kept in _rest",
		func(v *Values) **int { return &v.MaxColumns }, strconv.Atoi,
		func(s Settings) string { return strconv.Itoa(s.MaxColumns) }),
}

func fieldOf[T any](name, doc string, at func(*Values) **T, parse func(string) (T, error), show func(Settings) string) field {
	return field{
		name: name, doc: doc, show: show,
		set: func(v *Values, text string) error {
			x, err := parse(text)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			*at(v) = &x
			return nil
		},
		unset: func(v *Values) { *at(v) = nil },
		isSet: func(v Values) bool { return *at(&v) != nil },
	}
}

func findField(name string) (field, error) {
	for _, f := range fields {
		if f.name == name {
			return f, nil
		}
	}
	return field{}, fmt.Errorf("no setting %q; there are %s", name, strings.Join(Names(), ", "))
}

// Names lists the settings' names.
func Names() []string {
	var out []string
	for _, f := range fields {
		out = append(out, f.name)
	}
	return out
}

// Doc says what a setting means, in a line.
func Doc(name string) string {
	f, err := findField(name)
	if err != nil {
		return ""
	}
	return f.doc
}

// Set returns v with a setting changed to what text says.
func (v Values) Set(name, text string) (Values, error) {
	f, err := findField(name)
	if err != nil {
		return v, err
	}
	return v, f.set(&v, text)
}

// Unset returns v without a value of the setting.
func (v Values) Unset(name string) (Values, error) {
	f, err := findField(name)
	if err != nil {
		return v, err
	}
	f.unset(&v)
	return v, nil
}

// Has says whether a setting has a value.
func (v Values) Has(name string) bool {
	f, err := findField(name)
	return err == nil && f.isSet(v)
}

// Show is a setting's value as Set reads it.
func (s Settings) Show(name string) string {
	f, err := findField(name)
	if err != nil {
		return ""
	}
	return f.show(s)
}

// parseNames reads names with commas between them; "" is no name at all.
func parseNames(text string) ([]string, error) {
	if text == "" {
		return []string{}, nil
	}
	names := strings.Split(text, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names, nil
}

// parseSortKey leaves a timestamp at the end out: it stands there anyway.
func parseSortKey(text string) ([]string, error) {
	names, err := parseNames(text)
	if n := len(names); n > 0 && names[n-1] == timestamp {
		names = names[:n-1]
	}
	return slices.Clip(names), err
}

var byteUnits = []struct {
	name string
	size int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}, {"", 1}}

func parseBytes(text string) (int64, error) {
	for _, u := range byteUnits {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > (1<<62)/u.size {
			break
		}
		return n * u.size, nil
	}
	return 0, fmt.Errorf("%q is no number of bytes, such as 128MiB", text)
}

func showBytes(n int64) string {
	for _, u := range byteUnits[:3] {
		if n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
