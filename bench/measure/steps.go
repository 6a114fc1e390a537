package measure

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// rule gives the samples that have a function in their stack to a step.
type rule struct{ function, step string }

// rules go from the innermost function of a stack outwards, and the first function that one of them names decides. A role's work is
// told apart by packages, so that what they call (the runtime's allocator, zstd, the kernel) is theirs. The
// collector's own goroutines have a step of their own.
var rules = []rule{
	{"runtime.gcBgMarkWorker", "gc"},
	{"runtime.bgsweep", "gc"},
	{"runtime.bgscavenge", "gc"},
	{"github.com/pierrec/lz4/", "kafka compression"}, // Parquet and the shard logs take zstd
	{"github.com/klauspost/compress/s2.", "kafka compression"},
	{"github.com/klauspost/compress/zstd.", "zstd"},
	{"net.(*", "network"},
	{"github.com/togodb/togo/internal/event/jsonscan.", "decode"},
	{"github.com/togodb/togo/internal/event.", "decode"},
	{"github.com/togodb/togo/writer/dedup.", "dedup"},
	{"github.com/togodb/togo/internal/idseg.", "encode ids"},
	{"github.com/togodb/togo/internal/fragment", "encode"},
	{"github.com/togodb/togo/internal/objstore", "store"},
	{"github.com/togodb/togo/internal/shardlog.", "commit"},
	{"github.com/togodb/togo/internal/chain.", "commit"},
	{"github.com/togodb/togo/placements.", "place"},
	{"github.com/togodb/togo/query", "query"},
	{"github.com/togodb/togo/writer/shard.", "gather"},
	{"github.com/togodb/togo/router.", "gather"},
	{"github.com/twmb/franz-go/", "kafka"},
	{"github.com/togodb/togo/internal/kafka.", "kafka"},
	{"github.com/togodb/togo/compactor", "compact"},
	{"github.com/togodb/togo/writer.", "shell"},
	{"net/http.", "http"},
}

// other is the step of samples that no rule names: the scheduler, mostly.
const other = "other"

// collecting are functions in whose samples the garbage collector works, be it on its own goroutines or for an allocation.
var collecting = []string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.gcAssistAlloc", "runtime.deductSweepCredit", "runtime.bgscavenge"}

// profile is CPU time by step.
type profile struct {
	total int64 // nanoseconds
	gc    int64
	steps map[string]int64
}

func (p *profile) add(q *profile) {
	p.total += q.total
	p.gc += q.gc
	for step, v := range q.steps {
		if p.steps == nil {
			p.steps = map[string]int64{}
		}
		p.steps[step] += v
	}
}

// stepOf is the step of a stack, innermost function first.
func stepOf(stack []string) string {
	for _, f := range stack {
		for _, r := range rules {
			if strings.HasPrefix(f, r.function) {
				return r.step
			}
		}
	}
	return other
}

// readProfile sums a CPU profile as runtime/pprof writes it: a gzipped protocol buffer (github.com/google/pprof/proto/profile.proto).
func readProfile(body []byte) (*profile, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	var samples [][]byte
	var texts []string
	names := map[uint64]uint64{}       // of functions: places in texts
	functions := map[uint64][]uint64{} // of locations, innermost first
	err = fields(raw, func(number int, v uint64, data []byte) error {
		switch number {
		case 2:
			samples = append(samples, data)
		case 4:
			return readLocation(data, functions)
		case 5:
			var id, name uint64
			err := fields(data, func(number int, v uint64, _ []byte) error {
				switch number {
				case 1:
					id = v
				case 2:
					name = v
				}
				return nil
			})
			names[id] = name
			return err
		case 6:
			texts = append(texts, string(data))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	out := &profile{steps: map[string]int64{}}
	for _, s := range samples {
		locations, values, err := readSample(s)
		if err != nil || len(values) == 0 {
			return nil, errors.Join(errors.New("profile: a sample without values"), err)
		}
		var stack []string
		for _, l := range locations {
			for _, f := range functions[l] {
				if n := names[f]; n < uint64(len(texts)) {
					stack = append(stack, texts[n])
				}
			}
		}
		out.count(stack, int64(values[len(values)-1]))
	}
	return out, nil
}

func (p *profile) count(stack []string, ns int64) {
	p.total += ns
	p.steps[stepOf(stack)] += ns
	for _, f := range stack {
		for _, c := range collecting {
			if strings.HasPrefix(f, c) {
				p.gc += ns
				return
			}
		}
	}
}

func readLocation(data []byte, functions map[uint64][]uint64) error {
	var id uint64
	var lines []uint64
	err := fields(data, func(number int, v uint64, line []byte) error {
		switch number {
		case 1:
			id = v
		case 4:
			return fields(line, func(number int, v uint64, _ []byte) error {
				if number == 1 {
					lines = append(lines, v)
				}
				return nil
			})
		}
		return nil
	})
	functions[id] = lines
	return err
}

func readSample(data []byte) (locations, values []uint64, err error) {
	err = fields(data, func(number int, v uint64, packed []byte) error {
		switch number {
		case 1:
			return numbers(&locations, v, packed)
		case 2:
			return numbers(&values, v, packed)
		}
		return nil
	})
	return locations, values, err
}

var errProto = errors.New("not a protocol buffer")

// numbers reads a repeated number, packed or single.
func numbers(into *[]uint64, v uint64, packed []byte) error {
	if packed == nil {
		*into = append(*into, v)
		return nil
	}
	for len(packed) > 0 {
		v, n := binary.Uvarint(packed)
		if n <= 0 {
			return errProto
		}
		*into = append(*into, v)
		packed = packed[n:]
	}
	return nil
}

// fields walks over a message; data is nil where the field is a number.
func fields(b []byte, each func(number int, v uint64, data []byte) error) error {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return errProto
		}
		b = b[n:]
		var v uint64
		var data []byte
		switch tag & 7 {
		case 0:
			if v, n = binary.Uvarint(b); n <= 0 {
				return errProto
			}
			b = b[n:]
		case 1, 5:
			size := 8
			if tag&7 == 5 {
				size = 4
			}
			if len(b) < size {
				return errProto
			}
			b = b[size:]
			continue
		case 2:
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return errProto
			}
			data = b[n : n+int(size) : n+int(size)]
			b = b[n+int(size):]
		default:
			return errProto
		}
		if err := each(int(tag>>3), v, data); err != nil {
			return err
		}
	}
	return nil
}

// profileSeconds is the length of one profile; the last one of a run, which its end cuts off, is lost.
const profileSeconds = 5

// profileRole adds up profiles of a process, one after the other, until ctx ends.
func profileRole(ctx context.Context, addr string) (*profile, error) {
	sum := &profile{}
	for ctx.Err() == nil {
		body, err := fetch(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", addr, profileSeconds))
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return sum, err
		}
		p, err := readProfile(body)
		if err != nil {
			return sum, err
		}
		sum.add(p)
	}
	return sum, nil
}
