package agg

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/exec/sketch"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// data is random rows of some groups: two arguments, NULL among them.
type data struct {
	types  []vec.Type
	groups []uint32
	rows   [][]vec.Value
	total  int
}

func (d *data) of(g int) (out [][]vec.Value) {
	for i, row := range d.rows {
		if d.groups[i] == uint32(g) {
			out = append(out, row)
		}
	}
	return out
}

func randomData(r *rand.Rand, types []vec.Type, groups, n int) *data {
	d := &data{types: types, total: groups}
	wide := r.IntN(2) == 0
	for range n {
		row := make([]vec.Value, len(types))
		for i, t := range types {
			if r.IntN(8) == 0 {
				continue
			}
			row[i].Type = t
			switch t {
			case vec.Double:
				row[i].Double = math.Round(r.NormFloat64()*1000) / 8
			case vec.Text:
				row[i].Text = fmt.Sprint("t", r.IntN(20))
			case vec.Bool:
				row[i].Int = r.Int64N(2)
			default:
				row[i].Int = r.Int64N(40) - 20
				if wide {
					row[i].Int = r.Int64() - math.MaxInt64/2
				}
			}
		}
		d.groups = append(d.groups, r.Uint32N(uint32(groups)))
		d.rows = append(d.rows, row)
	}
	return d
}

// vectors are the rows [from, to).
func (d *data) vectors(from, to int) []*vec.Vector {
	out := make([]*vec.Vector, len(d.types))
	for c, t := range d.types {
		v := vec.Nulls(t, to-from)
		for i := range v.Nulls {
			if x := d.rows[from+i][c]; x.Type != vec.Null {
				v.Nulls[i] = false
				v.Set(i, x)
			}
		}
		out[c] = v
	}
	return out
}

// result computes an aggregate by several states, each of which numbers the groups in its own way.
func result(t *testing.T, r *rand.Rand, create func(*memory.Meter) State, d *data) ([]vec.Value, error) {
	t.Helper()
	m := memory.NewAccount(0).Meter()
	states := []State{create(m), create(m), create(m)}
	orders := [][]int{r.Perm(d.total), r.Perm(d.total), nil}
	orders[2] = orders[0]
	if d.total == 1 && r.IntN(2) == 0 {
		orders = nil // groups are not given
	}
	for from := 0; from < len(d.rows); {
		to := min(len(d.rows), from+1+r.IntN(300))
		which := r.IntN(3)
		var groups []uint32
		if orders != nil {
			for _, g := range d.groups[from:to] {
				groups = append(groups, uint32(orders[which][g]))
			}
		}
		if err := states[which].Add(groups, to-from, d.vectors(from, to), d.total); err != nil {
			return nil, err
		}
		from = to
	}
	for i := 1; i < 3; i++ {
		to := zeros(d.total)
		for g := range to {
			if orders != nil {
				to[orders[i][g]] = uint32(orders[0][g])
			}
		}
		if err := states[0].Merge(states[i], to, d.total); err != nil {
			return nil, err
		}
	}
	var all []vec.Value
	for from := 0; from < d.total; from += 3 {
		v, err := states[0].Result(from, min(from+3, d.total), d.total)
		if err != nil {
			return nil, err
		}
		for i := range v.Len {
			all = append(all, v.At(i))
		}
	}
	out := slices.Clone(all)
	if orders != nil {
		for g := range out {
			out[g] = all[orders[0][g]]
		}
	}
	return out, nil
}

func zeros(n int) []uint32 { return make([]uint32, n) }

// values are those of a column that are not NULL.
func values(in [][]vec.Value, c int) (out []vec.Value) {
	for _, row := range in {
		if row[c].Type != vec.Null {
			out = append(out, row[c])
		}
	}
	return out
}

func compareValues(a, b vec.Value) int {
	return cmp.Or(cmp.Compare(a.Int, b.Int), cmp.Compare(a.Double, b.Double), strings.Compare(a.Text, b.Text))
}

func number(v vec.Value) float64 {
	if v.Type == vec.Double {
		return v.Double
	}
	return float64(v.Int)
}

func double(f float64) vec.Value { return vec.Value{Type: vec.Double, Double: f} }

