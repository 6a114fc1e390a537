package event

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drawSource(t *rapid.T) Source {
	s := Source{
		Cluster:   rapid.SampledFrom([]string{"", "c", "MkU3OEVBNTcwNTJENDM2Qk", strings.Repeat("c", MaxCluster)}).Draw(t, "cluster"),
		Partition: int32(rapid.SampledFrom([]int{0, 1, math.MaxInt32}).Draw(t, "partition")),
	}
	s.Topic[3] = byte(rapid.IntRange(0, 1).Draw(t, "topic"))
	return s
}

func drawItem(t *rapid.T) Item {
	it := Item{
		Kind:      Kind(rapid.IntRange(1, 3).Draw(t, "kind")),
		FirstSeen: Timestamp(rapid.Int64().Draw(t, "first seen")),
		Origin: Origin{
			Source:      drawSource(t),
			LeaderEpoch: rapid.Int32().Draw(t, "epoch"),
			Offset:      rapid.Int64Range(0, math.MaxInt64-2000).Draw(t, "offset"),
		},
	}
	if it.Kind == KindSkipped {
		it.SkipTo = it.Origin.Offset + rapid.Int64Range(1, 2000).Draw(t, "length")
		return it
	}
	it.Origin.Index = rapid.Int32Range(0, math.MaxInt32).Draw(t, "index")
	it.Timestamp = it.FirstSeen
	it.Format = PayloadFormat(rapid.IntRange(1, 2).Draw(t, "format"))
	it.Payload = rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload")
	if it.Kind == KindDead {
		it.ID = LetterID(it.Origin)
		it.Reason = rapid.SampledFrom([]Reason{ReasonEmpty, ReasonMalformed, "later"}).Draw(t, "reason")
		it.Detail = rapid.StringN(0, 20, MaxDetail).Draw(t, "detail")
		return it
	}
	if rapid.Bool().Draw(t, "other time") {
		it.Timestamp = Timestamp(rapid.Int64().Draw(t, "time"))
	}
	if it.HasID = rapid.Bool().Draw(t, "has id"); it.HasID {
		it.ID = rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "id")
	} else {
		it.ID = PositionID(it.Origin)
	}
	return it
}

func TestEnvelopeRoundTrip(t *testing.T) {
	var reused Envelope
	var builder Builder
	var memory []byte
	rapid.Check(t, func(t *rapid.T) {
		want := Envelope{
			Tenant:           rapid.SampledFrom([]TenantID{"a", Unroutable, TenantID(strings.Repeat("x", MaxTenant))}).Draw(t, "tenant"),
			PlacementVersion: rapid.Uint64().Draw(t, "version"),
			Items:            rapid.SliceOfN(rapid.Custom(drawItem), 0, 8).Draw(t, "items"),
		}
		builder.Reset(want.Tenant, memory)
		for i := range want.Items {
			bound := builder.SizeWith(&want.Items[i])
			if !builder.Fits(&want.Items[i]) && rapid.Bool().Draw(t, "move") {
				memory = builder.Move(make([]byte, 0, 2*bound+usualSources))
				if !builder.Fits(&want.Items[i]) {
					t.Fatalf("it does not fit into memory for %d bytes, bound %d", cap(builder.memory), bound)
				}
			}
			if builder.Append(&want.Items[i]); builder.Size() > bound {
				t.Fatalf("size %d, bound before %d", builder.Size(), bound)
			}
		}
		size := builder.Size()
		b, used := builder.Finish(want.PlacementVersion)
		if len(b) > size || len(b) < size-25 {
			t.Fatalf("%d bytes, size %d", len(b), size)
		}
		if &used[len(used)-1] != &b[len(b)-1] {
			t.Fatal("the envelope does not lie in its memory")
		}
		memory = bytes.Clone(used) // the envelope is not the builder's any more
		for i := range memory {
			memory[i] = 0xEE
		}
		if !bytes.Equal(b, AppendEnvelope(nil, &want)) {
			t.Fatal("builder and AppendEnvelope differ")
		}
		if err := DecodeEnvelope(b, &reused); err != nil {
			t.Fatal(err)
		}
		if reused.Tenant != want.Tenant || reused.PlacementVersion != want.PlacementVersion || len(reused.Items) != len(want.Items) {
			t.Fatalf("got %+v", reused)
		}
		for i := range want.Items {
			if !reflect.DeepEqual(reused.Items[i], want.Items[i]) {
				t.Fatalf("item %d:\n got %+v\nwant %+v", i, reused.Items[i], want.Items[i])
			}
		}
	})
}

