package event

import (
	"fmt"
	"unicode/utf8"

	"github.com/togodb/togo/internal/event/eventtime"
	"github.com/togodb/togo/internal/event/jsonscan"
)

// maxTenants bounds the names that an extractor keeps so as not to allocate them again.
const maxTenants = 4096

// value is what a rule gives: of a header or a key a String.
type value struct {
	kind jsonscan.Kind // 0: nothing
	lone bool          // holds half a surrogate pair
	made bool          // text lies in x.scratch
	text []byte        // unescaped; of a number the literal
}

// missing: there is nothing, null or an empty text, so the next rule is asked.
func (v *value) missing() bool {
	return v.kind == 0 || v.kind == jsonscan.Null || v.kind == jsonscan.String && len(v.text) == 0
}

func (v *value) kindName() string {
	switch v.kind {
	case jsonscan.Bool:
		return "a boolean"
	case jsonscan.Array:
		return "an array"
	case jsonscan.Object:
		return "an object"
	}
	return "text"
}

// get gives the value at a place. The text of one with escapes lies in x.scratch until
// the next get.
func (x *Extractor) get(p *place, rec *RecordView) (v value) {
	switch p.kind {
	case inField:
		for i := p.from; i < p.to; i++ {
			if v = x.field(&x.values[i]); !v.missing() {
				return v
			}
		}
	case inHeader:
		for i := len(rec.Headers) - 1; i >= 0; i-- {
			if equalFold(rec.Headers[i].Key, p.header) {
				return value{kind: jsonscan.String, text: rec.Headers[i].Value}
			}
		}
	case inKey:
		return value{kind: jsonscan.String, text: rec.Key}
	}
	return v
}

func (x *Extractor) field(f *jsonscan.Value) value {
	v := value{kind: f.Kind, text: f.Raw}
	if f.Flags&jsonscan.Escaped != 0 {
		v.lone = f.Flags&jsonscan.LoneSurrogate != 0
		x.scratch = jsonscan.AppendUnescaped(x.scratch[:0], f.Raw)
		v.text, v.made = x.scratch, true
	}
	return v
}

// equalFold compares but for the case of ASCII letters.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i < len(a); i++ {
		c, d := a[i], b[i]
		if c != d && (c|0x20 != d|0x20 || c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// findTenant gives the record's tenant, or Unroutable and why. Without readable fields
// the first field rule ends the search: a later rule might name the wrong tenant.
func (x *Extractor) findTenant(rec *RecordView, fields bool) (TenantID, fault) {
	for i := range x.tenant {
		p := &x.tenant[i]
		if p.kind == isFixed {
			return p.fixed, fault{}
		}
		if p.kind == inField && !fields {
			break
		}
		v := x.get(p, rec)
		if v.missing() {
			continue
		}
		if v.kind != jsonscan.String && v.kind != jsonscan.Number {
			return Unroutable, fault{ReasonBadTenant, fmt.Sprintf("%s is %s", p.configured, v.kindName())}
		}
		if t, ok := x.tenants[string(v.text)]; ok {
			return t, fault{}
		}
		if err := checkTenant(v.text); err != nil {
			return Unroutable, fault{ReasonBadTenant, p.configured + ": " + err.Error()}
		}
		if len(x.tenants) >= maxTenants {
			clear(x.tenants)
		}
		t := TenantID(v.text)
		x.tenants[string(t)] = t
		return t, fault{}
	}
	return Unroutable, fault{ReasonBadTenant, "no rule gives a tenant"}
}

// findTimestamp sets the event's time if a rule gives one.
func (x *Extractor) findTimestamp(rec *RecordView, item *Item) fault {
	for i := range x.timestamp {
		p := &x.timestamp[i]
		v := x.get(p, rec)
		if v.missing() {
			continue
		}
		ts, err := eventtime.Parse(v.kind, v.text, p.unit)
		switch err {
		case nil:
			item.Timestamp = Timestamp(ts)
			return fault{}
		case eventtime.ErrTooEarly:
			return fault{ReasonTooFarInPast, p.configured + ": " + quote(v.text) + " is " + err.Error()}
		case eventtime.ErrTooLate:
			return fault{ReasonTooFarInFuture, p.configured + ": " + quote(v.text) + " is " + err.Error()}
		}
		return fault{ReasonBadTimestamp, p.configured + ": " + quote(v.text) + " is " + err.Error()}
	}
	return fault{}
}

// quote shows the beginning of a text.
func quote(b []byte) string {
	const most = 60
	if len(b) > most {
		return fmt.Sprintf("%q...", b[:most])
	}
	return fmt.Sprintf("%q", b)
}

// findID sets the event's id: that of a rule, else that of the position.
func (x *Extractor) findID(rec *RecordView, item *Item) fault {
	for i := range x.id {
		p := &x.id[i]
		v := x.get(p, rec)
		if v.missing() {
			continue
		}
		switch {
		case v.kind != jsonscan.String && v.kind != jsonscan.Number:
			return fault{ReasonBadID, fmt.Sprintf("%s is %s, neither text nor number", p.configured, v.kindName())}
		case len(v.text) > MaxID:
			return fault{ReasonBadID, fmt.Sprintf("%s has %d bytes, at most %d are allowed", p.configured, len(v.text), MaxID)}
		case v.lone:
			return fault{ReasonBadID, p.configured + " holds half a surrogate pair, so it is not one text"}
		case !utf8.Valid(v.text):
			return fault{ReasonBadID, p.configured + " is not UTF-8"}
		}
		item.HasID = true
		item.ID = v.text
		if v.made || v.text[0] == '@' {
			item.ID = x.ids.keep(AppendUserID(x.ids.room(len(v.text)+1), v.text))
		}
		return fault{}
	}
	item.ID = x.ids.position(item.Origin)
	return fault{}
}
