package objstore_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/togodb/togo/internal/objstore"
)

func TestOpenMetaMakesTheStoreOnce(t *testing.T) {
	s := objstore.NewMemory()
	var wg sync.WaitGroup
	metas := make([]objstore.Meta, 20)
	for i := range metas {
		wg.Go(func() {
			m, err := objstore.OpenMeta(t.Context(), s, objstore.MetaDefaults{IDBucketSeconds: int64(60 * (1 + i%2))})
			if err != nil {
				t.Error(err)
			}
			metas[i] = m
		})
	}
	wg.Wait()
	for _, m := range metas {
		if m != metas[0] {
			t.Fatalf("two stores in one: %+v and %+v", m, metas[0])
		}
	}
	m := metas[0]
	if m.Format != 1 || m.DataBucketSeconds != 3600 || m.MaxFuture != 10*time.Minute || m.MinTime != time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) {
		t.Fatalf("defaults: %+v", m)
	}
	other, err := objstore.OpenMeta(t.Context(), objstore.NewMemory(), objstore.MetaDefaults{})
	if err != nil || other.Seed == m.Seed || other.ID == m.ID {
		t.Fatalf("another store: %+v, %v", other, err)
	}
}

func TestOpenMetaUnderFaults(t *testing.T) {
	for name, rules := range map[string][]objstore.Rule{
		"lost answer":             {{Op: objstore.OpPutIfAbsent, Effect: objstore.FailAfter}},
		"refused, then taken":     {{Op: objstore.OpPutIfAbsent, Times: 2, Effect: objstore.FailBefore, Err: objstore.ErrConflict}},
		"lands before the retry":  {{Op: objstore.OpPutIfAbsent, Effect: objstore.LandLater, LandAfter: 2}},
		"lands before the read":   {{Op: objstore.OpPutIfAbsent, Effect: objstore.LandLater, LandAfter: 1}},
		"the first reads fail":    {{Op: objstore.OpGet, Times: 3, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable}},
		"the read after it fails": {{Op: objstore.OpGet, Skip: 1, Effect: objstore.FailBefore}},
	} {
		t.Run(name, func(t *testing.T) {
			f := objstore.NewFault(objstore.NewMemory(), rules...)
			m, err := objstore.OpenMeta(t.Context(), f, objstore.MetaDefaults{})
			if err != nil {
				t.Fatal(err)
			}
			again, err := objstore.OpenMeta(t.Context(), f.Inner(), objstore.MetaDefaults{})
			if err != nil || again != m {
				t.Fatalf("opened %+v, then %+v, %v", m, again, err)
			}
		})
	}
	down := objstore.NewFault(objstore.NewMemory(), objstore.Rule{Times: -1, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable})
	if _, err := objstore.OpenMeta(t.Context(), down, objstore.MetaDefaults{}); !errors.Is(err, objstore.ErrUnavailable) || down.Ops() > 20 {
		t.Fatalf("a store that is down: %v after %d operations", err, down.Ops())
	}
}

const goodMeta = `{
  "format": 1,
  "id": "00112233445566778899aabbccddeeff",
  "hash_seed": "0102030405060708090a0b0c0d0e0f10",
  "data_bucket_seconds": 3600,
  "id_bucket_seconds": 600,
  "min_time": "2000-01-01T00:00:00Z",
  "max_future_ms": 600000,
  "created": "2026-01-02T03:04:05Z"
}
`

