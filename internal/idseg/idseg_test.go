package idseg

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/togodb/togo/internal/event"
)

func randomHash(r *rand.Rand) (h event.Hash) {
	for i := range h {
		h[i] = byte(r.Uint32())
	}
	return h
}

func entriesOf(seed uint64, buckets, tenants, ids int) (out []Entry) {
	r := rand.New(rand.NewPCG(seed, 1))
	for b := range buckets {
		for i := range tenants {
			for range ids {
				out = append(out, Entry{
					Tenant: event.TenantID(fmt.Sprintf("tenant-%d", i)), Bucket: int64(b-1) * 600,
					ID: randomHash(r), Payload: r.Uint32(),
				})
			}
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func sorted(entries []Entry) []Entry {
	out := slices.Clone(entries)
	slices.SortFunc(out, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Tenant, b.Tenant), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return out
}

func flatten(parts []*Part) (out []Entry) {
	for _, p := range parts {
		for tenant, ids := range p.All() {
			for i := range ids.Len() {
				id, payload := ids.At(i)
				out = append(out, Entry{Tenant: tenant, Bucket: p.Bucket, ID: id, Payload: payload})
			}
		}
	}
	return out
}

// What is encoded is decoded, whole, by part, by head and by block, whatever the
// hashes are.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		byHash := map[event.Hash]Entry{}
		n := rapid.SampledFrom([]int{0, 1, 2, 255, 256, 257, 900}).Draw(t, "ids")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		uniform := rapid.IntRange(0, 16).Draw(t, "common prefix")
		for len(byHash) < n {
			e := Entry{Tenant: event.TenantID([]string{"a", "b", "c.c"}[r.IntN(3)]), Bucket: 600 * int64(r.IntN(2)), ID: randomHash(r), Payload: r.Uint32()}
			for i := range min(uniform, 14) {
				e.ID[i] = 0xab
			}
			byHash[e.ID] = e
		}
		var entries []Entry
		for _, e := range byHash {
			entries = append(entries, e)
		}
		entries = sorted(entries)
		r.Shuffle(n, func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		given := slices.Clone(entries)
		cfg := Config{FilterBits: rapid.IntRange(1, 12).Draw(t, "bits"), FilterHashes: rapid.IntRange(1, 8).Draw(t, "hashes")}
		body, buckets, err := Encode(entries, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(entries, given) {
			t.Fatal("Encode changed its input")
		}
		parts, found, err := Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(found, buckets) || !slices.Equal(flatten(parts), sorted(entries)) {
			t.Fatalf("decoded %v, encoded %v", found, buckets)
		}
		for _, b := range buckets {
			lookUpAll(t, body[b.Offset:b.Offset+b.Length], b, byHash)
		}
	})
}

// lookUpAll finds every entry of the part by a block read, and no other.
func lookUpAll(t *rapid.T, part []byte, b Bucket, byHash map[event.Hash]Entry) {
	head, err := DecodeHead(part[:HeadReadBytes(b)])
	if err != nil {
		t.Fatal(err)
	}
	if head.PartBytes() != b.Length || head.IDs != b.IDs || head.Bucket != b.Bucket {
		t.Fatalf("head %+v, bucket %+v", head, b)
	}
	find := func(tenant event.TenantID, id event.Hash) (uint32, bool) {
		r, ok := head.Block(tenant, id)
		if !ok {
			return 0, false
		}
		if r.Length > 2*BlockEntries*EntryBytes && id[0] != 0xab {
			t.Fatalf("a look-up reads %d bytes", r.Length)
		}
		ids, err := head.Entries(r, part[r.Offset:r.Offset+r.Length])
		if err != nil {
			t.Fatal(err)
		}
		return ids.Find(id)
	}
	for id, e := range byHash {
		payload, ok := find(e.Tenant, id)
		if want := e.Bucket == b.Bucket; ok != want || (ok && payload != e.Payload) {
			t.Fatalf("%x of bucket %d in bucket %d: found %v, payload %d", id, e.Bucket, b.Bucket, ok, payload)
		}
		if e.Bucket == b.Bucket && !head.MayHold(id) {
			t.Fatalf("the filter denies %x", id)
		}
		id[15]++
		if _, there := byHash[id]; !there {
			if _, ok := find(e.Tenant, id); ok {
				t.Fatalf("found %x, which is not there", id)
			}
		}
	}
	if _, ok := head.Run("nobody"); ok {
		t.Fatal("a tenant that is not there has a run")
	}
}

func TestEncodeRefuses(t *testing.T) {
	e := Entry{Tenant: "a", Bucket: 600, ID: event.Hash{1}, Payload: 1}
	other := e
	other.Payload = 2
	for name, entries := range map[string][]Entry{
		"twice":      {e, {Tenant: "b", Bucket: 600, ID: event.Hash{2}}, other},
		"no tenant":  {{Bucket: 600}},
		"long names": {{Tenant: event.TenantID(bytes.Repeat([]byte("x"), 256))}},
	} {
		if _, _, err := Encode(entries, DefaultConfig()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, _, err := Encode(nil, Config{FilterBits: 10}); err == nil {
		t.Error("a filter without hashes: accepted")
	}
}

// Every single flipped byte and every cut is noticed, in every way of reading.
func TestDamageIsNoticed(t *testing.T) {
	body, buckets, err := Encode(entriesOf(1, 2, 3, 20), DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	noticed := func(err error) bool { return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNewerFormat) }
	for i := range body {
		damaged := bytes.Clone(body)
		damaged[i] ^= 0x40
		if _, _, err := Decode(damaged); !noticed(err) {
			t.Fatalf("byte %d flipped: %v", i, err)
		}
		for _, b := range buckets {
			if int64(i) < b.Offset || int64(i) >= b.Offset+b.Length {
				continue
			}
			part := damaged[b.Offset : b.Offset+b.Length]
			if _, err := DecodePart(part); !noticed(err) {
				t.Fatalf("byte %d flipped: part: %v", i, err)
			}
			head, err := DecodeHead(part)
			if err != nil {
				continue
			}
			r, _ := head.Run("tenant-0")
			at := int64(i) - b.Offset
			_, err = head.Entries(r, part[r.Offset:r.Offset+r.Length])
			if within := at >= r.Offset && at < r.Offset+r.Length; within != noticed(err) {
				t.Fatalf("byte %d flipped: run %+v: %v", i, r, err)
			}
		}
	}
	for n := range len(body) - 1 {
		_, found, err := Decode(body[:n])
		if err == nil && len(found) == len(buckets) {
			t.Fatalf("cut to %d bytes: all there", n)
		}
		if b := buckets[0]; int64(n) < b.Length {
			if _, err := DecodePart(body[b.Offset : b.Offset+int64(n)]); !noticed(err) {
				t.Fatalf("part cut to %d bytes: %v", n, err)
			}
		}
	}
}

func TestNewerFormat(t *testing.T) {
	body, buckets, err := Encode(entriesOf(1, 1, 1, 1), DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	body[len(objectMagic)]++
	if _, _, err := Decode(body); !errors.Is(err, ErrNewerFormat) {
		t.Errorf("object: %v", err)
	}
	body[buckets[0].Offset+4]++
	if _, err := DecodeHead(body[buckets[0].Offset:]); !errors.Is(err, ErrNewerFormat) {
		t.Errorf("part: %v", err)
	}
}

// The bytes of a small segment, filter included, are written down: a library that
// hashes otherwise would make stored filters deny what they hold.
func TestGoldenBytes(t *testing.T) {
	var entries []Entry
	for i := range 5 {
		entries = append(entries, Entry{Tenant: "acme", Bucket: 600, ID: event.Hash{0: byte(50 * i), 15: byte(i)}, Payload: uint32(i)})
	}
	entries = append(entries, Entry{Tenant: "zoo", Bucket: 1200, ID: event.Hash{7: 7}, Payload: 1 << 31})
	body, _, err := Encode(entries, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(body); got != golden {
		t.Errorf("got  %s\nwant %s", got, golden)
	}
}

const golden = "" +
	"544f474f4944530154474950010700005200000001000000580200000000000005000000000000004000000000000000" +
	"0600000000010000285aee3a194646016664278d0461636d65050000000000000000658352dc908f3e68000000000000" +
	"000000000000000000000000000032000000000000000000000000000001010000006400000000000000000000000000" +
	"0002020000009600000000000000000000000000000303000000c8000000000000000000000000000004040000005447" +
	"4950010700005100000001000000b00400000000000001000000000000004000000000000000050000000001000077a1" +
	"acd20404004000242400037a6f6f0100000000000000077dc40dace21f0a0b0000000000000007000000000000000000" +
	"000080"

// The filter has about the rate of false positives that 10 bits give.
func TestFilterRate(t *testing.T) {
	entries := entriesOf(3, 1, 1, 20_000)
	body, buckets, err := Encode(entries, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	head, err := DecodeHead(body[buckets[0].Offset:])
	if err != nil {
		t.Fatal(err)
	}
	r, wrong := rand.New(rand.NewPCG(9, 9)), 0
	for range 20_000 {
		if head.MayHold(randomHash(r)) {
			wrong++
		}
	}
	if wrong > 300 || wrong == 0 {
		t.Errorf("%d false positives of 20000, want about 160", wrong)
	}
}

func fuzzSeeds(f *testing.F) {
	for _, n := range []int{1, 300} {
		body, buckets, err := Encode(entriesOf(uint64(n), 2, 2, n), DefaultConfig())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
		f.Add(body[buckets[0].Offset : buckets[0].Offset+buckets[0].Length])
	}
}

// Decoding never panics nor believes what it should not: what decodes is sorted
// and complete, and encodes to the same ids.
func FuzzDecode(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b)
		reseal(b)
		parts, _, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewerFormat) {
				t.Fatalf("error without a sentinel: %v", err)
			}
			return
		}
		entries := flatten(parts)
		again, _, err := Encode(entries, DefaultConfig())
		if err != nil {
			t.Fatalf("decoded what cannot be encoded: %v", err)
		}
		decoded, _, err := Decode(again)
		if err != nil || !slices.Equal(flatten(decoded), entries) {
			t.Fatalf("another content after a second round: %v", err)
		}
	})
}

func FuzzDecodeHead(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b)
		resealPart(b)
		h, err := DecodeHead(b)
		if err != nil {
			return
		}
		for _, r := range h.runs {
			for _, id := range []event.Hash{{}, {0: 0x80}, {0: 0xff, 15: 0xff}} {
				h.MayHold(id)
				if block, ok := h.Block(r.tenant, id); ok && (block.Offset < h.bytes || block.Offset+block.Length > h.PartBytes() || block.Length <= 0) {
					t.Fatalf("block %+v lies outside of the part of %d bytes", block, h.PartBytes())
				}
			}
			run, _ := h.Run(r.tenant)
			if int64(len(b)) >= run.Offset+run.Length {
				_, _ = h.Entries(run, b[run.Offset:run.Offset+run.Length])
			}
		}
	})
}
