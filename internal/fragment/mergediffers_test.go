package fragment

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestAMergeThatCopiesWronglyIsRefused(t *testing.T) {
	s, spec := mergeFiles(t, 4, mergeCase{files: 4, rows: 300, nanos: true})
	// swapped exchanges the first two runs of equal length that follow each other.
	swapped := func(runs []run) []run {
		runs = slices.Clone(runs)
		for i := range len(runs) - 1 {
			if runs[i].rows == runs[i+1].rows {
				runs[i], runs[i+1] = runs[i+1], runs[i]
				return runs
			}
		}
		t.Fatal("no runs to exchange")
		return nil
	}
	column := func(m *merger, name string) int {
		return slices.IndexFunc(m.columns, func(c mergeColumn) bool { return c.Name == name })
	}
	for name, runsOf := range map[string]func(m *merger, c int, runs []run) []run{
		"nothing": nil,
		"ids of other rows": func(m *merger, c int, runs []run) []run {
			if c == column(m, colID) {
				return swapped(runs)
			}
			return runs
		},
		"an attribute of other rows": func(m *merger, c int, runs []run) []run {
			if c == column(m, "x") {
				return swapped(runs)
			}
			return runs
		},
		"numbers of other rows": func(m *merger, c int, runs []run) []run {
			if c == column(m, colSourceOffset) {
				return swapped(runs)
			}
			return runs
		},
		"a run left out": func(m *merger, c int, runs []run) []run { return runs[1:] },
		"a row twice":    func(m *merger, c int, runs []run) []run { return append([]run{runs[0]}, runs[:len(runs)-1]...) },
		"a row left out of one column": func(m *merger, c int, runs []run) []run {
			if c == column(m, colSeq) {
				return runs[:len(runs)-1]
			}
			return runs
		},
		"a column lost": func(m *merger, c int, runs []run) []run {
			if c == column(m, "service") {
				m.inputs[1].streams[c] = nil
			}
			return runs
		},
		"rows of another input": func(m *merger, c int, runs []run) []run {
			if c == column(m, "x") {
				runs = slices.Clone(runs)
				runs[0].in = m.inputs[(runs[0].in.n+1)%len(m.inputs)]
			}
			return runs
		},
	} {
		m, err := newMerger(t.Context(), s, s.inputs, spec, new(outputs).create)
		if err != nil {
			t.Fatal(err)
		}
		if runsOf != nil {
			m.runsOf = func(column int, runs []run) []run { return runsOf(m, column, runs) }
		}
		if err = m.merge(); err == nil {
			err = m.account()
		}
		if runsOf == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if !errors.Is(err, ErrMergeDiffers) || !strings.Contains(err.Error(), "input-") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnOrderThatIsNotTheRowsIsRefused(t *testing.T) {
	s, spec := mergeFiles(t, 4, mergeCase{files: 4, rows: 300, nanos: true})
	for name, of := range map[string]func(order []int32) []int32{
		"nothing":    func(order []int32) []int32 { return order },
		"a row more": func(order []int32) []int32 { return append(slices.Clone(order), order[0]) },
		"a row less": func(order []int32) []int32 { return order[1:] },
		"two exchanged": func(order []int32) []int32 {
			order = slices.Clone(order)
			order[0], order[len(order)-1] = order[len(order)-1], order[0]
			return order
		},
		"one twice": func(order []int32) []int32 {
			order = slices.Clone(order)
			order[0] = order[1]
			return order
		},
	} {
		m, err := newMerger(t.Context(), s, s.inputs, spec, new(outputs).create)
		if err != nil {
			t.Fatal(err)
		}
		m.orderOf = func(column int, order []int32) []int32 {
			if m.columns[column].Name == colSourceOffset {
				return of(order)
			}
			return order
		}
		if err = m.merge(); err == nil {
			err = m.account()
		}
		if (err == nil) != (name == "nothing") || err != nil && !errors.Is(err, ErrMergeDiffers) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Damage of an input is an error that names it, or changes nothing.
func TestDamagedInputsOfAMerge(t *testing.T) {
	s, spec := mergeFiles(t, 9, mergeCase{files: 3, rows: 40})
	var whole outputs
	if _, err := Merge(t.Context(), s, s.inputs, spec, whole.create); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 9))
	sound := s.bodies["input-1"]
	found, unseen := 0, 0
	for at := r.IntN(7); at < len(sound); at += 1 + r.IntN(13) {
		body := bytes.Clone(sound)
		body[at] ^= byte(1 + r.IntN(255))
		s.bodies["input-1"] = body
		var out outputs
		_, err := Merge(t.Context(), s, s.inputs, spec, out.create)
		var of *InputError
		switch {
		case err == nil:
			unseen++
			if !bytes.Equal(out[0].Bytes(), whole[0].Bytes()) {
				t.Fatalf("byte %d of %d: another result", at, len(sound))
			}
		case !errors.As(err, &of) || of.Key != "input-1" || !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewerFormat):
			t.Fatalf("byte %d of %d: %v", at, len(sound), err)
		default:
			found++
		}
	}
	if found < 4*unseen { // indexes and Bloom filters are not read
		t.Errorf("%d damages found, %d not", found, unseen)
	}
	for n := 0; n < len(sound); n += 1 + len(sound)/50 {
		s.bodies["input-1"] = sound[:n]
		if _, err := Merge(t.Context(), s, s.inputs, spec, new(outputs).create); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("an input cut to %d bytes: %v", n, err)
		}
	}
}
