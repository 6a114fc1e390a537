package fragment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

func sampleFile(t testing.TB, rows int) (*File, []Row) {
	r := rand.New(rand.NewPCG(1, 1))
	var payloads []string
	for i := range rows {
		payloads = append(payloads, fmt.Sprintf(`{"service":"s%d","status":%d,"n":%d,"t":"%x","x":null,"a.b":[%d]}`, r.IntN(4), 200+r.IntN(3), i, r.Uint64(), i))
	}
	in := jsonRows(payloads...)
	return encode(t, newRegistry(), in), in
}

func TestMetaOfEachRow(t *testing.T) {
	f, rows := sampleFile(t, 1000)
	byID := map[string]*Row{}
	for i := range rows {
		byID[string(rows[i].ID)] = &rows[i]
	}
	r, err := OpenBytes("k", f.Body)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for m, err := range r.Meta() {
		if err != nil {
			t.Fatal(err)
		}
		n++
		row := byID[string(m.ID)]
		if row == nil || m.Timestamp != row.Timestamp || m.Seq != 7 || m.SourceOffset != row.Offset || m.SourcePartition != 3 || m.IngestedAt != row.IngestedAt {
			t.Fatalf("%+v, sent %+v", m, row)
		}
	}
	if n != len(rows) {
		t.Fatalf("%d rows", n)
	}
	want := Info{Tenant: "t", Kind: Events, Bucket: 1_699_999_200, Seq: 7, Rows: 1000, SortKey: DefaultSortKey, Format: 1, Writer: createdBy}
	if got := fmt.Sprint(r.Info()); got != fmt.Sprint(want) {
		t.Errorf("info %s, want %v", got, want)
	}
}

// rangeCounter counts range reads and what they asked for.
type rangeCounter struct {
	body   []byte
	reads  int
	bytes  int64
	failAt int
}

var errStore = errors.New("503 slow down")

func (s *rangeCounter) GetRange(_ context.Context, _ string, off, n int64) ([]byte, error) {
	s.reads++
	s.bytes += n
	if s.reads == s.failAt {
		return nil, errStore
	}
	return bytes.Clone(s.body[off:min(off+n, int64(len(s.body)))]), nil
}

func TestRangesAreReadInFewRequests(t *testing.T) {
	f, rows := sampleFile(t, 30_000)
	s := &rangeCounter{body: f.Body}
	r, err := Open(t.Context(), s, "k", int64(len(f.Body)))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range r.Meta() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != len(rows) || s.reads > 3 || s.bytes > int64(len(f.Body))*3/4 {
		t.Errorf("%d rows with %d reads of %d bytes in all; the file has %d", n, s.reads, s.bytes, len(f.Body))
	}
	n = 0
	for _, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != len(rows) || s.reads > 6 {
		t.Errorf("%d rows with %d reads", n, s.reads)
	}
}

func TestTheStoresErrorIsNotCorruption(t *testing.T) {
	f, _ := sampleFile(t, 30_000)
	for failAt := 1; failAt <= 2; failAt++ {
		s := &rangeCounter{body: f.Body, failAt: failAt}
		r, err := Open(t.Context(), s, "k", int64(len(f.Body)))
		if err == nil {
			for _, e := range r.Meta() {
				err = e
			}
		}
		if !errors.Is(err, errStore) || errors.Is(err, ErrCorrupt) {
			t.Errorf("read %d fails: %v", failAt, err)
		}
	}
}

