package calendar

import (
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the zones' rules where the machine has none

	"github.com/togodb/togo/query/fail"
)

// Zone is a time zone of the IANA database. It is safe for concurrent use.
type Zone struct {
	name     string
	location *time.Location
}

// maxZones bounds the cache of zones: more than there are.
const maxZones = 2000

var zones struct {
	sync.Mutex
	byName map[string]*Zone
}

// LoadZone finds a zone by its name, as Europe/Berlin, without regard to case. Offsets and abbreviations that the
// database has not (PST) are errors.
func LoadZone(name string) (*Zone, error) {
	zones.Lock()
	defer zones.Unlock()
	if z := zones.byName[name]; z != nil {
		return z, nil
	}
	z := find(name)
	if z == nil {
		return nil, fail.New(fail.Value, "unknown time zone %q; take a name of the IANA database as 'Europe/Berlin' or 'UTC'", short(name))
	}
	if zones.byName == nil {
		zones.byName = map[string]*Zone{}
	}
	if len(zones.byName) < maxZones {
		zones.byName[strings.Clone(name)] = z
	}
	return z, nil
}

func find(name string) *Zone {
	if name == "" || len(name) > 64 || strings.EqualFold(name, "local") {
		return nil
	}
	for _, n := range []string{name, strings.ToUpper(name), title(name)} {
		if l, err := time.LoadLocation(n); err == nil {
			return &Zone{n, l}
		}
	}
	return nil
}

// title writes a name as most of the database are: America/Port_of_Spain, Etc/GMT+1.
func title(name string) string {
	b := []byte(strings.ToLower(name))
	for i, c := range b {
		if (i == 0 || !isLetter(b[i-1])) && c >= 'a' {
			b[i] = c - 'a' + 'A'
		}
	}
	s := string(b)
	for _, r := range [][2]string{{"_Of_", "_of_"}, {"_Es_", "_es_"}, {"-Au-", "-au-"}, {"Etc/Gmt", "Etc/GMT"}, {"Etc/Utc", "Etc/UTC"},
		{"Dumontdurville", "DumontDUrville"}, {"Mcmurdo", "McMurdo"}, {"Us/", "US/"}, {"Gb-Eire", "GB-Eire"}} {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return s
}

// String is the zone's name.
func (z *Zone) String() string { return z.name }

// Cursor converts many times, best of which follow each other: one goroutine's.
type Cursor struct {
	zone       *Zone
	from, to   int64 // of instants with the offset
	offset     int64
	haveBounds bool
}

// Cursor makes one.
func (z *Zone) Cursor() *Cursor { return &Cursor{zone: z} }

// Offset is what is added to an instant to give the clock on the wall.
func (c *Cursor) Offset(ns int64) int64 {
	if c.haveBounds && ns >= c.from && ns < c.to {
		return c.offset
	}
	t := time.Unix(0, ns).In(c.zone.location)
	_, seconds := t.Zone()
	c.offset = int64(seconds) * Second
	start, end := t.ZoneBounds()
	c.from, c.to, c.haveBounds = -1<<63, 1<<63-1, true
	if !start.IsZero() && inRange(start) {
		c.from = start.UnixNano()
	}
	if !end.IsZero() && inRange(end) {
		c.to = end.UnixNano()
	}
	return c.offset
}

func inRange(t time.Time) bool {
	return t.After(time.Unix(0, -1<<63)) && t.Before(time.Unix(0, 1<<63-1))
}

// ToLocal is the clock on the wall at an instant.
func (c *Cursor) ToLocal(ns int64) (int64, error) { return add(ns, c.Offset(ns)) }

// ToUTC is the instant at which a clock on the wall shows a time: the later one if it does so twice; if it never does,
// because the clock was put forward over it, as if it had not been put yet.
func (c *Cursor) ToUTC(local int64) (int64, error) {
	// Offsets lie within 16 hours, and two changes never within two days.
	const far = 16 * Hour
	before, after := c.Offset(saturate(local, -far)), c.Offset(saturate(local, far))
	if before != after {
		late := saturate(local, -min(before, after))
		if off := min(before, after); c.Offset(late) == off {
			return late, nil
		}
		if early := saturate(local, -max(before, after)); c.Offset(early) == max(before, after) {
			return early, nil
		}
	}
	return add(local, -before)
}

func saturate(ns, by int64) int64 {
	sum, err := add(ns, by)
	if err == nil {
		return sum
	}
	if by > 0 {
		return 1<<63 - 1
	}
	return -1 << 63
}
