package rows

import (
	"cmp"
	"slices"
)

// Pick moves values so that the one at k is what it would be after sorting, no greater one is before it and no
// smaller one behind it.
func Pick[T cmp.Ordered](values []T, k int) {
	low, high := 0, len(values)-1
	for rounds := 0; high-low > 32; rounds++ {
		if rounds > 64 { // bad luck or bad will: a sort is never quadratic
			break
		}
		a, b, c := values[low], values[low+(high-low)/2], values[high]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return
		}
	}
	slices.Sort(values[low : high+1])
}
