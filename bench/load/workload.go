// Package load makes the events of benchmarks: what a workload file says, the same ones on
// every machine.
//
//  1. The n-th event of a workload, a seed and a begin is always the same, whatever was asked for before it:
//     it is made of n alone. So a copy may lie any distance behind its original, and nothing is remembered.
//  2. A copy is its original, byte for byte, and never the copy of a copy.
//  3. An event costs the generator well below a microsecond: templates of JSON are made once, and what differs in each event
//     (identity, time, traces, some numbers) is written into places of a fixed width.
//  4. Strict: an unknown key of a workload file is an error with its line, and so is a value out of its range.
//
// Events are those of a web service, with the attributes that bench/queries asks for (service, status, level, host,
// user.id, http.*, trace_id, message, ...), filled up to the size that is asked for.
package load

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// Workload is a file.
type Workload struct {
	Name string `yaml:"-"` // small, wide, many, or the path

	Tenants    int        `yaml:"tenants"` // 1 to a million
	Skew       float64    `yaml:"skew"`    // the tenant of rank r sends in proportion to 1/r^skew; 0: all the same; to 3
	Event      Shape      `yaml:"event"`
	Duplicates Duplicates `yaml:"duplicates"`
	Late       Late       `yaml:"late"`
	Rate       Rate       `yaml:"rate"`     // events a second; max: as many as go
	Duration   Duration   `yaml:"duration"` // of the load
}

// Shape is what an event looks like.
type Shape struct {
	Bytes     int `yaml:"bytes"`      // of a payload, about; below what the attributes need it is that
	ExtraKeys int `yaml:"extra_keys"` // attributes that an event may have beside the usual ones
	ExtraEach int `yaml:"extra_each"` // of these, those that each event has
	Templates int `yaml:"templates"`  // different payloads but for the parts that always differ; default 4,000
}

// Duplicates are copies of earlier events.
type Duplicates struct {
	Share    float64 `yaml:"share"`    // of the events, from 0 to 0.9
	Distance int     `yaml:"distance"` // a copy lies at most so many events behind its original, each power of two being as likely as the next
}

// Late events carry an older time.
type Late struct {
	Share float64  `yaml:"share"` // of the events, from 0 to 1
	By    Duration `yaml:"by"`    // at most; evenly
}

// Rate in events a second; 0 is as many as go.
type Rate float64

// Duration is written as Go writes it: 90s, 1m30s.
type Duration time.Duration

// UnmarshalYAML reads a number, or max.
func (r *Rate) UnmarshalYAML(b []byte) error {
	parsed, err := ParseRate(strings.TrimSpace(string(b)))
	*r = parsed
	return err
}

// ParseRate reads a positive number, or max.
func ParseRate(text string) (Rate, error) {
	text = strings.Trim(text, `"'`)
	if text == "max" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) || v > 1e8 {
		return 0, fmt.Errorf("rate %q is neither max nor events a second (above 0, at most 100 million)", text)
	}
	return Rate(v), nil
}

// UnmarshalYAML reads a duration.
func (d *Duration) UnmarshalYAML(b []byte) error {
	text := strings.Trim(strings.TrimSpace(string(b)), `"'`)
	v, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no duration such as 90s or 2h", text)
	}
	*d = Duration(v)
	return nil
}

//go:embed workloads/*.yaml
var ready embed.FS

// Ready names the workloads that need no file.
var Ready = []string{"small", "wide", "many"}

// Open reads a ready workload by its name, or a file.
func Open(name string) (*Workload, error) {
	var text []byte
	var err error
	if slices.Contains(Ready, name) {
		text, err = ready.ReadFile("workloads/" + name + ".yaml")
	} else {
		text, err = os.ReadFile(name)
	}
	if errors.Is(err, os.ErrNotExist) && filepath.Ext(name) == "" {
		return nil, fmt.Errorf("workload %s: neither a file nor one of %s", name, strings.Join(Ready, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("workload: %w", err)
	}
	w, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", name, err)
	}
	w.Name = name
	return w, nil
}

// Parse reads the text of a workload file.
func Parse(text []byte) (*Workload, error) {
	w := &Workload{Tenants: 1, Event: Shape{Bytes: 550}, Duration: Duration(time.Minute)}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(w); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	if w.Event.Templates == 0 {
		w.Event.Templates = 4000
	}
	if err := w.validate(); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *Workload) validate() error {
	var errs []error
	within := func(key string, v, least, most float64) {
		if !(v >= least && v <= most) {
			errs = append(errs, fmt.Errorf("%s: %g is not from %g to %g", key, v, least, most))
		}
	}
	within("tenants", float64(w.Tenants), 1, 1e6)
	within("skew", w.Skew, 0, 3)
	within("event.bytes", float64(w.Event.Bytes), 0, 512<<10)
	within("event.extra_keys", float64(w.Event.ExtraKeys), 0, 100_000)
	within("event.extra_each", float64(w.Event.ExtraEach), 0, float64(w.Event.ExtraKeys))
	within("event.templates", float64(w.Event.Templates), 1, 1e6)
	within("duplicates.share", w.Duplicates.Share, 0, 0.9)
	if w.Duplicates.Share > 0 {
		within("duplicates.distance", float64(w.Duplicates.Distance), 1, 1e9)
	}
	within("late.share", w.Late.Share, 0, 1)
	within("late.by", time.Duration(w.Late.By).Seconds(), 0, 365*24*3600)
	if w.Duration <= 0 {
		errs = append(errs, fmt.Errorf("duration: %s is not positive", time.Duration(w.Duration)))
	}
	return errors.Join(errs...)
}

// Share is what the tenant of a rank sends of all events, from 0 to 1.
func (w *Workload) Share(rank int) float64 {
	sum := 0.0
	for i := range w.Tenants {
		sum += math.Pow(float64(i+1), -w.Skew)
	}
	return math.Pow(float64(rank+1), -w.Skew) / sum
}

// Keys is how many attributes the events of a tenant may have.
func (w *Workload) Keys() int { return usualKeys + w.Event.ExtraKeys }