func golden(t testing.TB) []byte {
	return AppendEnvelope(nil, goldenEnvelope())
}

// seal puts the right checksum on what was changed.
func seal(b []byte) []byte {
	body := b[:len(b)-checksumSize]
	return binary.LittleEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, castagnoli))
}

func TestEveryChangedByteIsCorrupt(t *testing.T) {
	b := golden(t)
	var e Envelope
	for i := range b {
		for _, flip := range []byte{1, 0x80, 0xFF} {
			bad := bytes.Clone(b)
			bad[i] ^= flip
			if err := DecodeEnvelope(bad, &e); !errors.Is(err, ErrCorrupt) || len(e.Items) > 0 {
				t.Fatalf("byte %d xor %x: %v", i, flip, err)
			}
		}
		if err := DecodeEnvelope(b[:i], &e); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	if err := DecodeEnvelope(b, &e); err != nil || len(e.Items) != 5 {
		t.Fatal("after corrupt ones: ", err)
	}
}

func TestNewerFormatIsNoCorruption(t *testing.T) {
	var e Envelope
	for _, format := range []byte{2, 100} {
		b := golden(t)
		b[2] = format
		if err := DecodeEnvelope(seal(b), &e); !errors.Is(err, ErrNewerFormat) || errors.Is(err, ErrCorrupt) {
			t.Errorf("format %d: %v", format, err)
		}
	}
	b := golden(t)
	b[2] = 0
	if err := DecodeEnvelope(seal(b), &e); !errors.Is(err, ErrCorrupt) {
		t.Errorf("format 0: %v", err)
	}
}

// Each body is followed by a right checksum; its lengths lie.
func TestHostileLengths(t *testing.T) {
	const header = "f57401" + "0161" + "00" // tenant a, version 0
	const source = "01" + "0163" + "00000000000000000000000000000000" + "00"
	tests := map[string]string{
		"tenant longer than all":     "f57401" + "ffffffffffffffff7f",
		"tenant of 151 bytes":        "f57401" + "9701" + strings.Repeat("61", 151),
		"tenant with a slash":        "f57401" + "032e2f2e" + "00" + "00" + "00",
		"no tenant":                  "f57401" + "00" + "00" + "00" + "00",
		"overlong integer":           "f57401" + "0161" + "ffffffffffffffffffff01",
		"sources without end":        header + "ffffffff7f",
		"sources, overflowing":       header + "ffffffffffffffffff01",
		"items without end":          header + "00" + "ffffffff7f",
		"items, overflowing":         header + "00" + "ffffffffffffffffff01",
		"item without a source":      header + source + "01" + "01" + "00" + "00" + "00",
		"source outside the table":   header + source + "01" + "21" + "01" + "00" + "00" + "00" + "00",
		"kind 0":                     header + source + "01" + "20" + "00" + "00" + "00" + "00" + "0161" + "00" + "00",
		"reserved flag":              header + source + "01" + "a1" + "00" + "00" + "00" + "00" + "00",
		"epoch beyond 32 bits":       header + source + "01" + "21" + "00" + "8080808020" + "00" + "00" + "00",
		"index 0 written":            header + source + "01" + "61" + "00" + "00" + "00" + "00" + "00" + "00",
		"payload longer than all":    header + source + "01" + "21" + "00" + "00" + "00" + "00" + "ffffffff0f",
		"empty id":                   header + source + "01" + "25" + "00" + "00" + "00" + "00" + "00" + "00",
		"letter without reason":      header + source + "01" + "22" + "00" + "00" + "00" + "00" + "00" + "00" + "00",
		"skipped nothing":            header + source + "01" + "23" + "00" + "00" + "00" + "00" + "00",
		"skipped beyond 63 bits":     header + source + "01" + "23" + "00" + "00" + "02" + "00" + "ffffffffffffffff7f",
		"skipped with an id":         header + source + "01" + "27" + "00" + "00" + "00" + "00" + "01",
		"bytes after the last item":  header + source + "01" + "21" + "00" + "00" + "00" + "00" + "00" + "00",
		"partition beyond 31 bits":   header + "01" + "0163" + "00000000000000000000000000000000" + "ffffffff0f" + "00",
		"ends within the last item":  header + source + "01" + "21" + "00" + "00" + "00",
		"ends within the item count": header + source,
	}
	for name, text := range tests {
		body, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(name, err)
		}
		var e Envelope
		if err := DecodeEnvelope(seal(append(body, 0, 0, 0, 0)), &e); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %+v", name, err, e.Items)
		} else if errors.Is(err, ErrCorrupt) && strings.Contains(err.Error(), "checksum") {
			t.Errorf("%s: %v", name, err)
		}
	}
	good, _ := hex.DecodeString(header + source + "01" + "21" + "00" + "00" + "00" + "00" + "00")
	var e Envelope
	if err := DecodeEnvelope(seal(append(good, 0, 0, 0, 0)), &e); err != nil || len(e.Items) != 1 {
		t.Errorf("the good one beside them: %v", err)
	}
}

