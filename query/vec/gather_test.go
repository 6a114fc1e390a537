package vec

import "testing"

func forms() map[string]*Vector {
	dict := &Vector{Type: Text, Len: 2, Texts: []string{"a", "b"}}
	return map[string]*Vector{
		"flat":          {Type: Int, Len: 4, Ints: []int64{1, 2, 3, 4}, Nulls: []bool{false, true, false, false}},
		"doubles":       {Type: Double, Len: 4, Doubles: []float64{1, 2, 3, 4}},
		"coded":         {Type: Text, Len: 4, Codes: []int32{1, 0, 1, 0}, Dict: dict, Nulls: []bool{false, false, true, false}},
		"coded, empty":  {Type: Text, Len: 4, Codes: []int32{0, 0, 0, 0}, Dict: &Vector{Type: Text}, Nulls: []bool{true, true, true, true}},
		"constant":      Constant(Text, Value{Type: Text, Text: "x"}, 4),
		"constant null": Constant(Interval, Value{}, 4),
		"null":          {Type: Null, Len: 4},
		"intervals":     {Type: Interval, Len: 4, Intervals: []Span{{1, 2, 3}, {}, {}, {4, 5, 6}}},
	}
}

func TestFormsKeepTheirValues(t *testing.T) {
	for name, v := range forms() {
		sel := []int32{3, 0, 2, 2}
		g, f, s := v.Gather(sel), v.Flat(), v.Slice(1, 3)
		if g.Len != 4 || f.Len != 4 || s.Len != 2 {
			t.Fatalf("%s: lengths %d, %d, %d", name, g.Len, f.Len, s.Len)
		}
		if f.Const || f.Dict != nil {
			t.Errorf("%s: Flat is not flat", name)
		}
		for i := range 4 {
			if g.At(i) != v.At(int(sel[i])) {
				t.Errorf("%s: gathered row %d is %v, want %v", name, i, g.At(i), v.At(int(sel[i])))
			}
			if f.At(i) != v.At(i) {
				t.Errorf("%s: flat row %d is %v, want %v", name, i, f.At(i), v.At(i))
			}
			if i < 2 && s.At(i) != v.At(1+i) {
				t.Errorf("%s: row %d of the slice is %v, want %v", name, i, s.At(i), v.At(1+i))
			}
		}
	}
}
