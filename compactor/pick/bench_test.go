package pick

import "testing"

// BenchmarkLife is a bucket's hour and its rest, by a model of the merges: not a time, but what
// is written for each byte, and what is left.
func BenchmarkLife(b *testing.B) {
	for name, in := range map[string]load{
		"70MiB":  loads[1],
		"720MiB": loads[2],
		"2GiB":   loads[3],
		"9GiB":   loads[4],
		"15GiB":  loads[7],
	} {
		b.Run(name, func(b *testing.B) {
			var l *life
			for b.Loop() {
				l = newLife(b, DefaultPolicy())
				l.hour(in)
			}
			s := l.shape()
			b.ReportMetric(l.amplification(), "written/byte")
			b.ReportMetric(float64(l.most), "most-fragments")
			b.ReportMetric(float64(s.fragments), "fragments")
			b.ReportMetric(float64(s.small), "small")
			b.ReportMetric(100*float64(s.median)/float64(l.policy.TargetBytes), "median-%")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkPick: a bucket with sixty fragments, most of which are done.
func BenchmarkPick(b *testing.B) {
	l := newLife(b, DefaultPolicy())
	l.hour(loads[7])
	bucket := l.bucket
	for _, m := range l.objects {
		bucket.Fragments = append(bucket.Fragments, m.Fragment)
	}
	for b.Loop() {
		Pick(bucket, l.policy)
	}
}