func TestBuilderIsBounded(t *testing.T) {
	var b Builder
	b.Reset("a", nil)
	it := Item{Kind: KindEvent, HasID: true, ID: []byte("x"), Format: FormatJSON}
	for range MaxItems {
		if !b.Append(&it) {
			t.Fatal("full too early")
		}
	}
	if b.Append(&it) || b.Len() != MaxItems {
		t.Fatal("not full")
	}
	var e Envelope
	full, _ := b.Finish(1)
	if err := DecodeEnvelope(full, &e); err != nil || len(e.Items) != MaxItems {
		t.Fatal(err)
	}
	// One huge envelope does not hold its memory for ever.
	if err := DecodeEnvelope(golden(t), &e); err != nil || cap(e.Items) > keepItems {
		t.Fatal(err, cap(e.Items))
	}
	if b.Reset("b", nil); b.Len() != 0 || b.tenant != "b" {
		t.Fatal("reset")
	}
}

func TestDecodeAliasesAndDoesNotAllocate(t *testing.T) {
	b := AppendEnvelope(nil, &Envelope{Tenant: "a", Items: []Item{
		{Kind: KindEvent, HasID: true, ID: []byte("id"), Origin: testOrigin, Format: FormatJSON, Payload: []byte("payload")},
	}})
	var e Envelope
	if n := testing.AllocsPerRun(100, func() {
		if err := DecodeEnvelope(b, &e); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	at := bytes.Index(b, []byte("payload"))
	if it := &e.Items[0]; &it.Payload[0] != &b[at] || cap(it.Payload) != len(it.Payload) || cap(it.ID) != len(it.ID) {
		t.Error("payload or id is no clipped part of the input")
	}
}

func FuzzDecodeEnvelope(f *testing.F) {
	b := golden(f)
	f.Add(b[:len(b)-checksumSize])
	f.Add([]byte{magic0, magic1, format1, 1, 'a', 0, 0, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		// The checksum is put right, else no change would get past it.
		b := seal(append(bytes.Clone(body), 0, 0, 0, 0))
		var e, again Envelope
		if err := DecodeEnvelope(b, &e); err != nil {
			return
		}
		encoded := AppendEnvelope(nil, &e)
		if err := DecodeEnvelope(encoded, &again); err != nil {
			t.Fatal(err)
		}
		if e.Tenant != again.Tenant || e.PlacementVersion != again.PlacementVersion || len(e.Items) != len(again.Items) {
			t.Fatalf("%+v, again %+v", e, again)
		}
		for i := range e.Items {
			if !reflect.DeepEqual(e.Items[i], again.Items[i]) {
				t.Fatalf("item %d: %+v, again %+v", i, e.Items[i], again.Items[i])
			}
		}
		if !bytes.Equal(encoded, AppendEnvelope(nil, &again)) {
			t.Fatal("encoded anew it differs")
		}
	})
}
