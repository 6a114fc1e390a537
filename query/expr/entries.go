package expr

import (
	"github.com/togodb/togo/query/vec"
)

// wholeDictionary is up to how many entries a dictionary is computed at once, where all of them succeed: its
// result is then coded too.
const wholeDictionary = 1 << 12

// entries are an operator's results for the entries of the dictionary that it saw last.
type entries struct {
	dict   *vec.Vector
	whole  bool        // all are computed, none failed
	out    *vec.Vector // by entry, flat
	coded  *vec.Vector // distinct values of out, where the result is coded
	codes  []int32     // by entry, into coded
	anyNul bool
	done   []bool // by entry, unless whole
	bytes  int    // of text
}

// byEntry computes the operator for the entries of the only operand that is not constant.
func (o *op) byEntry(s *Scratch, args []*vec.Vector, varying int) (*vec.Vector, error) {
	v := args[varying]
	if v.Dict.Len == 0 {
		return vec.AllNull(o.t, v.Len), nil
	}
	e, _ := s.Memo[o].(*entries)
	if e == nil || e.dict != v.Dict {
		s.drop(o, e)
		e = o.newEntries(s, args, varying)
		s.keep(o, e, 0)
	}
	if !e.whole {
		before := e.bytes
		if err := o.addEntries(s, e, args, varying); err != nil {
			return nil, err
		}
		s.keep(o, e, before)
	}
	return e.rows(v), nil
}

// keep puts results, which had some bytes before, into Memo, if there is room for them.
func (s *Scratch) keep(o *op, e *entries, before int) {
	s.kept += e.bytes - before
	if s.kept > maxKept {
		s.drop(o, e)
		return
	}
	if s.Memo == nil {
		s.Memo = map[any]any{}
	}
	s.Memo[o] = e
}

func (s *Scratch) drop(o *op, e *entries) {
	if e != nil {
		s.kept -= e.bytes
		delete(s.Memo, o)
	}
}

// size is the bytes of a vector's texts.
func size(v *vec.Vector) int {
	n := 0
	for _, t := range v.Texts {
		n += len(t)
	}
	return n
}

// newEntries tries all entries at once.
func (o *op) newEntries(s *Scratch, args []*vec.Vector, varying int) *entries {
	dict := args[varying].Dict
	e := &entries{dict: dict}
	if dict.Len <= wholeDictionary {
		made := s.made
		out, err := o.run(s, replace(args, varying, dict), dict.Len, nil)
		if err == nil {
			e.out, e.whole, e.anyNul, e.bytes = out.Flat(), true, out.Nulls != nil, size(out)
			if o.t.HasTexts() {
				e.coded, e.codes = distinct(e.out)
			}
			return e
		}
		s.made = made // an entry that failed may be one that no row has
	}
	e.out = vec.New(o.t, dict.Len)
	e.done = make([]bool, dict.Len)
	return e
}

func replace(args []*vec.Vector, at int, v *vec.Vector) []*vec.Vector {
	out := make([]*vec.Vector, len(args))
	for i, a := range args {
		c := *a // a constant of as many rows
		c.Len = v.Len
		out[i] = &c
	}
	out[at] = v
	return out
}

// addEntries computes those that the batch's rows have and that are not there yet.
func (o *op) addEntries(s *Scratch, e *entries, args []*vec.Vector, varying int) error {
	v := args[varying]
	var missing []int32
	for i, c := range v.Codes {
		if !e.done[c] && (v.Nulls == nil || !v.Nulls[i]) {
			e.done[c] = true
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	out, err := o.run(s, replace(args, varying, v.Dict.Gather(missing)), len(missing), nil)
	if err != nil {
		for _, c := range missing {
			e.done[c] = false
		}
		return err
	}
	e.bytes += size(out)
	e.anyNul = e.anyNul || out.MayHaveNulls()
	e.out.Scatter(out, missing)
	return nil
}

// rows gives the results by row.
func (e *entries) rows(v *vec.Vector) *vec.Vector {
	var out *vec.Vector
	if e.coded != nil {
		out = &vec.Vector{Type: e.coded.Type, Len: v.Len, Dict: e.coded, Codes: make([]int32, v.Len)}
		for i, c := range v.Codes {
			out.Codes[i] = e.codes[c]
		}
	} else {
		out = e.out.Gather(v.Codes)
	}
	if !e.anyNul {
		out.Nulls = v.Nulls
		return out
	}
	nulls := make([]bool, v.Len)
	for i, c := range v.Codes {
		nulls[i] = e.out.Nulls != nil && e.out.Nulls[c] || v.Nulls != nil && v.Nulls[i]
	}
	out.Nulls = nulls
	return out
}

// distinct gives a dictionary of a flat vector's values, and its codes.
func distinct(v *vec.Vector) (*vec.Vector, []int32) {
	dict := &vec.Vector{Type: v.Type}
	codes := make([]int32, v.Len)
	seen := make(map[string]int32, v.Len)
	for i, text := range v.Texts {
		if v.IsNull(i) {
			continue
		}
		code, ok := seen[text]
		if !ok {
			code = int32(len(dict.Texts))
			seen[text] = code
			dict.Texts = append(dict.Texts, text)
		}
		codes[i] = code
	}
	dict.Len = len(dict.Texts)
	return dict, codes
}
