package idseg

import (
	"io"
	"math/rand/v2"
	"testing"

	"github.com/togodb/togo/bench/cpu"
)

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
	m := cpu.Start(b)
	for range b.N {
		if _, _, err := Encode(entries, DefaultConfig()); err != nil {
			b.Fatal(err)
		}
	}
	m.PerEvent(b.N * len(entries))
	b.ReportMetric(float64(len(body))/float64(len(entries)), "bytes/id")
}

func BenchmarkDecodePart(b *testing.B) {
	entries, body, buckets := benchBody(b)
	part := body[buckets[0].Offset : buckets[0].Offset+buckets[0].Length]
	m := cpu.Start(b)
	for range b.N {
		if _, err := DecodePart(part); err != nil {
			b.Fatal(err)
		}
	}
	m.PerEvent(b.N * len(entries) / 2)
}

func BenchmarkDecodeHead(b *testing.B) {
	entries, body, buckets := benchBody(b)
	m := cpu.Start(b)
	for range b.N {
		if _, err := DecodeHead(body[buckets[0].Offset:]); err != nil {
			b.Fatal(err)
		}
	}
	m.PerEvent(b.N * len(entries) / 2)
}

func BenchmarkFilter(b *testing.B) {
	_, body, buckets := benchBody(b)
	head, err := DecodeHead(body[buckets[0].Offset:])
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	id := randomHash(r)
	m := cpu.Start(b)
	for range b.N {
		id[0]++
		head.MayHold(id)
	}
	m.PerEvent(b.N)
}

// BenchmarkMerge: 16 commits' segments of 100 tenants and two buckets become one.
func BenchmarkMerge(b *testing.B) {
	for name, memory := range map[string]int64{"kept": 256 << 20, "twice": 8 << 20} {
		b.Run(name, func(b *testing.B) {
			s := &shelf{objects: map[string][]byte{}}
			var inputs []MergeInput
			ids := 0
			for i := range 16 {
				entries := entriesOf(uint64(i), 2, 100, 500)
				inputs, ids = append(inputs, s.add(b, entries, DefaultConfig())), ids+len(entries)
			}
			spec := all
			spec.MemoryBytes = memory
			m := cpu.Start(b)
			for range b.N {
				if _, err := Merge(b.Context(), s, inputs, spec, func(int) (io.Writer, error) { return io.Discard, nil }); err != nil {
					b.Fatal(err)
				}
			}
			m.PerEvent(b.N * ids)
		})
	}
}
