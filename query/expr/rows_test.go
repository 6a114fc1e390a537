package expr

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

var wide = &table{
	columns: []*Column{{0, "i", vec.Int}, {1, "d", vec.Double}, {2, "t", vec.Text}, {3, "b", vec.Bool}, {4, "ts", vec.TimestampTZ},
		{5, "day", vec.Date}, {6, "j", vec.JSON}, {7, "k", vec.Int}, {8, "s", vec.Text}},
	mixed: map[string]*Mixed{
		"m": {"m", []*Column{{0, "i", vec.Int}, {2, "i@string", vec.Text}, {3, "i@boolean", vec.Bool}}},
		"n": {"n", []*Column{{1, "d", vec.Double}, {7, "d@int64", vec.Int}}},
	},
}

// some gives values of a type that meet each other often.
func some(r *rand.Rand, t vec.Type) vec.Value {
	v := vec.Value{Type: t}
	if r.IntN(5) == 0 {
		return vec.Value{}
	}
	switch t {
	case vec.Bool:
		v.Int = r.Int64N(2)
	case vec.Int:
		v.Int = []int64{0, 1, 2, 3, 5, -1, 7, 100, math.MaxInt64, math.MinInt64}[r.IntN(10)]
	case vec.Double:
		v.Double = []float64{0, 1, 2, 2.5, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, math.Copysign(0, -1)}[r.IntN(10)]
	case vec.Text:
		v.Text = []string{"", "a", "ab", "abc", "b", "B", "é", "12", "x_y", "2026-01-01", "7", "aXb"}[r.IntN(12)]
	case vec.TimestampTZ:
		v.Int = 1767225600e9 + r.Int64N(5)*3600e9
	case vec.Date:
		v.Int = 20454 + r.Int64N(4)
	case vec.JSON:
		v.Text = []string{"1", `"a"`, "null", "[1]", "true"}[r.IntN(5)]
	}
	return v
}

