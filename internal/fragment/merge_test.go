package fragment

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// checkMerge merges and compares with a sort of all rows.
func checkMerge(t testing.TB, s *mergeStore, spec MergeSpec) (*Merged, outputs) {
	t.Helper()
	want, below := expected(t, s, spec)
	var out outputs
	m, err := Merge(t.Context(), s, s.inputs, spec, out.create)
	if err != nil {
		t.Fatal(err)
	}
	if m.RowsBelow != below || m.RowsIn != int64(len(want))+below || len(m.Files) != len(out) {
		t.Fatalf("%d rows in, %d below, %d files of %d; want %d and %d", m.RowsIn, m.RowsBelow, len(m.Files), len(out), int64(len(want))+below, below)
	}
	paths := fullSortKey(spec.SortKey)
	if spec.Kind == DeadLetters {
		paths = fullSortKey(nil)
	}
	var got []flatRow
	for i, f := range m.Files {
		body := out[i].Bytes()
		rows := flatRows(t, body, paths[:len(paths)-1])
		checkFacts(t, &f, body, rows, spec, keyPaths(paths, spec.KeyColumns))
		got = append(got, rows...)
	}
	for i := range want {
		if i >= len(got) || got[i].text != want[i].text {
			t.Fatalf("row %d of %d (%d want)\nis   %.2000s\nwant %.2000s", i, len(got), len(want), got[min(i, len(got)-1)].text, want[i].text)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	return m, out
}

// checkFacts compares what a merge says of a file with the file.
func checkFacts(t testing.TB, f *MergedFile, body []byte, rows []flatRow, spec MergeSpec, lead []string) {
	t.Helper()
	if f.Bytes != int64(len(body)) || f.Sum != objstore.Sum(body) || f.Rows != int64(len(rows)) {
		t.Fatalf("%+v of %d bytes and %d rows", f, len(body), len(rows))
	}
	least, largest := rows[0].time, rows[0].time
	for _, r := range rows {
		least, largest = min(least, r.time), max(largest, r.time)
	}
	first, last := rows[0].key, rows[len(rows)-1].key
	if f.Min != least || f.Max != largest || spec.Kind == Events && (f.KeyMin != string(appendSpan(nil, first[:len(lead)])) || f.KeyMax != string(appendSpan(nil, last[:len(lead)]))) {
		t.Fatalf("%+v; times %d to %d, keys %+v to %+v", f, least, largest, first, last)
	}
	r, err := OpenBytes("k", body)
	if err != nil {
		t.Fatal(err)
	}
	low, high := uint64(math.MaxUint64), uint64(0)
	for m, err := range r.Meta() {
		if err != nil {
			t.Fatal(err)
		}
		low, high = min(low, m.Seq), max(high, m.Seq)
	}
	info := r.Info()
	if f.SeqMin != low || f.SeqMax != high || info.Seq != high || info.Tenant != spec.Tenant || info.Kind != spec.Kind || info.Bucket != spec.Bucket {
		t.Fatalf("%+v, %+v; sequence numbers %d to %d", f, info, low, high)
	}
}

func TestMergeIsASortOfAllRows(t *testing.T) {
	for name, c := range map[string]mergeCase{
		"one":     {files: 1, rows: 500},
		"few":     {files: 3, rows: 400, nanos: true},
		"keys":    {files: 5, rows: 300, nanos: true, key: []string{"c", "x", "nowhere", "service"}},
		"time":    {files: 4, rows: 300, key: []string{"timestamp"}},
		"wide":    {files: 8, rows: 60, wide: 200},
		"singles": {files: 100, rows: 1, nanos: true},
		"many":    {files: 100, rows: 20},
		"letters": {files: 6, rows: 100, letters: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3) {
				s, spec := mergeFiles(t, seed, c)
				m, _ := checkMerge(t, s, spec)
				if len(m.Files) != 1 {
					t.Errorf("%d files", len(m.Files))
				}
				spec.MemoryBytes = 50_000 // nothing may be held, and row groups are small
				checkMerge(t, s, spec)
				spec.Parallel = 4
				checkMerge(t, s, spec)
				spec.Floor = 1_700_000_000_000_000_000 + event.Timestamp(c.rows/2)*1000
				checkMerge(t, s, spec)
				spec.Floor = math.MaxInt64
				if m, _ := checkMerge(t, s, spec); len(m.Files) != 0 || m.RowsBelow == 0 {
					t.Errorf("%+v", m)
				}
			}
		})
	}
}

func TestMergeOfMergesIsTheMerge(t *testing.T) {
	s, spec := mergeFiles(t, 5, mergeCase{files: 9, rows: 200, nanos: true, wide: 10})
	want, _ := expected(t, s, spec)
	next := &mergeStore{}
	for i := 0; i < 9; i += 3 {
		part := &mergeStore{bodies: s.bodies, inputs: s.inputs[i : i+3]}
		_, out := checkMerge(t, part, spec)
		for _, o := range out {
			next.add(o.Bytes())
		}
	}
	checkMerge(t, next, spec)
	got, _ := expected(t, next, spec)
	for i := range want {
		if got[i].text != want[i].text {
			t.Fatalf("row %d is %s, want %s", i, got[i].text, want[i].text)
		}
	}
}

