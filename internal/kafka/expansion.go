package kafka

import (
	"math"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// expansion keeps what is fetched within a bound of bytes in memory: Kafka counts
// an answer's bytes as compressed, so it asks for less of what is compressed better.
type expansion struct {
	perFetch     int // bytes in memory
	perPartition int
	set          func(perFetch, perPartition int32)

	mu    sync.Mutex
	ratio float64 // bytes in memory by bytes on the wire, of late; guarded by mu
	used  float64 // the ratio that set was last called with; guarded by mu
}

var _ kgo.HookFetchBatchRead = (*expansion)(nil)

const (
	// firstRatio is assumed until a batch is seen; JSON events under snappy or
	// zstd expand by 3 to 10.
	firstRatio = 8
	// A worse ratio counts at once, a better one slowly: memory is what is bounded.
	ratioDecay = 0.05
	// minFetchBytes keep a wild ratio from making fetches tiny.
	minFetchBytes = 64 << 10
)

func newExpansion(cfg ReaderConfig) *expansion {
	perFetch := max(cfg.MaxBytes/concurrentFetches, 1<<20)
	return &expansion{
		perFetch: perFetch, perPartition: min(cfg.MaxPartitionBytes, perFetch),
		ratio: firstRatio, used: firstRatio,
	}
}

func (e *expansion) limits(ratio float64) (perFetch, perPartition int32) {
	limit := func(n int) int32 {
		return int32(min(max(float64(n)/ratio, minFetchBytes), math.MaxInt32))
	}
	return limit(e.perFetch), limit(e.perPartition)
}

// OnFetchBatchRead implements kgo.HookFetchBatchRead.
func (e *expansion) OnFetchBatchRead(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	if m.CompressedBytes == 0 {
		return
	}
	seen := max(float64(m.UncompressedBytes)/float64(m.CompressedBytes), 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	if seen > e.ratio {
		e.ratio = seen
	} else {
		e.ratio += (seen - e.ratio) * ratioDecay
	}
	if change := e.ratio / e.used; change < 1.2 && change > 0.8 || e.set == nil {
		return
	}
	e.used = e.ratio
	e.set(e.limits(e.ratio))
}
