package expr

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("why")
	cancel(why)
	in, _ := shapes(rand.New(rand.NewPCG(1, 1)), 4)
	for _, text := range []string{"i + 1", "b AND i = k", "t IN (s, t)", "CASE WHEN i = 1 THEN 2 END"} {
		if _, err := bind(t, wide, text).Eval(&Scratch{Ctx: ctx}, in); err != why {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestScratch: texts are bounded from Begin to Begin, and what is kept by dictionary entry is bounded over all.
func TestScratch(t *testing.T) {
	env := &Env{Functions: Library{"large": {large}}}
	e, err := Bind(parse(t, "large(s)"), wide, env)
	if err != nil {
		t.Fatal(err)
	}
	entries := func(n int) *vec.Batch {
		v := vec.New(vec.Text, n)
		for i := range n {
			v.Texts[i] = string(rune('a' + i%26))
			if i >= 26 {
				v.Texts[i] = "" // costs nothing
			}
		}
		in := &vec.Batch{Len: n, Cols: make([]*vec.Vector, len(wide.columns))}
		in.Cols[8] = encode(v)
		return in
	}
	s := &Scratch{}
	few, many := entries(10), entries(26)
	for range 20 {
		s.Begin()
		if _, err := e.Eval(s, few); err != nil {
			t.Fatal(err)
		}
	}
	if s.kept == 0 || len(s.Memo) != 1 {
		t.Errorf("%d bytes of %d are kept", s.kept, len(s.Memo))
	}
	s.Begin()
	for _, in := range []*vec.Batch{many, many} { // beyond maxKept
		if _, err := e.Eval(s, in); err != nil {
			t.Fatal(err)
		}
	}
	if s.kept != 0 || len(s.Memo) != 0 {
		t.Errorf("%d bytes of %d are kept", s.kept, len(s.Memo))
	}
	s.Begin()
	for range maxMade >> 20 / 26 {
		if _, err = e.Eval(s, many); err != nil {
			t.Fatal(err)
		}
	}
	if _, err = e.Eval(s, many); fail.CodeOf(err) != fail.TooLarge {
		t.Errorf("texts without end: %v", err)
	}
}

// large makes a million letters of one.
var large = &Func{Name: "large", Args: []vec.Type{vec.Text}, Out: vec.Text,
	Eval: func(s *Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
		out := vec.New(vec.Text, n)
		for i := range n {
			out.Texts[i] = strings.Repeat(args[0].Texts[i], 1<<20)
			if err := s.Make(len(out.Texts[i])); err != nil {
				return nil, err
			}
		}
		return out, nil
	}}

// TestConstantsAreBounded: what a query computes of constants alone is bounded over all of them.
func TestConstantsAreBounded(t *testing.T) {
	env := &Env{Functions: Library{"large": {large}}}
	for i := range 100 {
		e, err := Bind(parse(t, "large('a')"), wide, env)
		if err != nil {
			t.Fatal(err)
		}
		if _, constant := e.(*Const); constant != (i < maxFolded>>20) {
			t.Fatalf("%d: constant %v", i, constant)
		}
		if v, err := e.Eval(&Scratch{}, &vec.Batch{Len: 1}); err != nil || len(v.At(0).Text) != 1<<20 {
			t.Fatalf("%d: %v", i, err)
		}
	}
}
