package shardlog

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

// goldenRecords are one record of each kind as they stand in stores since format
// 1: they must be read for ever.
func goldenRecords(t testing.TB) [][]byte {
	b, err := os.ReadFile("testdata/records-format-1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(b), []byte("\n"))
}

func TestGoldenRecords(t *testing.T) {
	kinds := map[Kind]bool{}
	s := NewState(0)
	for i, b := range goldenRecords(t) {
		r, err := Decode(b)
		if err != nil {
			t.Fatalf("record %d: %v", i+1, err)
		}
		again, err := Encode(&r)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("record %d: encoded as\n%s\nnot\n%s (%v)", i+1, again, b, err)
		}
		if err := s.Apply(r, b); err != nil {
			t.Fatal(err)
		}
		kinds[r.Kind] = true
	}
	if len(kinds) != 10 {
		t.Errorf("%d kinds among the golden records, not 10: %v", len(kinds), kinds)
	}
	checkIndexes(t, s)
}

func TestDecodeIsStrict(t *testing.T) {
	good := `{"format":1,"shard":0,"position":1,"kind":"release","nonce":"n","time_ms":0,"release":{"epoch":1}}`
	if _, err := Decode([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"unknown field":      strings.Replace(good, `"nonce"`, `"color":1,"nonce"`, 1),
		"other case":         strings.Replace(good, `"nonce"`, `"Nonce"`, 1),
		"repeated field":     strings.Replace(good, `"nonce":"n"`, `"nonce":"m","nonce":"n"`, 1),
		"white space":        " " + good,
		"bytes behind":       good + "\n",
		"another record":     good + good,
		"no body":            strings.Replace(good, `,"release":{"epoch":1}`, ``, 1),
		"wrong body":         strings.Replace(good, `"release":{`, `"claim":{"owner":"","incarnation":"",`, 1),
		"two bodies":         strings.Replace(good, `"release":{`, `"merge_abort":{"job":""},"release":{`, 1),
		"unknown kind":       strings.Replace(good, `"kind":"release"`, `"kind":"party"`, 1),
		"reserved kind":      strings.Replace(good, `"kind":"release"`, `"kind":"rewrite"`, 1),
		"no format":          strings.Replace(good, `"format":1,`, ``, 1),
		"format 0":           strings.Replace(good, `"format":1,`, `"format":0,`, 1),
		"float":              strings.Replace(good, `"epoch":1`, `"epoch":1.0`, 1),
		"negative":           strings.Replace(good, `"epoch":1`, `"epoch":-1`, 1),
		"too large a number": strings.Replace(good, `"epoch":1`, `"epoch":99999999999999999999`, 1),
		"cut":                good[:len(good)-1],
		"empty":              "",
		"null":               "null",
		"no UTF-8":           strings.Replace(good, `"n"`, "\"\xff\"", 1),
	} {
		if r, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%s: read as %s", name, r.Line())
		} else if errors.Is(err, ErrNewerFormat) {
			t.Errorf("%s: taken for a newer format", name)
		}
	}
	newer := strings.Replace(good, `"format":1,`, `"format":2,"color":1,`, 1)
	if _, err := Decode([]byte(newer)); !errors.Is(err, ErrNewerFormat) {
		t.Errorf("newer format: %v", err)
	}
}

// What cannot be written so that it is read again is not written; a column range
// that is no text is left out.
func TestEncodeRefusesWhatItCannotReadBack(t *testing.T) {
	r := Record{Format: 1, Position: 1, Kind: KindMergeAbort, Nonce: "n", MergeAbort: &MergeAbort{Job: "\xff"}}
	if b, err := Encode(&r); err == nil {
		t.Errorf("encoded: %s", b)
	}
	r.MergeAbort.Job = `\ufffd and ` + "\ufffd"
	b, err := Encode(&r)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := Decode(b); err != nil || back.MergeAbort.Job != r.MergeAbort.Job {
		t.Errorf("%v, %v", back, err)
	}
	ranges := []ColumnRange{{Column: "a", Min: "x"}, {Column: "b", Min: "\xc3"}}
	r = Record{Kind: KindAppend, Append: &Append{Fragments: []Fragment{{Ranges: ranges}}}}
	r.tidy()
	if got := r.Append.Fragments[0].Ranges; len(got) != 1 || got[0].Column != "a" || len(ranges) != 2 || ranges[1].Column != "b" {
		t.Errorf("ranges %v of %v", got, ranges)
	}
}

func FuzzDecode(f *testing.F) {
	for _, b := range goldenRecords(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			return
		}
		_ = r.Line()
		again, err := Encode(&r)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("read, but written as\n%s\n(%v)", again, err)
		}
		// Whatever it says, the fold takes it whole or not at all, and does not panic.
		s := NewState(r.Shard)
		s.small.Position, s.small.Epoch, s.small.Owner = r.Position-1, 1, &Claim{}
		if r.Prev != nil {
			s.small.Last = *r.Prev
		}
		before := wholeText(t, nil, s)
		if s.Apply(r, b) != nil && wholeText(t, nil, s) != before {
			t.Fatal("refused, but the state changed")
		}
		checkIndexes(t, s)
	})
}

func FuzzDecodeRoot(f *testing.F) {
	s := NewState(0)
	for _, b := range goldenRecords(f) {
		r, _ := Decode(b)
		if err := s.Apply(r, b); err != nil {
			f.Fatal(err)
		}
	}
	b, err := encodeRoot(&s.PlanCheckpoint().root)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRoot(b)
		if err == nil && (r.Format < 1 || r.Format > rootFormat) {
			t.Fatalf("format %d", r.Format)
		}
	})
}

func FuzzBitmap(f *testing.F) {
	set := NewIntake()
	set.AddRange(Source{}, 5, 100_000)
	set.Add(Source{}, 1<<40)
	f.Add(set.ToIntake()[0].Bitmap)
	f.Fuzz(func(t *testing.T, b []byte) {
		bm, err := readBitmap(b)
		if err != nil {
			return
		}
		set := NewIntake()
		set.of(Source{}).Or(bm)
		back := NewIntake()
		for _, piece := range pieces(set) {
			if err := back.Merge([]Intake{{piece.Source, piece.Bitmap}}); err != nil {
				t.Fatal(err)
			}
		}
		if !back.of(Source{}).Equals(bm) {
			t.Fatal("another bitmap comes back")
		}
	})
}

// A second key of the name counts, as it does where the whole text is read.
func TestFormatIsFound(t *testing.T) {
	for text, newer := range map[string]bool{
		`{"format":1,"kind":"claim"}`:             false,
		`{"kind":"claim","format":1}`:             false,
		`{"format":1,"owner":"\"format\":9"}`:     false,
		`{"format":1,"kind":"claim","format":99}`: true,
		`{"format":99,"kind":"claim"}`:            true,
	} {
		if err := checkFormat([]byte(text), Format); errors.Is(err, ErrNewerFormat) != newer || !newer && err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
