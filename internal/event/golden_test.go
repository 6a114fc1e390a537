package event

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// lines gives the fields of each line of a golden file; # begins a comment.
func lines(t *testing.T, name string) (all [][]string) {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if text := s.Text(); text != "" && text[0] != '#' {
			all = append(all, strings.Split(text, " "))
		}
	}
	if len(all) == 0 {
		t.Fatal(name, "is empty")
	}
	return all
}

func unquote(t *testing.T, s string) string {
	t.Helper()
	u, err := strconv.Unquote(s)
	if err != nil {
		t.Fatal(s, err)
	}
	return strings.ReplaceAll(u, "<64K>", strings.Repeat("0123456789abcdef", 4096))
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestGoldenHashes(t *testing.T) {
	var h *Hasher
	for _, line := range lines(t, "hashes.txt") {
		f, want := line[:len(line)-1], line[len(line)-1]
		var got string
		switch f[0] {
		case "seed":
			var seed Seed
			if _, err := hex.Decode(seed[:], []byte(want)); err != nil {
				t.Fatal(err)
			}
			h = NewHasher(seed)
			continue
		case "identity":
			sum := h.Identity(TenantID(unquote(t, f[1])), Timestamp(number(t, f[2])), []byte(unquote(t, f[3])))
			got = hex.EncodeToString(sum[:])
		case "routing":
			got = fmt.Sprintf("%016x", h.Routing([]byte(unquote(t, f[1]))))
		case "payload":
			got = fmt.Sprintf("%08x", h.Payload([]byte(unquote(t, f[1]))))
		case "rendezvous":
			got = fmt.Sprintf("%016x", h.Rendezvous(TenantID(unquote(t, f[1])), ShardID(number(t, f[2]))))
		case "source":
			s := Source{Cluster: unquote(t, f[1]), Partition: int32(number(t, f[3]))}
			if _, err := hex.Decode(s.Topic[:], []byte(f[2])); err != nil {
				t.Fatal(err)
			}
			got = fmt.Sprintf("%016x", h.Source(s))
		default:
			t.Fatal("unknown hash ", f[0])
		}
		if got != want {
			t.Errorf("%s: got %s", strings.Join(line, " "), got)
		}
	}
}

// goldenEnvelope is what testdata/envelope-1.hex holds.
func goldenEnvelope() *Envelope {
	other := Source{Cluster: "other", Topic: TopicID{1, 2, 3}, Partition: 2147483647}
	next := testOrigin
	next.Offset++
	skip := next
	skip.Offset++
	far := Origin{Source: other, LeaderEpoch: -1, Offset: 5, Index: 2}
	return &Envelope{Tenant: "acme", PlacementVersion: 300, Items: []Item{
		{Kind: KindEvent, Timestamp: kafkaTime - 7, ID: []byte("a"), HasID: true, FirstSeen: kafkaTime, Origin: testOrigin, Format: FormatJSON, Payload: []byte(`{"event_id":"a"}`)},
		{Kind: KindEvent, Timestamp: kafkaTime, ID: PositionID(next), FirstSeen: kafkaTime, Origin: next, Format: FormatText, Payload: []byte("line\xff")},
		{Kind: KindDead, Timestamp: kafkaTime + 1e6, ID: LetterID(far), FirstSeen: kafkaTime + 1e6, Origin: far, Reason: ReasonMalformed, Detail: "byte 0: expected a value", Format: FormatJSON, Payload: []byte("x")},
		{Kind: KindDead, Timestamp: kafkaTime, ID: LetterID(testOrigin), FirstSeen: kafkaTime, Origin: testOrigin, Reason: "of_a_later_program", Format: FormatJSON, Payload: []byte{}},
		{Kind: KindSkipped, FirstSeen: kafkaTime, Origin: skip, SkipTo: skip.Offset + 1000},
	}}
}

func TestGoldenEnvelope(t *testing.T) {
	want := strings.Join(lines(t, "envelope-1.hex")[0], "")
	if got := hex.EncodeToString(AppendEnvelope(nil, goldenEnvelope())); got != want {
		t.Errorf("encoded:\n got %s\nwant %s", got, want)
	}
	b, err := hex.DecodeString(want)
	if err != nil {
		t.Fatal(err)
	}
	var e Envelope
	if err := DecodeEnvelope(b, &e); err != nil {
		t.Fatal(err)
	}
	if want := goldenEnvelope(); e.Tenant != want.Tenant || e.PlacementVersion != want.PlacementVersion || !reflect.DeepEqual(e.Items, want.Items) {
		t.Errorf("decoded: %+v", e)
	}
}
