package event

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/togodb/togo/internal/event/eventtime"
)

var (
	kafkaTime  = Timestamp(1710667613589 * 1e6) // 2024-03-17T09:26:53.589Z
	testLimits = Limits{MinTime: Timestamp(946684800 * 1e9), MaxFuture: 10 * time.Minute}
	testOrigin = Origin{
		Source:      Source{Cluster: "MkU3OEVBNTcwNTJENDM2Qk", Topic: TopicID{0: 0xAB, 15: 0x01}, Partition: 7},
		LeaderEpoch: 3, Offset: 81723,
	}
)

const (
	positionOfTest = "@MkU3OEVBNTcwNTJENDM2Qk/ab000000000000000000000000000001/7/3/81723/0"
	letterOfTest   = positionOfTest + "/dead"
)

func extract(t *testing.T, m Mapping, rec RecordView) (Item, TenantID) {
	t.Helper()
	x, err := Compile(m, testLimits)
	if err != nil {
		t.Fatal(err)
	}
	rec.KafkaTimestamp, rec.Origin = kafkaTime, testOrigin
	var item Item
	var tenant TenantID
	x.Extract(&rec, &item, &tenant)
	checkItem(t, &rec, &item)
	return item, tenant
}

// checkItem checks what holds of every item.
func checkItem(t *testing.T, rec *RecordView, item *Item) {
	t.Helper()
	if item.FirstSeen != rec.KafkaTimestamp || item.Origin != rec.Origin || string(item.Payload) != string(rec.Value) {
		t.Errorf("first seen, origin and payload are not the record's: %+v", item)
	}
	switch item.Kind {
	case KindEvent:
		if item.Reason != "" || item.Detail != "" || len(item.ID) == 0 {
			t.Errorf("an event with a reason or without an id: %+v", item)
		}
	case KindDead:
		if item.Reason == "" || item.Detail == "" || len(item.Detail) > MaxDetail || string(item.ID) != letterOfTest || item.HasID || item.Timestamp != item.FirstSeen {
			t.Errorf("letter: %+v", item)
		}
	default:
		t.Errorf("kind %d", item.Kind)
	}
}

// say shows an item in a line.
func say(item Item, tenant TenantID) string {
	if item.Kind == KindDead {
		return fmt.Sprintf("%s dead %s", tenant, item.Reason)
	}
	id := string(item.ID)
	if !item.HasID {
		id = "position"
		if string(item.ID) != positionOfTest {
			id = "WRONG POSITION " + string(item.ID)
		}
	}
	at := item.Timestamp.String()
	if item.Timestamp == kafkaTime {
		at = "kafka"
	}
	return fmt.Sprintf("%s %s %s", tenant, at, id)
}