func TestDeadLettersComeBack(t *testing.T) {
	rows := jsonRows("", "{", "\xff\x00\xfe", `{"a":1}`, strings.Repeat("z", 1<<20))
	for i := range rows {
		rows[i].Letter, rows[i].Format = &Letter{Reason: event.ReasonMalformed}, event.PayloadFormat(i)
		rows[i].Source.Topic = event.TopicID{1, byte(i)}
	}
	rows[1].Letter.Detail, rows[2].Letter.Reason = "byte 1: \xff", event.ReasonConflict
	f, err := Encode(t.Context(), Input{Tenant: event.Unroutable, Kind: DeadLetters, Bucket: 60, Seq: 9, Rows: rows}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenBytes("k", f.Body)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for l, err := range r.DeadLetters() {
		if err != nil {
			t.Fatal(err)
		}
		row := &rows[i] // sorted by time, as they were made
		if string(l.ID) != string(row.ID) || l.Reason != row.Letter.Reason || !bytes.Equal(l.Payload, row.Payload) || l.Format != row.Format ||
			l.Timestamp != row.Timestamp || l.SourceTopic != row.Source.Topic.String() || l.SourceCluster != "c" || l.SourceOffset != row.Offset || l.Seq != 9 {
			t.Errorf("row %d: %+v", i, l)
		}
		if l.Detail != strings.ToValidUTF8(row.Letter.Detail, "\uFFFD") {
			t.Errorf("detail %q", l.Detail)
		}
		i++
	}
	if i != len(rows) || r.Info().Kind != DeadLetters || r.Info().Tenant != event.Unroutable {
		t.Errorf("%d rows, %+v", i, r.Info())
	}
}

// drain reads all of a file and gives the first error.
func drain(body []byte) error {
	r, err := OpenBytes("the-key", body)
	if err != nil {
		return err
	}
	if r.Info().Kind == DeadLetters {
		for _, err := range r.DeadLetters() {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for e, err := range r.Events() {
		if err != nil {
			return err
		}
		if _, err := e.AppendJSON(nil); err != nil {
			return err
		}
	}
	return nil
}

func TestDamageIsSaidWithTheKey(t *testing.T) {
	f, _ := sampleFile(t, 300)
	r := rand.New(rand.NewPCG(8, 8))
	found := 0
	for range 400 {
		body := bytes.Clone(f.Body)
		switch r.IntN(3) {
		case 0:
			body = body[:r.IntN(len(body))]
		case 1:
			body[r.IntN(len(body))] ^= byte(1 + r.IntN(255))
		case 2:
			at := r.IntN(len(body))
			clear(body[at:min(at+512, len(body))])
		}
		err := drain(body)
		if err == nil {
			continue // in a part that a scan does not read: indexes and filters
		}
		found++
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewerFormat) || !strings.Contains(err.Error(), "the-key") {
			t.Fatalf("%v", err)
		}
	}
	if found < 200 {
		t.Errorf("only %d of 400 damages found", found)
	}
}

// fixFooterSum makes the footer's checksum match.
func fixFooterSum(body []byte) {
	length := int(binary.LittleEndian.Uint32(body[len(body)-8:]))
	footer := body[len(body)-8-length : len(body)-8]
	binary.LittleEndian.PutUint32(body[len(body)-12-length:], crc32.Checksum(footer, crc32.MakeTable(crc32.Castagnoli)))
}

func TestANewerFormatStops(t *testing.T) {
	f, _ := sampleFile(t, 3)
	body := bytes.Replace(f.Body, []byte(metaFormat+"\x18\x011"), []byte(metaFormat+"\x18\x012"), 1)
	if bytes.Equal(body, f.Body) {
		t.Fatal("the format number is not where the test looks")
	}
	if err := drain(body); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a damaged footer: %v", err)
	}
	fixFooterSum(body)
	if err := drain(body); !errors.Is(err, ErrNewerFormat) || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "the-key") {
		t.Errorf("%v", err)
	}
}

func FuzzReader(f *testing.F) {
	file, _ := sampleFile(f, 20)
	f.Add(file.Body)
	letters := jsonRows("{", "x")
	for i := range letters {
		letters[i].Letter = &Letter{Reason: event.ReasonMalformed}
	}
	dead, err := Encode(context.Background(), Input{Tenant: "t", Kind: DeadLetters, Rows: letters}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(dead.Body)
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := drain(body); err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewerFormat) {
			t.Fatal(err)
		}
	})
}

