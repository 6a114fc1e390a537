package pick

import (
	"cmp"
	"slices"
)

// Order puts the jobs of many buckets in the order in which to do them, for one turn of a
// compactor; turn goes up by one each time. Most turns begin with the newest bucket, which is asked
// for most. Every fourth begins elsewhere, at the oldest bucket and at one after the other in
// their order by turns: so each is reached in the end, however much the newest ones bring, and
// though one of them fails again and again. Jobs of one bucket keep their order.
func Order(jobs []Job, turn int) []Job {
	out := slices.Clone(jobs)
	rank := map[bucketKey]int{} // in the order of the jobs
	for _, j := range jobs {
		if _, ok := rank[bucketOf(j)]; !ok {
			rank[bucketOf(j)] = len(rank)
		}
	}
	// Of one age, those first that leave the fewest fragments behind.
	worth := make([]int, len(rank))
	for _, j := range jobs {
		at := rank[bucketOf(j)]
		worth[at] = max(worth[at], len(j.Inputs))
	}
	slices.SortStableFunc(out, func(a, b Job) int {
		ka, kb := bucketOf(a), bucketOf(b)
		return cmp.Or(cmp.Compare(kb.bucket, ka.bucket), cmp.Compare(worth[rank[kb]], worth[rank[ka]]), cmp.Compare(rank[ka], rank[kb]))
	})
	if turn%4 != 3 || len(rank) == 0 {
		return out
	}
	// The bucket to begin with, counted from the oldest.
	at := 0
	if turn%8 == 7 {
		at = turn / 8 % len(rank)
	}
	var order []bucketKey
	for _, j := range slices.Backward(out) {
		if k := bucketOf(j); len(order) == 0 || order[len(order)-1] != k {
			order = append(order, k)
		}
	}
	first := order[at]
	slices.SortStableFunc(out, func(a, b Job) int {
		return -cmp.Compare(boolInt(bucketOf(a) == first), boolInt(bucketOf(b) == first))
	})
	return out
}

// bucketKey names a bucket of a tenant's table.
type bucketKey struct {
	tenant, table string
	bucket        int64
}

func bucketOf(j Job) bucketKey {
	f := j.Inputs[0]
	return bucketKey{string(f.Tenant), string(f.Table), f.Bucket}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
