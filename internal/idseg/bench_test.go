package idseg

import (
	"math/rand/v2"
	"syscall"
	"testing"
)

func cpu(b *testing.B, perOp int) func() {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := used()
	return func() {
		ops := float64(b.N) * float64(perOp)
		b.ReportMetric(float64(used()-before)/ops, "cpu-ns/event")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/ops, "ns/event")
	}
}

// A commit's segment: 100 tenants, two buckets, 100,000 ids.
func benchBody(b *testing.B) ([]Entry, []byte, []Bucket) {
	entries := entriesOf(1, 2, 100, 500)
	body, buckets, err := Encode(entries, DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	return entries, body, buckets
}

func BenchmarkEncode(b *testing.B) {
	entries, body, _ := benchBody(b)
	b.ReportAllocs()
	b.ResetTimer()
	done := cpu(b, len(entries))
	for range b.N {
		if _, _, err := Encode(entries, DefaultConfig()); err != nil {
			b.Fatal(err)
		}
	}
	done()
	b.ReportMetric(float64(len(body))/float64(len(entries)), "bytes/id")
}

func BenchmarkDecodePart(b *testing.B) {
	entries, body, buckets := benchBody(b)
	part := body[buckets[0].Offset : buckets[0].Offset+buckets[0].Length]
	b.ReportAllocs()
	b.ResetTimer()
	done := cpu(b, len(entries)/2)
	for range b.N {
		if _, err := DecodePart(part); err != nil {
			b.Fatal(err)
		}
	}
	done()
}

func BenchmarkDecodeHead(b *testing.B) {
	entries, body, buckets := benchBody(b)
	b.ReportAllocs()
	b.ResetTimer()
	done := cpu(b, len(entries)/2)
	for range b.N {
		if _, err := DecodeHead(body[buckets[0].Offset:]); err != nil {
			b.Fatal(err)
		}
	}
	done()
}

func BenchmarkFilter(b *testing.B) {
	_, body, buckets := benchBody(b)
	head, err := DecodeHead(body[buckets[0].Offset:])
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	id := randomHash(r)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		id[0]++
		head.MayHold(id)
	}
}
