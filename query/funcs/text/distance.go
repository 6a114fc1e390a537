package text

import (
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
)

// maxSteps bounds the work of one comparison of two long texts: some tenths of a second.
const maxSteps = 1 << 26

func distances() []*expr.Func {
	lev := one("levenshtein", "levenshtein('kitten', 'sitting') = 3", "How many bytes have to be added, left out or changed to make one text of the other.", num, each.Two(num, levenshtein), text, text)
	ham := one("hamming", "hamming('abc', 'abd') = 1", "At how many places texts of equal length have different bytes.", num, each.Two(num, hamming), text, text)
	return []*expr.Func{
		lev, also("editdist3", lev), ham, also("mismatches", ham),
		one("jaccard", "jaccard('abc', 'abd') = 0.5", "How many of the bytes that are in one of the texts are in both, from 0 to 1.", dbl, each.Two(dbl, jaccard), text, text),
	}
}

func levenshtein(a, b string) (int64, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(b) > 0 && len(a) > maxSteps/len(b) {
		return 0, fail.New(fail.TooLarge, "levenshtein of texts of %d and %d bytes; the product of the lengths must not exceed %d", len(a), len(b), maxSteps)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 0; i < len(a); i++ {
		diagonal := row[0]
		row[0] = i + 1
		for j := 0; j < len(b); j++ {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return int64(row[len(b)]), nil
}

func hamming(a, b string) (int64, error) {
	if len(a) != len(b) {
		return 0, fail.New(fail.Value, "hamming: texts of different length")
	}
	var n int64
	for i := 0; i < len(a); i++ {
		if a[i] != b[i] {
			n++
		}
	}
	return n, nil
}

func jaccard(a, b string) (float64, error) {
	if a == "" || b == "" {
		return 0, fail.New(fail.Value, "jaccard: an empty text")
	}
	var in [256]uint8
	for i := 0; i < len(a); i++ {
		in[a[i]] |= 1
	}
	for i := 0; i < len(b); i++ {
		in[b[i]] |= 2
	}
	var both, any float64
	for _, m := range in {
		if m != 0 {
			any++
		}
		if m == 3 {
			both++
		}
	}
	return both / any, nil
}