// text is a random expression of a type: I number, T text, B condition, S time. In its patterns these letters stand for parts, · for a blank.
func text(r *rand.Rand, kind byte, depth int) string {
	leaves := map[byte]string{'I': "i d k n m 1 2 0 2.5 NULL 7 -1", 'T': "t s m 'a' 'ab' '' NULL CAST(i·AS·VARCHAR) CAST(b·AS·VARCHAR) CAST(d·AS·VARCHAR)",
		'B': "b b true false NULL i=1 t='a'", 'S': "ts ts day TIMESTAMPTZ'2026-01-01T01:00:00Z' DATE'2026-01-02' NULL"}
	inner := map[byte]string{
		'I': "(I+I) (I·-·I) (I*I) (I/I) (I//I) (I%I) (-·I) CASE·WHEN·B·THEN·I·ELSE·I·END coalesce(I,I) nullif(I,I) greatest(I,I,I) CASE·I·WHEN·I·THEN·I·WHEN·I·THEN·I·END if(B,I,I) CASE·WHEN·B·THEN·I·WHEN·B·THEN·I·WHEN·B·THEN·I·ELSE·I·END halved(I) CAST(B·AS·BIGINT) TRY_CAST(T·AS·BIGINT) CAST(T·AS·DOUBLE)",
		'T': "CAST(I·AS·VARCHAR) CASE·WHEN·B·THEN·T·END coalesce(T,T) nullif(T,T) least(T,T) CAST(S·AS·VARCHAR)",
		'B': "(I=I) (I<I) (I>=I) (I<>I) (T=T) (T<T) (B·AND·B) (B·OR·B) (NOT·B) (I·IS·NULL) (T·IS·NOT·NULL) (B·IS·TRUE) (B·IS·NOT·FALSE) (I·IN·(1,2,I)) (T·IN·('a','b',NULL)) (T·NOT·IN·('a','ab','x','y','z','b')) (I·BETWEEN·I·AND·I) (S·BETWEEN·S·AND·S) (T·LIKE·'a%') (T·NOT·LIKE·'%b') (T·ILIKE·'A_%') (T·LIKE·T) (I·IS·DISTINCT·FROM·I) (T·IS·NOT·DISTINCT·FROM·T) (S<S) (S>=S) ((I,T)<(I,T)) ((I,S)>=(I,S)) ((I,T)=(I,T)) (i,t)>(2,'ab') (k,s)<=(i,t) CAST(T·AS·BOOLEAN)",
		'S': "(S+INTERVAL·1·HOUR) (S-INTERVAL·1·MONTH) coalesce(S,S) CASE·WHEN·B·THEN·S·END CAST(S·AS·DATE) TRY_CAST(T·AS·TIMESTAMPTZ)",
	}
	list := strings.Fields(leaves[kind])
	if depth > 0 {
		list = strings.Fields(inner[kind])
	}
	out := strings.ReplaceAll(list[r.IntN(len(list))], "·", " ")
	if depth == 0 {
		return out
	}
	var b strings.Builder
	for i := 0; i < len(out); i++ {
		c := out[i]
		alone := (i == 0 || !isWord(out[i-1])) && (i+1 == len(out) || !isWord(out[i+1]))
		if strings.IndexByte("ITBS", c) >= 0 && alone && !(i > 0 && out[i-1] == '\'') {
			b.WriteString(text(r, c, r.IntN(depth)))
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isWord(c byte) bool { return isLetter(c|0x20) || c >= '0' && c <= '9' || c == '\'' }

// shapes are the same rows as flat and coded vectors.
func shapes(r *rand.Rand, n int) (flat, coded *vec.Batch) {
	flat, coded = &vec.Batch{Len: n}, &vec.Batch{Len: n}
	for _, c := range wide.columns {
		values := make([]vec.Value, n)
		few := r.IntN(4) == 0 // a narrow range, for Judge
		one := some(r, c.T)
		for i := range values {
			if values[i] = one; !few {
				values[i] = some(r, c.T)
			}
		}
		v := vec.Of(c.T, values...)
		flat.Cols = append(flat.Cols, v)
		coded.Cols = append(coded.Cols, encode(v))
	}
	return flat, coded
}

func encode(v *vec.Vector) *vec.Vector {
	out := &vec.Vector{Type: v.Type, Len: v.Len, Codes: make([]int32, v.Len), Nulls: v.Nulls}
	var dict []vec.Value
	at := map[string]int32{}
	for i := range v.Len {
		val := v.At(i)
		if val.Type == vec.Null {
			continue
		}
		key := fmt.Sprintf("%v", val)
		code, ok := at[key]
		if !ok {
			code = int32(len(dict))
			at[key] = code
			dict = append(dict, val)
		}
		out.Codes[i] = code
	}
	out.Dict = vec.Of(v.Type, dict...)
	return out
}

func boundsOf(v *vec.Vector) Bounds {
	b := Bounds{Rows: int64(v.Len), Known: true}
	for i := range v.Len {
		val := v.At(i)
		switch {
		case val.Type == vec.Null:
			b.Nulls++
		case b.Min.Type == vec.Null:
			b.Min, b.Max = val, val
		default:
			if value.Compare(val, b.Min) < 0 {
				b.Min = val
			}
			if value.Compare(val, b.Max) > 0 {
				b.Max = val
			}
		}
	}
	return b
}

// results are an expression's values as texts, or its error.
func results(e Expr, s *Scratch, in *vec.Batch) ([]string, error) {
	v, err := e.Eval(s, in)
	if err != nil {
		return nil, err
	}
	if v.Len != in.Len {
		return nil, fmt.Errorf("%d rows of %d", v.Len, in.Len)
	}
	out := make([]string, v.Len)
	for i := range out {
		out[i] = value.Format(v.At(i))
	}
	return out, nil
}

// TestRandom evaluates random expressions over flat and coded vectors, and each row for itself: the answers are the same, a batch fails
// if a row of it does, and what Judge and Values say is so.
func TestRandom(t *testing.T) {
	var errors, nevers, always, valued, skipped int
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		kind := "BBBIT"[r.IntN(5)]
		q := text(r, kind, 1+r.IntN(3))
		e, err := Bind(parse(t, q), wide, testEnv)
		if err != nil {
			skipped++ // types that do not go together
			continue
		}
		flat, coded := shapes(r, 1+r.IntN(12))
		want := make([]string, flat.Len)
		var rowErr error
		for i := range want {
			row := &vec.Batch{Len: 1}
			for _, c := range flat.Cols {
				row.Cols = append(row.Cols, vec.Constant(c.Type, c.At(i), 1))
			}
			one, err := results(e, &Scratch{Ctx: context.Background()}, row)
			if err != nil {
				rowErr = err
				break
			}
			want[i] = one[0]
		}
		s := &Scratch{Ctx: context.Background()}
		_, other := shapes(r, 5)
		if _, err := results(e, s, other); err != nil && !Fails(e) {
			t.Fatalf("seed %d: %s: %v, though it cannot fail", seed, q, err)
		}
		for name, in := range map[string]*vec.Batch{"flat": flat, "coded": coded, "coded again": coded} {
			got, err := results(e, s, in)
			if (err != nil) != (rowErr != nil) || err == nil && fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d: %s\n%s, %s:\n got %v %v\nwant %v %v", seed, q, e, name, got, err, want, rowErr)
			}
		}
		if rowErr != nil {
			errors++
			continue
		}
		if e.Type() == vec.Bool {
			switch verdict := Judge(e, func(slot int) Bounds { return boundsOf(flat.Cols[slot]) }); verdict {
			case Never:
				nevers++
				checkAll(t, seed, e, want, "true", false)
			case Always:
				always++
				checkAll(t, seed, e, want, "true", true)
			}
			for _, c := range wide.columns {
				if list, ok := Values(e, c.Slot); ok {
					valued++
					checkValues(t, seed, e, want, flat.Cols[c.Slot], list)
				}
			}
		}
		checkNull(t, r, seed, e, flat)
	}
	t.Log("errors", errors, "never", nevers, "always", always, "values", valued, "skipped", skipped)
	if errors < 50 || nevers < 50 || always < 25 || valued < 50 || skipped > 2000 {
		t.Error("the expressions have lost their variety")
	}
}

func checkAll(t *testing.T, seed uint64, e Expr, got []string, val string, all bool) {
	for i, x := range got {
		if (x == val) != all {
			t.Fatalf("seed %d: %s: row %d is %s, against the verdict", seed, e, i, x)
		}
	}
}

func checkValues(t *testing.T, seed uint64, e Expr, got []string, v *vec.Vector, list []vec.Value) {
	for i, x := range got {
		found := x != "true"
		for _, val := range list {
			found = found || v.At(i).Type == val.Type && value.Compare(v.At(i), val) == 0
		}
		if !found {
			t.Fatalf("seed %d: %s is TRUE for %v, which is not among %v", seed, e, v.At(i), list)
		}
	}
}

// checkNull compares WithNull with columns that are NULL.
func checkNull(t *testing.T, r *rand.Rand, seed uint64, e Expr, in *vec.Batch) {
	slot := r.IntN(len(in.Cols))
	out := *in
	out.Cols = append([]*vec.Vector(nil), in.Cols...)
	out.Cols[slot] = vec.AllNull(in.Cols[slot].Type, in.Len)
	less := WithNull(e, func(s int) bool { return s == slot })
	want, err1 := results(e, &Scratch{}, &out)
	got, err2 := results(less, &Scratch{}, &out)
	if (err1 != nil) != (err2 != nil) || fmt.Sprint(want) != fmt.Sprint(got) {
		t.Fatalf("seed %d: %s without slot %d is %s:\n got %v %v\nwant %v %v", seed, e, slot, less, got, err2, want, err1)
	}
	if less.Type() != e.Type() {
		t.Fatalf("seed %d: %s is %s, %s is %s", seed, e, e.Type(), less, less.Type())
	}
	for _, s := range Slots(less) {
		if s == slot {
			t.Fatalf("seed %d: %s reads slot %d", seed, less, slot)
		}
	}
}