func FuzzAnyEventComesBack(f *testing.F) {
	f.Add([]byte(`{"a":1,"A":2,"a.b":{"c":[1,{"d":null}]},"timestamp":"x","":{},"n":1e400,"h":"\ud800"}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		rows := jsonRows(string(payload), `{"a":1}`)
		file, err := Encode(context.Background(), Input{Tenant: "t", Kind: Events, Rows: rows}, newRegistry())
		if err != nil {
			return // no good JSON: nothing to keep
		}
		checkFile(t, file, rows)
	})
}

func TestSortedByTheKey(t *testing.T) {
	f, _ := sampleFile(t, 2000)
	var last string
	r, err := OpenBytes("k", f.Body)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		b, _ := e.AppendJSON(nil)
		v, _ := parseJSON(b)
		m := v.(map[string]any)
		key := fmt.Sprintf("%s %s %020d", m["service"], m["status"], e.Timestamp)
		if key < last {
			t.Fatalf("%s after %s", key, last)
		}
		last = key
	}
	want := "[{service s0 s3 0} {status 200 202 0}]"
	if got := fmt.Sprint(f.Ranges); got != want {
		t.Errorf("ranges %s, want %s", got, want)
	}
}

func TestSortKeyOfManyColumnsAndNulls(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	var payloads []string
	for range 500 {
		m := []string{}
		for _, k := range []string{"a", "b", "c", "d"} {
			if r.IntN(4) > 0 {
				m = append(m, fmt.Sprintf(`"%s":%d`, k, r.IntN(3)-1))
			}
		}
		payloads = append(payloads, "{"+strings.Join(m, ",")+"}")
	}
	f, err := Encode(t.Context(), Input{Tenant: "t", Kind: Events, Rows: jsonRows(payloads...), SortKey: []string{"d", "a", "nowhere", "c", "b"}}, newRegistry())
	if err != nil {
		t.Fatal(err)
	}
	rd, err := OpenBytes("k", f.Body)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for e, err := range rd.Events() {
		if err != nil {
			t.Fatal(err)
		}
		b, _ := e.AppendJSON(nil)
		v, _ := parseJSON(b)
		key := ""
		for _, k := range []string{"d", "a", "c", "b"} {
			switch n := fmt.Sprint(v.(map[string]any)[k]); n {
			case "-1":
				key += "0"
			case "<nil>":
				key += "9"
			default:
				key += "1" + n
			}
		}
		if key += string(e.ID); key < last {
			t.Fatalf("%s after %s", key, last)
		}
		last = key
	}
}

func TestRangesBoundWhatIsThere(t *testing.T) {
	long := strings.Repeat("é", 100)
	f := encode(t, newRegistry(), jsonRows(`{"service":"`+long+`","status":-3}`, `{"service":"a","status":1.5}`, `{"service":null,"status":true}`))
	want := []Range{
		{"service", "a", strings.Repeat("é", 31) + "ê", 1},
		{"status", "-3", "-3", 2}, {"status@double", "1.5", "1.5", 2}, {"status@boolean", "true", "true", 2},
	}
	if fmt.Sprint(f.Ranges) != fmt.Sprint(want) {
		t.Errorf("ranges %v, want %v", f.Ranges, want)
	}
	f = encode(t, newRegistry(), jsonRows(`{}`))
	if len(f.Ranges) != 0 {
		t.Errorf("ranges %v of columns that the tenant has not", f.Ranges)
	}
}

var _ RangeReader = objstore.Store(nil)

// A decoder must not believe a damaged size: what a bit costs is an error, not memory.
func TestDamageCostsNoMemory(t *testing.T) {
	f, _ := sampleFile(t, 200)
	r := rand.New(rand.NewPCG(4, 8))
	var before, after runtime.MemStats
	for range 500 {
		body := bytes.Clone(f.Body)
		body[4+r.IntN(len(body)-4)] = byte(r.IntN(256))
		runtime.ReadMemStats(&before)
		_ = drain(body)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Fatalf("%d bytes to read a damaged file of %d", n, len(body))
		}
	}
}