func TestOutputsAreCutWhereTheKeyChanges(t *testing.T) {
	s, spec := mergeFiles(t, 6, mergeCase{files: 6, rows: 3000})
	for _, columns := range []int{0, 1} {
		spec.KeyColumns, spec.TargetBytes, spec.MemoryBytes = columns, 40_000, 200_000
		m, _ := checkMerge(t, s, spec)
		if len(m.Files) < 3 {
			t.Errorf("%d files", len(m.Files))
		}
		equal := 0
		for i, f := range m.Files {
			if f.Bytes < spec.TargetBytes/4 {
				t.Errorf("file %d of %d has %d bytes", i, len(m.Files), f.Bytes)
			}
			if i > 0 && f.KeyMin < m.Files[i-1].KeyMax {
				t.Errorf("file %d begins with %q, the one before ends with %q", i, f.KeyMin, m.Files[i-1].KeyMax)
			}
			if i > 0 && f.KeyMin == m.Files[i-1].KeyMax && m.Files[i-1].Bytes < spec.TargetBytes*5/4 {
				equal++
			}
		}
		if columns == 0 && equal > 0 {
			t.Errorf("%d of %d files begin with the key that the one before ends with", equal, len(m.Files))
		}
	}
}

func TestAnInputOfAnotherSortKeyIsSortedAnew(t *testing.T) {
	s, spec := mergeFiles(t, 8, mergeCase{files: 1, rows: 3000, nanos: true, key: []string{"c"}})
	spec.SortKey = []string{"x", "service"}
	for _, memory := range []int64{0, 100_000} {
		for _, floor := range []event.Timestamp{math.MinInt64, 1_700_000_000_001_000_000} {
			spec.MemoryBytes, spec.Floor = memory, floor
			want, below := expected(t, s, spec)
			var out outputs
			m, err := Merge(t.Context(), s, s.inputs, spec, out.create)
			if err != nil {
				t.Fatal(err)
			}
			next := &mergeStore{}
			for i, f := range m.Files {
				rows := flatRows(t, out[i].Bytes(), spec.SortKey)
				checkFacts(t, &f, out[i].Bytes(), rows, spec, spec.SortKey)
				if !slices.IsSortedFunc(rows, func(a, b flatRow) int { return a.compare(&b) }) || f.SortKey != "x,service,timestamp" {
					t.Errorf("file %d of sort key %q is not sorted", i, f.SortKey)
				}
				next.add(out[i].Bytes())
			}
			if m.RowsIn != int64(len(want))+below || m.RowsBelow != below || memory > 0 && len(m.Files) < 3 {
				t.Errorf("%d files, %d rows of %d, %d below of %d", len(m.Files), m.RowsIn, len(want), m.RowsBelow, below)
			}
			checkMerge(t, next, spec)
			got, _ := expected(t, next, spec)
			texts := func(rows []flatRow) (out []string) {
				for _, r := range rows {
					out = append(out, r.text)
				}
				slices.Sort(out)
				return out
			}
			if !slices.Equal(texts(got), texts(want)) {
				t.Error("other rows")
			}
		}
	}
	two := &mergeStore{bodies: s.bodies, inputs: []MergeInput{s.inputs[0], s.inputs[0]}}
	if _, err := Merge(t.Context(), two, two.inputs, spec, new(outputs).create); err == nil || !strings.Contains(err.Error(), "sort each anew") {
		t.Errorf("two inputs of another sort key: %v", err)
	}
}

func TestMergeNamesTheInputThatCannotBeRead(t *testing.T) {
	s, spec := mergeFiles(t, 2, mergeCase{files: 3, rows: 50})
	fails := func(what string, is error, key string) {
		t.Helper()
		for _, spec.MemoryBytes = range []int64{0, 1} { // read whole, and by ranges
			for _, spec.Parallel = range []int{0, 4} {
				_, err := Merge(t.Context(), s, s.inputs, spec, new(outputs).create)
				var of *InputError
				if !errors.As(err, &of) || of.Key != key || !errors.Is(err, is) || is != ErrCorrupt && errors.Is(err, ErrCorrupt) {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
	}
	s.inputs[1].Key = "missing"
	fails("missing", objstore.ErrNotFound, "missing")
	s.failAt = s.reads + 2
	s.inputs[1].Key = "input-1"
	for _, spec.MemoryBytes = range []int64{0, 1} {
		_, err := Merge(t.Context(), s, s.inputs, spec, new(outputs).create)
		var of *InputError
		if !errors.As(err, &of) || !errors.Is(err, errStore) || errors.Is(err, ErrCorrupt) {
			t.Errorf("the store fails: %v", err)
		}
		s.failAt = s.reads + 20
	}
	s.failAt = 0
	s.inputs[1].Key = "input-1"
	spec.Bucket++
	fails("another bucket", ErrCorrupt, "input-0")
	spec.Bucket--
	body := bytes.Replace(s.bodies["input-2"], []byte(metaFormat+"\x18\x011"), []byte(metaFormat+"\x18\x012"), 1)
	fixFooterSum(body)
	s.bodies["input-2"] = body
	fails("newer", ErrNewerFormat, "input-2")
}
