package scale

import (
	"cmp"
	"slices"

	"github.com/togodb/togo/bench/measure"
	"github.com/togodb/togo/compactor/garbage"
)

const (
	hoursPerMonth = 730
	placementPoll = 5 // seconds between two looks of a process at the placements
	rolesThatPoll = 2 // router and writer; compactors look seldom
)

// dollars of requests. Parts of uploads are PUTs; deleting is free.
func dollars(p *measure.Prices, c counts) float64 {
	return (p.PerThousand["put"]*float64(c.writes) + p.PerThousand["list"]*float64(c.lists) + p.PerThousand["get"]*float64(c.reads)) / 1000
}

// cost makes the whole of a shard's hour.
func cost(cfg Config, w *world, polled counts, perDay float64, h *hour) Volume {
	shards, processes := float64(cfg.Shards), float64(cfg.Processes)
	month := shards * hoursPerMonth
	retained := shards * float64(cfg.RetentionDays) * 24
	v := Volume{
		EventsPerDay: perDay, CommitsPerHour: float64(h.commits), FragmentsPerHour: float64(h.flushed), MergesPerHour: float64(h.merges),
		EventsPerFragment: float64(h.events) / float64(max(1, h.flushed)),
		Amplification:     float64(h.flushedB+h.rewrittenB) / float64(max(1, h.flushedB)),
		Fragments:         float64(h.atRest) * retained,
		BytesPerEvent:     float64(h.atRestB)/float64(max(1, h.events)) + idBytes,
	}
	v.StoredBytes = v.BytesPerEvent * perDay * float64(cfg.RetentionDays)
	polls := 3600.0 / placementPoll * rolesThatPoll * processes * hoursPerMonth
	collect, seconds := collecting(cfg, w.spreads, v.Fragments) // id segments are few beside them
	v.CollectS = seconds
	v.DollarsFlush = dollars(cfg.Prices, h.flushFiles) * month
	v.DollarsMerge = dollars(cfg.Prices, h.files.less(h.flushFiles)) * month
	v.DollarsLog = dollars(cfg.Prices, h.log) * month
	v.DollarsFollow = dollars(cfg.Prices, h.follow)*month + dollars(cfg.Prices, polled)*polls
	v.DollarsCollect = dollars(cfg.Prices, collect)
	v.DollarsStorage = cfg.Prices.Storage(v.StoredBytes)
	v.DollarsMonth = v.DollarsFlush + v.DollarsMerge + v.DollarsLog + v.DollarsFollow + v.DollarsCollect + v.DollarsStorage
	v.DollarsPerMillion = v.DollarsMonth / (perDay * hoursPerMonth / 24 / 1e6)
	v.DollarsTenantMonth = v.DollarsMonth / float64(cfg.Tenants)

	hourly := h.log.writes + h.log.lists + h.files.writes + h.follow.lists
	v.WritesPerS = (float64(hourly)*shards + float64(collect.lists+collect.writes)/hoursPerMonth + float64(polled.lists)*polls/hoursPerMonth) / 3600
	all := float64(h.log.total()+h.files.total()+h.follow.total())*month + float64(polled.total())*polls + float64(collect.total())
	v.RequestsPerMillion = all / (perDay * hoursPerMonth / 24 / 1e6)
	v.LogCPUShare = (sum(h.waits) + sum(h.checkpoints) + h.mergeCPU).Seconds() / 3600 * shards / processes
	return v
}

// walls are what would hurt first at the largest volume, and at the end of the retention.
func walls(r *Report) []Wall {
	g, v := r.Growth[len(r.Growth)-1], r.Volumes[len(r.Volumes)-1]
	perProcess := float64(r.Shards) / float64(r.Processes)
	const gib = 1 << 30
	list := []Wall{
		{What: "seconds for a compactor to list its share of the store, which is done every day", Value: v.CollectS, Limit: 24 * 3600,
			Remedy: "more processes, each with fewer shards; compactor.list_every"},
		{What: "bytes of memory for the shard states of one process", Value: float64(g.MemoryBytes) * perProcess, Limit: 4 * gib,
			Remedy: "more processes, each with fewer shards"},
		{What: "CPU seconds to read the logs of one process's shards at its start", Value: g.StartCPUMs / 1e3 * perProcess, Limit: 30,
			Remedy: "more processes, each with fewer shards"},
		{What: "objects that logs have removed and that wait to be deleted, in one compactor's memory", Value: waiting(r, &v) * perProcess, Limit: garbage.MaxWaiting,
			Remedy: "more processes, each with fewer shards; a shorter compactor.query_grace or collect_every; what is too much is left to the listing"},
		{What: "ms of the longest checkpoint, against the time between two at a commit every 5 s", Value: g.CheckpointMaxCPUMs, Limit: 64 * 5000,
			Remedy: "more shards"},
		{What: "cores for the log's part of commits, checkpoints and merges in one process", Value: v.LogCPUShare, Limit: 1,
			Remedy: "more processes"},
		{What: "writing requests a second, against what S3 takes below one prefix before it splits it", Value: v.WritesPerS, Limit: 3500,
			Remedy: "keys begin with the tenant, so that the store can split; a longer writer.small_tenant_age"},
		{What: "bytes of the placements' checkpoint, written every 100 versions", Value: float64(r.Placements.CheckpointBytes), Limit: gib / 4,
			Remedy: "fewer moves of tenants"},
	}
	for i := range list {
		list[i].Headroom = list[i].Limit / max(list[i].Value, 1e-9)
	}
	slices.SortStableFunc(list, func(a, b Wall) int { return cmp.Compare(a.Headroom, b.Headroom) })
	return list
}
