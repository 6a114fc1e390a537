package placements

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

var writeGolden = flag.Bool("write-golden", false, "write the golden files that are missing; one that is there is never written again")

// golden compares with a file that holds for ever.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/golden/" + name
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && *writeGolden {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s has changed. It holds for ever: stores were written by it.\ngot:\n%s", path, got)
	}
}

// goldenChain is every kind of record, as this program writes it today.
func goldenChain(t *testing.T) []byte {
	ctx := context.Background()
	store := memoryAt(t0)
	k := crashKeeper(t, store, "golden", die)
	if err := work(ctx, k); err != nil {
		t.Fatal(err)
	}
	from := stamp(t0.Add(30 * time.Minute))
	if _, err := k.Propose(ctx, SetTenant("acme", Shards{4, 3, 0}, &from)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Extend(ctx, stamp(t0.Add(59*time.Minute))); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for entry, err := range (&chain.Log{Store: store, Prefix: logPrefix}).Follow(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		b.Write(entry.Body)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// TestGoldenRecords: records are written as they always were.
func TestGoldenRecords(t *testing.T) {
	golden(t, "chain.ndjson", goldenChain(t))
}

// goldenTable folds the records in the file, as a store of the first day would be read.
func goldenTable(t *testing.T) *Table {
	t.Helper()
	data, err := os.ReadFile("testdata/golden/chain.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	table := Empty(testHasher())
	for line := range bytes.Lines(data) {
		if table, err = table.read(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

// TestGoldenCheckpoint: a checkpoint of the first day is read, and still written so.
func TestGoldenCheckpoint(t *testing.T) {
	body, err := goldenTable(t).Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "checkpoint.json", body)
	if _, err := DecodeCheckpoint(testHasher(), body); err != nil {
		t.Error(err)
	}
}

// TestFault_router_skew_golden_vectors: (tenant, timestamp, id) -> shard, and source -> shard of its dead letters.
func TestFault_router_skew_golden_vectors(t *testing.T) {
	table, hasher := goldenTable(t), testHasher()
	var b bytes.Buffer
	tenants := []event.TenantID{"acme", "globex", "initech", "anonymous", "a", "A", "tenant-with.a_longer*name'(and)!", event.TenantID(strings.Repeat("z", 150))}
	times := []time.Duration{-26 * 365 * 24 * time.Hour, -time.Hour, 3*time.Minute - 1, 3 * time.Minute, 30*time.Minute - 1, 30 * time.Minute, time.Hour - time.Nanosecond}
	ids := [][]byte{{}, {0}, []byte("1"), []byte("order-7"), {0xff, 0xfe}, []byte("ÄÖ"), bytes.Repeat([]byte("id"), 5000)}
	for _, tenant := range tenants {
		for _, at := range times {
			ts := stamp(t0.Add(at))
			fmt.Fprintf(&b, "%s %d", tenant, ts)
			for _, id := range ids {
				shard, ok := table.Shard(tenant, ts, hasher.Routing(id))
				if !ok {
					t.Fatal("golden time above the horizon")
				}
				fmt.Fprintf(&b, " %s=%d", shortID(id), shard)
			}
			b.WriteByte('\n')
		}
	}
	for partition := range int32(8) {
		for _, cluster := range []string{"", "MkU3OEVBNTcwNTJENDM2Qk"} {
			src := event.Source{Cluster: cluster, Topic: event.TopicID{1, 2, 3, 15: 255}, Partition: partition}
			fmt.Fprintf(&b, "dead %s -> %d\n", src, table.DeadShard(src))
		}
	}
	golden(t, "shards.txt", b.Bytes())
}

func shortID(id []byte) string {
	if len(id) > 16 {
		return fmt.Sprintf("%x..x%d", id[:2], len(id))
	}
	return "x" + hex.EncodeToString(id)
}

// TestGoldenVectorsSpread: the vectors would be of no use if all fell on one shard.
func TestGoldenVectorsSpread(t *testing.T) {
	data, err := os.ReadFile("testdata/golden/shards.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]int{}
	for scan := bufio.NewScanner(bytes.NewReader(data)); scan.Scan(); {
		for _, field := range strings.Fields(scan.Text()) {
			if _, shard, ok := strings.Cut(field, "="); ok {
				n, _ := strconv.Atoi(shard)
				seen[n]++
			}
		}
	}
	if len(seen) != 5 {
		t.Errorf("shards in the vectors: %v", seen)
	}
}

// FuzzRecord: whatever the bytes, no panic; what is taken is written so that it is read as the same; and
// what the fold takes keeps the rules.
func FuzzRecord(f *testing.F) {
	data, err := os.ReadFile("testdata/golden/chain.ndjson")
	if err != nil {
		f.Fatal(err)
	}
	table := Empty(testHasher())
	var tables []*Table
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		f.Add(line)
		tables = append(tables, table)
		if table, err = table.read(line); err != nil {
			f.Fatal(err)
		}
	}
	f.Add([]byte(`{"format":2}`))
	f.Add([]byte(`{"format":1,"version":1,"kind":"genesis","nonce":"x","time_ms":0,"genesis":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeRecord(b)
		if err != nil {
			return
		}
		again, err := r.Encode()
		if err != nil {
			t.Fatalf("decoded, but cannot be encoded: %v", err)
		}
		if back, err := DecodeRecord(again); err != nil {
			t.Fatalf("encoded, but cannot be decoded: %v\n%s", err, again)
		} else if twice, _ := back.Encode(); !bytes.Equal(twice, again) {
			t.Fatalf("not the same after a round trip:\n%s\n%s", again, twice)
		}
		for _, before := range tables {
			// As if it stood at this place of the chain.
			r.Version, r.Prev = before.version+1, nil
			if before.version > 0 {
				r.Prev = &before.link
			}
			next, err := before.Apply(r, again)
			if err != nil {
				if !errors.Is(err, ErrRefused) {
					t.Fatalf("not a refusal: %v", err)
				}
				continue
			}
			checkStep(t, before, next)
		}
	})
}

// checkStep holds the rules between a version and the next one.
func checkStep(t *testing.T, before, next *Table) {
	if next.horizon < before.horizon || next.shards < before.shards {
		t.Fatalf("horizon or shards fell: %+v", next)
	}
	for _, name := range []event.TenantID{"acme", "globex", "hooli"} {
		for _, ts := range []event.Timestamp{Beginning, stamp(t0), before.horizon - 1} {
			a, ok := before.Shard(name, ts, 12345)
			if !ok || before.version == 0 {
				continue
			}
			if b, _ := next.Shard(name, ts, 12345); a != b {
				t.Fatalf("%s at %s moved from %d to %d", name, ts, a, b)
			}
			if va, vb := before.Admits(name, ts), next.Admits(name, ts); va != Ask && va != vb {
				t.Fatalf("%s at %s: %s and then %s", name, ts, va, vb)
			}
		}
	}
	body, err := next.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeCheckpoint(next.hasher, body)
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	if again, _ := back.Checkpoint(); !bytes.Equal(body, again) {
		t.Fatalf("not the same after a checkpoint:\n%s\n%s", body, again)
	}
}

// FuzzCheckpoint: whatever the table's bytes, no panic, and what is taken is its own image.
func FuzzCheckpoint(f *testing.F) {
	whole, err := os.ReadFile("testdata/golden/checkpoint.json")
	if err != nil {
		f.Fatal(err)
	}
	_, body, _ := bytes.Cut(whole, []byte(`"table":`))
	f.Add(bytes.TrimSuffix(body, []byte("}")))
	f.Fuzz(func(t *testing.T, table []byte) {
		b := fmt.Appendf(nil, `{"format":1,"version":7,"link":{"nonce":"n","sum":"s"},"sum":%q,"table":%s}`, objstore.Sum(table), table)
		decoded, err := DecodeCheckpoint(testHasher(), b)
		if err != nil {
			return
		}
		ts := decoded.horizon - 1
		if decoded.horizon > Beginning {
			decoded.Shard("acme", ts, 7)
			decoded.Admits("acme", ts)
			decoded.Mapping("orders", ts)
			decoded.DeadShard(event.Source{})
			decoded.ShardsOf("acme", Beginning, ts)
		}
		first, err := decoded.Checkpoint()
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeCheckpoint(testHasher(), first)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if second, _ := back.Checkpoint(); !bytes.Equal(first, second) {
			t.Fatalf("not its own image:\n%s\n%s", first, second)
		}
	})
}
