package expr

import (
	"sort"
	"strings"
)

// Near gives up to three of the names that look like name, nearest first.
func Near(name string, names []string) []string {
	name = strings.ToLower(name)
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, n := range names {
		low := strings.ToLower(n)
		d := distance(name, low)
		if limit := 1 + min(len(name), len(low))/3; d > limit {
			if len(name) < 3 || !strings.Contains(low, name) && !(len(low) >= 3 && strings.Contains(name, low)) {
				continue
			}
			d = limit + 1
		}
		found = append(found, candidate{n, d})
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].distance < found[j].distance })
	var out []string
	for i := 0; i < len(found) && i < 3; i++ {
		out = append(out, found[i].name)
	}
	return out
}

// distance counts the letters to put in, take out or change; names are cut to 64 bytes.
func distance(a, b string) int {
	const most = 64
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