// oracles compute an aggregate of one group in the plainest way.
var oracles = map[string]func(in [][]vec.Value) vec.Value{
	"count": func(in [][]vec.Value) vec.Value { return vec.Value{Type: vec.Int, Int: int64(len(values(in, 0)))} },
	"count_if": func(in [][]vec.Value) vec.Value {
		out := vec.Value{Type: vec.Int}
		for _, v := range values(in, 0) {
			out.Int += v.Int
		}
		return out
	},
	"sum": func(in [][]vec.Value) vec.Value {
		out := vec.Value{}
		sum := new(big.Int)
		for _, v := range values(in, 0) {
			out.Type = v.Type
			out.Double += v.Double
			sum.Add(sum, big.NewInt(v.Int))
		}
		if !sum.IsInt64() {
			return vec.Value{Type: vec.Text, Text: "out of range"}
		}
		out.Int = sum.Int64()
		return out
	},
	"avg": func(in [][]vec.Value) vec.Value {
		list := values(in, 0)
		if len(list) == 0 {
			return vec.Value{}
		}
		sum := new(big.Float).SetPrec(200)
		for _, v := range list {
			if v.Type == vec.Double {
				sum.Add(sum, big.NewFloat(v.Double))
			} else {
				sum.Add(sum, new(big.Float).SetInt64(v.Int))
			}
		}
		f, _ := sum.Quo(sum, big.NewFloat(float64(len(list)))).Float64()
		return double(f)
	},
	"min": func(in [][]vec.Value) vec.Value { return sortedAt(values(in, 0), 0) },
	"max": func(in [][]vec.Value) vec.Value { return sortedAt(values(in, 0), -1) },
	"var_pop": func(in [][]vec.Value) vec.Value {
		list := values(in, 0)
		if len(list) == 0 {
			return vec.Value{}
		}
		mean := 0.0
		for _, v := range list {
			mean += number(v) / float64(len(list))
		}
		sum := 0.0
		for _, v := range list {
			sum += (number(v) - mean) * (number(v) - mean) / float64(len(list))
		}
		return double(sum)
	},
	"arg_max": func(in [][]vec.Value) vec.Value { return argOf(in, func(c int) bool { return c > 0 }) },
	"arg_min": func(in [][]vec.Value) vec.Value { return argOf(in, func(c int) bool { return c < 0 }) },
	"mode": func(in [][]vec.Value) vec.Value {
		list := values(in, 0)
		slices.SortFunc(list, compareValues)
		best, most := vec.Value{}, 0
		for i, v := range list {
			n := 0
			for j := i; j < len(list) && list[j] == v; j++ {
				n++
			}
			if n > most {
				best, most = v, n
			}
		}
		return best
	},
	"median": func(in [][]vec.Value) vec.Value { return continuous(values(in, 0), 0.5) },
	"quantile_disc": func(in [][]vec.Value) vec.Value {
		list := values(in, 0)
		return sortedAt(list, max(1, int(math.Ceil(float64(len(list))*0.25)))-1)
	},
	"quantile_cont": func(in [][]vec.Value) vec.Value { return continuous(values(in, 0), 0.25) },
	"string_agg": func(in [][]vec.Value) vec.Value {
		list := values(in, 0)
		slices.SortFunc(list, compareValues)
		out := vec.Value{}
		for i, v := range list {
			out.Type = vec.Text
			if i > 0 {
				out.Text += ";"
			}
			out.Text += v.Text
		}
		return out
	},
}

func sortedAt(list []vec.Value, at int) vec.Value {
	if len(list) == 0 {
		return vec.Value{}
	}
	slices.SortFunc(list, compareValues)
	if at < 0 {
		at += len(list)
	}
	return list[at]
}

func continuous(list []vec.Value, q float64) vec.Value {
	if len(list) == 0 {
		return vec.Value{}
	}
	slices.SortFunc(list, compareValues)
	at := float64(len(list)-1) * q
	low, high := number(list[int(math.Floor(at))]), number(list[int(math.Ceil(at))])
	part := at - math.Floor(at)
	return double(low*(1-part) + high*part)
}

func argOf(in [][]vec.Value, better func(int) bool) vec.Value {
	var best []vec.Value
	for _, row := range in {
		if row[0].Type == vec.Null || row[1].Type == vec.Null {
			continue
		}
		c := 0
		if best != nil {
			c = compareValues(row[1], best[1])
		}
		if best == nil || better(c) || c == 0 && compareValues(row[0], best[0]) < 0 {
			best = row
		}
	}
	if best == nil {
		return vec.Value{}
	}
	return best[0]
}

func near(a, b vec.Value) bool {
	if a.Type == vec.Double && b.Type == vec.Double {
		return math.Abs(a.Double-b.Double) <= 1e-9*math.Max(1, math.Abs(b.Double))
	}
	return a == b
}

func TestAggregatesOfManyStates(t *testing.T) {
	for name, oracle := range oracles {
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 5))
			first := []vec.Type{vec.Int, vec.Double, vec.Int}[r.IntN(3)]
			var params []vec.Value
			switch name {
			case "count_if":
				first = vec.Bool
			case "arg_min", "arg_max", "min", "max", "mode":
				first = []vec.Type{vec.Int, vec.Double, vec.Text, vec.TimestampTZ}[r.IntN(4)]
			case "quantile_disc", "quantile_cont":
				params = []vec.Value{double(0.25)}
			case "string_agg":
				first, params = vec.Text, []vec.Value{{Type: vec.Text, Text: ";"}}
			}
			d := randomData(r, []vec.Type{first, vec.Int}, 1+r.IntN(6), r.IntN(3000))
			args := d.types[:1]
			if strings.HasPrefix(name, "arg_") {
				args = d.types
			}
			f, err := Bind(Call{Name: name, Args: args, Params: params})
			if err != nil {
				t.Fatal(err)
			}
			if f.Casts[0] != first && name != "var_pop" {
				t.Fatalf("%s wants its argument as %s", name, f.Casts[0])
			}
			create := f.New
			if name == "var_pop" && first == vec.Int {
				continue // the binder casts
			}
			if f.Ordered {
				create = Sorted(create, d.types, 1, []rows.Key{{Column: 0}})
			}
			got, err := result(t, r, create, d)
			for g := range d.total {
				want := oracle(d.of(g))
				if want.Type == vec.Text && want.Text == "out of range" {
					if fail.CodeOf(err) != fail.OutOfRange {
						t.Fatalf("%s, seed %d: error %v", name, seed, err)
					}
					break
				}
				if err != nil {
					continue // another group's
				}
				if !near(got[g], want) {
					t.Fatalf("%s(%s), seed %d, group %d of %d: %v, want %v", name, first, seed, g, d.total, got[g], want)
				}
			}
		}
	}
}