// TestMetaGolden keeps the object's form: stores out there have it.
func TestMetaGolden(t *testing.T) {
	m, err := objstore.DecodeMeta([]byte(goodMeta))
	if err != nil {
		t.Fatal(err)
	}
	want := objstore.Meta{
		Format: 1, ID: "00112233445566778899aabbccddeeff", Seed: objstore.Seed{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		DataBucketSeconds: 3600, IDBucketSeconds: 600, MinTime: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		MaxFuture: 10 * time.Minute, Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	if m != want {
		t.Fatalf("decoded %+v, want %+v", m, want)
	}
	if got := string(objstore.EncodeMeta(m)); got != goodMeta {
		t.Fatalf("encoded\n%s\nwant\n%s", got, goodMeta)
	}
}

func TestMetaRefusals(t *testing.T) {
	for name, c := range map[string]struct{ old, new, message string }{
		"unknown field":     {`"format": 1,`, `"format": 1, "extra": true,`, `unknown field "extra"`},
		"no format":         {`"format": 1,`, ``, "no format"},
		"format 0":          {`"format": 1,`, `"format": 0,`, "no format"},
		"bucket over a day": {`3600`, `172800`, "data_bucket_seconds 172800 does not divide a day"},
		"uneven bucket":     {`: 600,`, `: 7,`, "id_bucket_seconds 7 does not divide a day"},
		"short seed":        {`0102`, `01`, "hash_seed"},
		"zero seed":         {`0102030405060708090a0b0c0d0e0f10`, strings.Repeat("0", 32), "hash_seed is zero"},
		"upper-case id":     {`aabb`, `AABB`, "lower-case"},
		"year 1":            {`2000-01-01T`, `0001-01-01T`, "64-bit nanoseconds"},
		"negative future":   {`600000`, `-1`, "negative"},
		"huge future":       {`600000`, `9223372036854775807`, "out of range"},
		"cut off":           {`"created": "2026-01-02T03:04:05Z"` + "\n}", ``, "unexpected end"},
		"trailing":          {"\n}\n", "\n}{}", "after top-level value"},
		"missing field":     {"\n  \"min_time\": \"2000-01-01T00:00:00Z\",", ``, "min_time"},
	} {
		t.Run(name, func(t *testing.T) {
			body := strings.Replace(goodMeta, c.old, c.new, 1)
			if body == goodMeta {
				t.Fatal("the case changes nothing")
			}
			s := objstore.NewMemory()
			if err := s.Put(t.Context(), objstore.MetaKey, []byte(body)); err != nil {
				t.Fatal(err)
			}
			if m, err := objstore.OpenMeta(t.Context(), s, objstore.MetaDefaults{}); err == nil || !strings.Contains(err.Error(), c.message) {
				t.Fatalf("%+v, error %v; want one with %q", m, err, c.message)
			}
		})
	}
	newer := `{"format": 2, "what": {"we": "do not know"}}`
	if _, err := objstore.DecodeMeta([]byte(newer)); !errors.Is(err, objstore.ErrNewerFormat) || !strings.Contains(err.Error(), "was written by a newer Togo; upgrade") {
		t.Fatalf("a newer format: %v", err)
	}
	if _, err := objstore.OpenMeta(t.Context(), objstore.NewMemory(), objstore.MetaDefaults{IDBucketSeconds: 11}); err == nil {
		t.Fatal("a store with 11-second buckets was made")
	}
}

func FuzzDecodeMeta(f *testing.F) {
	f.Add([]byte(goodMeta))
	f.Add([]byte(`{"format": 2}`))
	f.Add([]byte(`{"format": 1, "format": 9e9}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := objstore.DecodeMeta(body)
		if err != nil {
			return
		}
		again, err := objstore.DecodeMeta(objstore.EncodeMeta(m))
		if err != nil || again != m {
			t.Fatalf("%+v comes back as %+v, %v", m, again, err)
		}
	})
}

// FuzzValidateKey compares the rule with what a file system does: a key that is
// taken names one file below the root, and comes back from a listing as it was.
func FuzzValidateKey(f *testing.F) {
	for _, key := range []string{"a", "a/b", "../a", "a//b", "a/", ".", "..", ".tmp/x", "a\x00", "é", "a\\b", strings.Repeat("x", 256)} {
		f.Add(key)
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, key string) {
		d, err := objstore.OpenDir(root)
		if err != nil {
			t.Fatal(err)
		}
		err = d.PutIfAbsent(t.Context(), key, []byte(key))
		if (err == nil) != (objstore.ValidateKey(key) == nil) {
			t.Fatalf("key %q: the directory says %v", key, err)
		}
		if err != nil {
			return
		}
		got, err := d.Get(t.Context(), key)
		if err != nil || !bytes.Equal(got, []byte(key)) || bodies(t, d) != key+"="+key {
			t.Fatalf("key %q: %q, %v; listed %q", key, got, err, bodies(t, d))
		}
		if err := d.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
			t.Fatalf("key %q left %v, %v", key, entries, err)
		}
	})
}
