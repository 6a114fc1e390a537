package e2e

import (
	"bytes"
	"testing"
	"time"

	"github.com/togodb/togo/compactor"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/shardlog"
	tenantset "github.com/togodb/togo/internal/tenants"
)

// compact merges what there is until nothing is left to merge, and collects at once what was replaced. All
// waiting is passed over by a clock of its own; its wall clock is off by the path's skew.
func (p *path) compact() *inspect.View {
	p.t.Helper()
	ctx := p.t.Context()
	config := compactor.DefaultConfig()
	config.QueryGrace = 0
	var clock time.Duration
	c, err := compactor.New(config, compactor.Deps{
		Store: p.store, Meta: p.meta, Shards: func() int { return pathShards }, Tenants: p.settings(), Worker: "test", Logger: kafkatest.Quiet(),
		Now: func() time.Time { return time.Now().Add(p.skew) }, Clock: func() time.Duration { return clock },
	})
	p.must(err)
	for range 3 {
		for shard := range event.ShardID(pathShards) {
			for worked := true; worked; {
				worked, err = c.Turn(ctx, shard)
				p.must(err)
			}
		}
		_, err := c.Collect(ctx)
		p.must(err)
		clock += config.QuietNewestAfter
	}
	v, err := inspect.Open(ctx, p.store, kafkatest.Quiet())
	p.must(err)
	report, err := v.Verify(ctx, nil, "not asked")
	p.must(err)
	if report.Failed() > 0 {
		var b bytes.Buffer
		p.must(report.Write(&b))
		p.t.Errorf("verify after compaction:\n%s", &b)
	}
	return v
}

// settings are those of the store's tenants.
func (p *path) settings() *tenantset.Keeper {
	p.t.Helper()
	k, err := tenantset.NewKeeper(tenantset.Config{Store: p.store, DataBucket: time.Duration(p.meta.DataBucketSeconds) * time.Second, Logger: kafkatest.Quiet()})
	p.must(err)
	p.must(k.Load(p.t.Context()))
	return k
}

// keep sets a tenant's retention.
func (p *path) keep(tenant event.TenantID, retention string) {
	p.t.Helper()
	_, err := p.settings().Propose(p.t.Context(), tenant, func(v tenantset.Values) (tenantset.Values, error) {
		return v.Set("retention", retention)
	})
	p.must(err)
}

// oneFileEach wants one file of each tenant, table, bucket and shard: all that is there was merged.
func (p *path) oneFileEach(v *inspect.View) {
	p.t.Helper()
	type place struct {
		shard  int
		tenant event.TenantID
		table  shardlog.Table
		bucket int64
	}
	files := map[place]int{}
	for id, s := range v.Shards {
		s.Fragments("", shardlog.MinBucket, shardlog.MaxBucket, func(f shardlog.Fragment) bool {
			files[place{id, f.Tenant, f.Table, f.Bucket}]++
			return true
		})
	}
	if len(files) == 0 {
		p.t.Error("no file is there")
	}
	for at, n := range files {
		if n != 1 {
			p.t.Errorf("%d files of %+v", n, at)
		}
	}
}

// TestFault_old_copy_after_compaction: copies come when the identities lie in merged segments alone, and what those were made of is gone.
func TestFault_old_copy_after_compaction(t *testing.T) {
	s := newStream(t)
	first := s.values("first")
	n := int64(len(first))
	s.p.send("acme", s.begin, first...)
	for round := range int64(3) {
		s.p.run()
		v := s.p.compact()
		s.p.oneFileEach(v)
		if rows := s.p.all(v); int64(len(rows)) != n {
			t.Fatalf("round %d: %d rows of %d events", round, len(rows), n)
		}
		if got := v.Totals(); got.Stored != n || got.Duplicate != round*n {
			t.Fatalf("round %d: %+v of %d events", round, got, n)
		}
		s.p.send("acme", s.begin, first...)
	}
}