func TestDefaultMappingRules(t *testing.T) {
	tests := []struct{ value, want string }{
		{`{"timestamp":"2024-03-17T09:00:00Z","event_id":"a"}`, "acme 2024-03-17T09:00:00Z a"},
		{`{"a":1}`, "acme kafka position"},
		{`{}`, "acme kafka position"},
		// Candidates in their order; null and empty do not count.
		{`{"ts":1710666000,"time":1710666001,"@timestamp":1710666002,"timestamp":1710666003}`, "acme 2024-03-17T09:00:03Z position"},
		{`{"ts":1710666000,"time":1710666001,"@timestamp":1710666002}`, "acme 2024-03-17T09:00:02Z position"},
		{`{"timestamp":null,"@timestamp":"","time":"1710666001000","ts":true}`, "acme 2024-03-17T09:00:01Z position"},
		{`{"timestamp":null,"@timestamp":"","event_id":null}`, "acme kafka position"},
		{`{"timestamp":" ","ts":1710666000}`, "acme dead bad_timestamp"},
		{`{"timestamp":"noon","ts":1710666000}`, "acme dead bad_timestamp"},
		{`{"timestamp":true}`, "acme dead bad_timestamp"},
		{`{"timestamp":[1710666000]}`, "acme dead bad_timestamp"},
		{`{"timestamp":{}}`, "acme dead bad_timestamp"},
		{`{"timestamp":{"a":1}}`, "acme dead bad_timestamp"},
		{`{"timestamp":"\u0032024-03-17T09:00:00Z"}`, "acme 2024-03-17T09:00:00Z position"},
		// Bounds of the time.
		{`{"timestamp":0}`, "acme dead too_far_in_past"},
		{`{"timestamp":-1}`, "acme dead too_far_in_past"},
		{`{"timestamp":"0001-01-01T00:00:00Z"}`, "acme dead too_far_in_past"},
		{`{"timestamp":"1999-12-31T23:59:59.999999999Z"}`, "acme dead too_far_in_past"},
		{`{"timestamp":"2000-01-01T00:00:00Z"}`, "acme 2000-01-01T00:00:00Z position"},
		{`{"timestamp":"2024-03-17T09:36:53.589Z"}`, "acme 2024-03-17T09:36:53.589Z position"},
		{`{"timestamp":"2024-03-17T09:36:53.589000001Z"}`, "acme dead too_far_in_future"},
		{`{"timestamp":9223372036854775807}`, "acme dead too_far_in_future"},
		{`{"timestamp":9223372036854775808}`, "acme dead too_far_in_future"},
		{`{"timestamp":"9999-12-31T00:00:00Z"}`, "acme dead too_far_in_future"},
		{`{"timestamp":-1e400}`, "acme dead too_far_in_past"},
		// Ids.
		{`{"event_id":""}`, "acme kafka position"},
		{`{"event_id":7}`, "acme kafka 7"},
		{`{"event_id":"7"}`, "acme kafka 7"},
		{`{"event_id":7.0}`, "acme kafka 7.0"},
		{`{"event_id":9007199254740993}`, "acme kafka 9007199254740993"},
		{`{"event_id":"@a"}`, "acme kafka @@a"},
		{`{"event_id":"` + positionOfTest + `"}`, "acme kafka @" + positionOfTest},
		{`{"event_id":"\u0040\u00e9\ud83d\ude00"}`, "acme kafka @@é😀"},
		{`{"event_id":"\u00e9"}`, "acme kafka \u00e9"},
		{`{"event_id":"e\u0301"}`, "acme kafka e\u0301"}, // another Unicode form of the same, another id
		{`{"event_id":" "}`, "acme kafka  "},
		{`{"event_id":"\u0000"}`, "acme kafka \x00"},
		{`{"event_id":"` + strings.Repeat("x", MaxID) + `"}`, "acme kafka " + strings.Repeat("x", MaxID)},
		{`{"event_id":"` + strings.Repeat("x", MaxID+1) + `"}`, "acme dead bad_id"},
		{`{"event_id":false}`, "acme dead bad_id"},
		{`{"event_id":[]}`, "acme dead bad_id"},
		{`{"event_id":{"a":1}}`, "acme dead bad_id"},
		{`{"event_id":"\ud800"}`, "acme dead bad_id"},
		// Of equal keys the last counts, however it is written; keys match exactly.
		{`{"event_id":"a","event_id":"b"}`, "acme kafka b"},
		{`{"event_id":"a","\u0065vent_id":null}`, "acme kafka position"},
		{`{"event_id":"a","Event_id":"b","ID":"c"}`, "acme kafka a"},
		// Fields are those of the record's object.
		{`{"x":{"event_id":"a"},"y":[{"event_id":"b"}]}`, "acme kafka position"},
		// No event.
		{``, "acme dead empty"},
		{" \t\r\n", "acme dead empty"},
		{`null`, "acme dead empty"},
		{"\ufeff null\n", "acme dead empty"},
		{"\ufeff{\"event_id\":1}", "acme kafka 1"},
		{`[{"event_id":1}]`, "acme dead not_an_object"},
		{`"text"`, "acme dead not_an_object"},
		{`12`, "acme dead not_an_object"},
		{`[1,`, "acme dead malformed"},
		{`{"event_id":1`, "acme dead malformed"},
		{`{"event_id":1}}`, "acme dead malformed"},
		{`{"event_id":1}{"event_id":2}`, "acme dead malformed"},
		{"{\"a\":\"\xff\"}", "acme dead malformed"},
		{"\x00\x00\x00\x00\x05Schema registry", "acme dead malformed"},
		{`{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, "acme dead too_deep"},
		{`{"a":` + strings.Repeat("[", 10000), "acme dead too_deep"},
		{`{"a":1` + strings.Repeat("0", 1e6) + `}`, "acme kafka position"},
	}
	for _, test := range tests {
		rec := RecordView{Value: []byte(test.value), Headers: []Header{{"X-Scope-OrgID", []byte("acme")}}}
		if got := say(extract(t, DefaultMapping(), rec)); got != test.want {
			t.Errorf("%.80q: got %.200s, want %.200s", test.value, got, test.want)
		}
	}
	item, _ := extract(t, DefaultMapping(), RecordView{})
	if item.Reason != ReasonEmpty {
		t.Errorf("tombstone: %+v", item)
	}
}

func TestTenantRules(t *testing.T) {
	header := func(s string) []Rule { return []Rule{{Header: s}} }
	fieldFirst := []Rule{{Field: "org"}, {Header: "Org"}, {Fixed: "rest"}}
	tests := []struct {
		name    string
		rules   []Rule
		value   string
		key     string
		headers []Header
		want    string
	}{
		{"default", nil, `{}`, "", nil, "anonymous kafka position"},
		{"any case of the header", nil, `{}`, "", []Header{{"x-scope-orgid", []byte("a")}}, "a kafka position"},
		{"@ is not `", header("@"), `{}`, "", []Header{{"`", []byte("a")}}, "_unroutable dead bad_tenant"},
		{"the last header counts", nil, `{}`, "", []Header{{"X-Scope-OrgID", []byte("a")}, {"X-Scope-OrgID", []byte("b")}}, "b kafka position"},
		{"an empty header is missing", nil, `{}`, "", []Header{{"X-Scope-OrgID", nil}}, "anonymous kafka position"},
		{"bad name", nil, `{}`, "", []Header{{"X-Scope-OrgID", []byte("a/b")}}, "_unroutable dead bad_tenant"},
		{"reserved name", nil, `{}`, "", []Header{{"X-Scope-OrgID", []byte("_unroutable")}}, "_unroutable dead bad_tenant"},
		{"dots", nil, `{}`, "", []Header{{"X-Scope-OrgID", []byte("..")}}, "_unroutable dead bad_tenant"},
		{"bad name and bad value", nil, `{`, "", []Header{{"X-Scope-OrgID", []byte("a/b")}}, "_unroutable dead malformed"},
		{"field", fieldFirst, `{"org":"a"}`, "", []Header{{"Org", []byte("h")}}, "a kafka position"},
		{"number", fieldFirst, `{"org":42}`, "", nil, "42 kafka position"},
		{"a number's literal may be no name", fieldFirst, `{"org":1e+2}`, "", nil, "_unroutable dead bad_tenant"},
		{"boolean", fieldFirst, `{"org":true}`, "", nil, "_unroutable dead bad_tenant"},
		{"array", fieldFirst, `{"org":["a"]}`, "", nil, "_unroutable dead bad_tenant"},
		{"null field", fieldFirst, `{"org":null}`, "", []Header{{"Org", []byte("h")}}, "h kafka position"},
		{"fixed at last", fieldFirst, `{"org":""}`, "", nil, "rest kafka position"},
		{"unreadable fields name no tenant", fieldFirst, `{"org":"a"`, "", []Header{{"Org", []byte("h")}}, "_unroutable dead malformed"},
		{"a header before them does", []Rule{{Header: "Org"}, {Field: "org"}}, `{"org":"a"`, "", []Header{{"Org", []byte("h")}}, "h dead malformed"},
		{"key", []Rule{{Key: true}}, `{}`, "k", nil, "k kafka position"},
		{"no key", []Rule{{Key: true}}, `{}`, "", nil, "_unroutable dead bad_tenant"},
		{"too long", []Rule{{Key: true}}, `{}`, strings.Repeat("k", MaxTenant+1), nil, "_unroutable dead bad_tenant"},
		{"long", []Rule{{Key: true}}, `{}`, strings.Repeat("k", MaxTenant), nil, strings.Repeat("k", MaxTenant) + " kafka position"},
		{"escapes", fieldFirst, `{"org":"\u0061b"}`, "", nil, "ab kafka position"},
		{"lone surrogate", fieldFirst, `{"org":"\udc00"}`, "", nil, "_unroutable dead bad_tenant"},
	}
	for _, test := range tests {
		m := DefaultMapping()
		if test.rules != nil {
			m.Tenant = test.rules
		}
		rec := RecordView{Value: []byte(test.value), Headers: test.headers}
		if test.key != "" {
			rec.Key = []byte(test.key)
		}
		if got := say(extract(t, m, rec)); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

func TestDottedFields(t *testing.T) {
	m := DefaultMapping()
	m.ID = []Rule{{Field: "a.b.c"}}
	tests := []struct{ value, want string }{
		{`{"a.b.c":1}`, "1"}, {`{"a.b":{"c":1}}`, "1"}, {`{"a":{"b.c":1}}`, "1"}, {`{"a":{"b":{"c":1}}}`, "1"},
		{`{"a":{"b":{"c":4},"b.c":3},"a.b":{"c":2},"a.b.c":1}`, "1"},
		{`{"a":{"b":{"c":4},"b.c":3},"a.b":{"c":2}}`, "2"},
		{`{"a":{"b":{"c":4},"b.c":3}}`, "3"},
		{`{"a":{"b":{"c":4}},"a.b.c":null}`, "4"},
		{`{"a":{"b":{"c":4}},"a":{"b":1}}`, "position"}, // the later "a" replaces the whole
		{`{"a":{"b":{"c":4}},"a":5}`, "position"},
		{`{"a":{"b":{"c":4},"b":{"c":5}}}`, "5"},
		{`{"a":[{"b":{"c":4}}]}`, "position"},
	}
	for _, test := range tests {
		if got := say(extract(t, m, RecordView{Value: []byte(test.value)})); got != "anonymous kafka "+test.want {
			t.Errorf("%s: got %s, want %s", test.value, got, test.want)
		}
	}
}

func TestOtherPlaces(t *testing.T) {
	m := Mapping{
		Format:    Text,
		Tenant:    []Rule{{Fixed: "logs"}},
		Timestamp: []Rule{{Header: "time", Unit: eventtime.Milliseconds}},
		ID:        []Rule{{Header: "id"}, {Key: true}},
	}
	at := Header{"Time", []byte("1710666000000")}
	tests := []struct {
		value, key string
		headers    []Header
		want       string
	}{
		{"a line", "", nil, "logs kafka position"},
		{"null", "", nil, "logs kafka position"},
		{"\xff\xfe broken {", "", nil, "logs kafka position"},
		{" \n", "", nil, "logs dead empty"},
		{"", "", nil, "logs dead empty"},
		{"a", "k", []Header{at}, "logs 2024-03-17T09:00:00Z k"},
		{"a", "k", []Header{at, {"id", []byte("@i")}}, "logs 2024-03-17T09:00:00Z @@i"},
		{"a", "k", []Header{{"time", []byte("soon")}}, "logs dead bad_timestamp"},
		{"a", "\x00\xff", nil, "logs dead bad_id"},
	}
	for _, test := range tests {
		rec := RecordView{Value: []byte(test.value), Headers: test.headers}
		if test.key != "" {
			rec.Key = []byte(test.key)
		}
		item, tenant := extract(t, m, rec)
		if got := say(item, tenant); got != test.want || item.Format != FormatText {
			t.Errorf("%q: got %s, want %s", test.value, got, test.want)
		}
	}
}

// Bytes of an item stay as they are when the extractor goes on.
func TestItemsOutliveTheExtractor(t *testing.T) {
	x, err := Compile(DefaultMapping(), testLimits)
	if err != nil {
		t.Fatal(err)
	}
	items, want := make([]Item, 1), []string{string(PositionID(testOrigin))}
	var tenant TenantID
	x.Extract(&RecordView{Value: []byte(`{}`), KafkaTimestamp: kafkaTime, Origin: testOrigin}, &items[0], &tenant)
	for i := range 2000 {
		rec := RecordView{KafkaTimestamp: kafkaTime, Origin: testOrigin}
		rec.Origin.Offset = int64(i)
		id := string(PositionID(rec.Origin))
		switch i % 3 {
		case 0:
			rec.Value = []byte(`{}`)
		case 1:
			rec.Value, id = fmt.Appendf(nil, `{"event_id":"\u0061%d"}`, i), fmt.Sprintf("a%d", i)
		case 2:
			rec.Value, id = []byte(`{`), id+"/dead"
		}
		var item Item
		x.Extract(&rec, &item, &tenant)
		items, want = append(items, item), append(want, id)
	}
	for i := range items {
		if string(items[i].ID) != want[i] {
			t.Fatalf("item %d: id %q, want %q", i, items[i].ID, want[i])
		}
	}
}

func TestDetailsAreClipped(t *testing.T) {
	for n := range 4 {
		name := strings.Repeat("x", n) + strings.Repeat("日", 200)
		m := DefaultMapping()
		m.ID = []Rule{{Field: name}}
		item, _ := extract(t, m, RecordView{Value: []byte(`{"` + name + `":true}`)})
		letter := DeadLetter(&RecordView{Origin: testOrigin}, FormatJSON, ReasonTooLarge, name)
		for _, it := range []Item{item, letter} {
			if !utf8.ValidString(it.Detail) || len(it.Detail) > MaxDetail || len(it.Detail) < MaxDetail-3 {
				t.Errorf("%d bytes: %s", len(it.Detail), it.Detail)
			}
		}
	}
}

func TestExtractDoesNotAllocate(t *testing.T) {
	x, err := Compile(DefaultMapping(), testLimits)
	if err != nil {
		t.Fatal(err)
	}
	rec := RecordView{Value: []byte(`{"timestamp":"2024-03-17T09:00:00Z","event_id":"\u0061"}`), Headers: []Header{{"X-Scope-OrgID", []byte("acme")}}, KafkaTimestamp: kafkaTime}
	var item Item
	var tenant TenantID
	if n := testing.AllocsPerRun(1000, func() { x.Extract(&rec, &item, &tenant) }); n > 0 || item.Kind != KindEvent {
		t.Errorf("%v allocations, %+v", n, item)
	}
}

func FuzzExtract(f *testing.F) {
	f.Add([]byte(`{"timestamp":"2024-03-17T09:00:00Z","event_id":"@a","org":{"id":7}}`), []byte("k"))
	m := DefaultMapping()
	m.Tenant = []Rule{{Field: "org.id"}, {Key: true}}
	x, err := Compile(m, testLimits)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value, key []byte) {
		rec := RecordView{Value: value, Key: key, KafkaTimestamp: kafkaTime, Origin: testOrigin}
		var item, again Item
		var tenant, tenantAgain TenantID
		x.Extract(&rec, &item, &tenant)
		checkItem(t, &rec, &item)
		x.Extract(&rec, &again, &tenantAgain)
		if say(item, tenant) != say(again, tenantAgain) {
			t.Fatalf("%s, then %s", say(item, tenant), say(again, tenantAgain))
		}
		if _, err := ParseTenant(string(tenant)); err != nil && (tenant != Unroutable || item.Kind != KindDead) {
			t.Fatalf("%s has tenant %q", value, tenant)
		}
	})
}
