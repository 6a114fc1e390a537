package event

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/togodb/togo/internal/event/eventtime"
	"github.com/togodb/togo/internal/event/jsonscan"
)

// Header is a Kafka header.
type Header struct {
	Key   string
	Value []byte
}

// RecordView is what Extract reads of an intake record.
type RecordView struct {
	Value          []byte // nil: a tombstone
	Key            []byte // nil: none
	Headers        []Header
	KafkaTimestamp Timestamp
	Origin         Origin
}

// Extractor applies a mapping to records, by the rules 10 to 19 of the package comment.
// It is not safe for concurrent use; Clone gives another.
type Extractor struct {
	tenant, timestamp, id []place
	limits                Limits
	format                PayloadFormat

	paths  *jsonscan.Paths
	values []jsonscan.Value

	tenants map[string]TenantID // names that passed the rule
	scratch []byte
	ids     idBuffer
}

// place is a compiled Rule.
type place struct {
	kind       placeKind
	header     string
	from, to   int // the ways of a field are values[from:to]
	fixed      TenantID
	unit       eventtime.Unit
	configured string // as in the mapping, for people
}

type placeKind uint8

const (
	inField placeKind = iota + 1
	inHeader
	inKey
	isFixed
)

// Compile prepares a mapping.
func Compile(m Mapping, limits Limits) (*Extractor, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if limits.MaxFuture < 0 {
		return nil, fmt.Errorf("%w: max_future %s is negative", ErrBadMapping, limits.MaxFuture)
	}
	x := &Extractor{limits: limits, format: FormatJSON, tenants: make(map[string]TenantID)}
	if m.Format == Text {
		x.format = FormatText
	}
	var paths [][]string
	for _, list := range []struct {
		rules  []Rule
		places *[]place
	}{{m.Tenant, &x.tenant}, {m.Timestamp, &x.timestamp}, {m.ID, &x.id}} {
		for _, r := range list.rules {
			p := place{unit: r.Unit}
			switch {
			case r.Field != "":
				p.kind, p.from, p.configured = inField, len(paths), "field "+r.Field
				paths = append(paths, ways(r.Field)...)
				p.to = len(paths)
			case r.Header != "":
				p.kind, p.header, p.configured = inHeader, r.Header, "header "+r.Header
			case r.Key:
				p.kind, p.configured = inKey, "the record's key"
			default:
				p.kind, p.fixed = isFixed, TenantID(r.Fixed)
			}
			*list.places = append(*list.places, p)
		}
	}
	x.paths = jsonscan.NewPaths(paths...)
	x.values = make([]jsonscan.Value, len(paths))
	return x, nil
}

// Extract fills item with a KindEvent, or a KindDead with Reason and Detail, and tenant
// with its owner (Unroutable for a dead letter without a usable tenant). Item's bytes
// alias the record's or are never written again.
func (x *Extractor) Extract(rec *RecordView, item *Item, tenant *TenantID) {
	*item = Item{
		Kind:      KindEvent,
		Timestamp: rec.KafkaTimestamp,
		FirstSeen: rec.KafkaTimestamp,
		Origin:    rec.Origin,
		Format:    x.format,
		Payload:   rec.Value,
	}
	payload := x.readPayload(rec.Value)
	owner, tenantFault := x.findTenant(rec, payload.reason == "")
	*tenant = owner
	fault := payload
	if fault.reason == "" {
		fault = tenantFault
	}
	if fault.reason == "" {
		fault = x.findTimestamp(rec, item)
	}
	if fault.reason == "" {
		fault = x.findID(rec, item)
	}
	if fault.reason == "" {
		fault = x.checkLimits(item)
	}
	if fault.reason != "" {
		x.kill(item, fault)
	}
}

// fault is why a record is dead; none has no reason.
type fault struct {
	reason Reason
	detail string
}

// kill makes item the dead letter of its record.
func (x *Extractor) kill(item *Item, f fault) {
	item.Kind = KindDead
	item.Timestamp = item.FirstSeen
	item.HasID = false
	item.ID = x.ids.letter(item.Origin)
	item.Reason = f.reason
	item.Detail = clip(f.detail, MaxDetail)
}

// DeadLetter is the letter of a record that met its end outside an Extractor.
func DeadLetter(rec *RecordView, format PayloadFormat, reason Reason, detail string) Item {
	return Item{
		Kind:      KindDead,
		Timestamp: rec.KafkaTimestamp,
		FirstSeen: rec.KafkaTimestamp,
		ID:        LetterID(rec.Origin),
		Origin:    rec.Origin,
		Format:    format,
		Payload:   rec.Value,
		Reason:    reason,
		Detail:    clip(detail, MaxDetail),
	}
}

// clip cuts s to at most n bytes of valid UTF-8.
func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		if r, size := utf8.DecodeLastRuneInString(s); r == utf8.RuneError && size == 1 {
			s = s[:len(s)-1]
		}
	}
	return s
}

// readPayload judges the record's value and finds the fields.
func (x *Extractor) readPayload(value []byte) fault {
	if x.format == FormatText {
		for _, c := range value {
			if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
				return fault{}
			}
		}
		return fault{ReasonEmpty, "the record has no value"}
	}
	err := x.paths.Find(value, x.values)
	switch {
	case err == nil:
		return fault{}
	case errors.Is(err, jsonscan.ErrEmpty):
		return fault{ReasonEmpty, "the record has no value"}
	case errors.Is(err, jsonscan.ErrNotObject):
		return fault{ReasonNotAnObject, err.Error()}
	case errors.Is(err, jsonscan.ErrTooDeep):
		return fault{ReasonTooDeep, err.Error()}
	}
	return fault{ReasonMalformed, err.Error()}
}

// checkLimits judges the event's time.
func (x *Extractor) checkLimits(item *Item) fault {
	if item.Timestamp < x.limits.MinTime {
		return fault{ReasonTooFarInPast, fmt.Sprintf("%s, before %s", item.Timestamp, x.limits.MinTime)}
	}
	ahead := item.Timestamp - item.FirstSeen
	if item.Timestamp > item.FirstSeen && (ahead < 0 || ahead > Timestamp(x.limits.MaxFuture)) { // below 0: beyond 64 bits
		return fault{ReasonTooFarInFuture, fmt.Sprintf("%s, more than %s after Kafka's %s", item.Timestamp, x.limits.MaxFuture, item.FirstSeen)}
	}
	return fault{}
}