func TestDistinctValuesCountOnce(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 6))
		d := randomData(r, []vec.Type{vec.Text}, 1+r.IntN(6), r.IntN(3000))
		f, err := Bind(Call{Name: "string_agg", Args: d.types})
		if err != nil {
			t.Fatal(err)
		}
		grouped := d.total > 1
		create := Distinct(Sorted(f.New, d.types, 1, []rows.Key{{Column: 0, Desc: true}}), vec.Text, grouped)
		if !grouped {
			d.groups = zeros(len(d.rows))
		}
		got, err := result(t, rand.New(rand.NewPCG(seed, uint64(7))), create, d)
		if err != nil {
			t.Fatal(err)
		}
		for g := range d.total {
			list := values(d.of(g), 0)
			slices.SortFunc(list, func(a, b vec.Value) int { return -compareValues(a, b) })
			list = slices.Compact(list)
			var texts []string
			for _, v := range list {
				texts = append(texts, v.Text)
			}
			if want := strings.Join(texts, ","); got[g].Text != want {
				t.Fatalf("seed %d, group %d: %s, want %s", seed, g, got[g].Text, want)
			}
		}
	}
}

func TestApproximationsAreNear(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, n := range []int{0, 1, 30, 250, 5000, 200_000} {
		d := &data{types: []vec.Type{vec.Double}, total: 1}
		var sorted []float64
		for range n {
			x := r.ExpFloat64()
			sorted = append(sorted, x)
			d.rows = append(d.rows, []vec.Value{double(x)})
			d.groups = append(d.groups, 0)
		}
		slices.Sort(sorted)
		f, _ := Bind(Call{Name: "approx_count_distinct", Args: d.types})
		got, err := result(t, r, f.New, d)
		if err != nil {
			t.Fatal(err)
		}
		if off := math.Abs(float64(got[0].Int) - float64(n)); off > 0.03*float64(n) || n <= sketch.FewHashes && off > 0 {
			t.Errorf("%d distinct values are counted as %d", n, got[0].Int)
		}
		for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.999, 1} {
			f, err := Bind(Call{Name: "approx_quantile", Args: d.types, Params: []vec.Value{double(q)}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := result(t, r, f.New, d)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				if got[0].Type != vec.Null {
					t.Errorf("the quantile of nothing is %v", got[0])
				}
				continue
			}
			at, _ := slices.BinarySearch(sorted, got[0].Double)
			if off := math.Abs(float64(at) - q*float64(n)); off > 1+0.01*float64(n) {
				t.Errorf("of %d values the quantile %g is at rank %d", n, q, at)
			}
		}
	}
}

func TestInfiniteAndNoNumbers(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name   string
		params []vec.Value
		in     []float64
		want   float64
	}{
		{"sum", nil, []float64{inf, 1}, inf},
		{"sum", nil, []float64{inf, -inf}, nan},
		{"sum", nil, []float64{1e308, 1e308}, inf},
		{"sum", nil, []float64{1e16, 1, -1e16}, 1},
		{"avg", nil, []float64{nan, 1}, nan},
		{"max", nil, []float64{1, nan, inf}, nan},
		{"min", nil, []float64{nan, 1, inf}, 1},
		{"min", nil, []float64{nan, nan}, nan},
		{"median", nil, []float64{nan, 1, 2}, 2},
		{"quantile_disc", []vec.Value{double(1)}, []float64{nan, 1, -inf}, nan},
		{"quantile_cont", []vec.Value{double(0)}, []float64{nan, 1, -inf}, -inf},
	} {
		d := &data{types: []vec.Type{vec.Double}, total: 1, groups: zeros(len(c.in))}
		for _, x := range c.in {
			d.rows = append(d.rows, []vec.Value{double(x)})
		}
		f, err := Bind(Call{Name: c.name, Args: d.types, Params: c.params})
		if err != nil {
			t.Fatal(err)
		}
		got, err := result(t, rand.New(rand.NewPCG(1, 1)), f.New, d)
		if err != nil {
			t.Fatal(err)
		}
		if x := got[0].Double; x != c.want && !(x != x && c.want != c.want) {
			t.Errorf("%s of %v is %v, want %v", c.name, c.in, x, c.want)
		}
	}
}
