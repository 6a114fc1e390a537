package scale

import (
	"github.com/togodb/togo/compactor"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/placements"
)

const (
	pageKeys       = 1000 // of a listing's request
	pageSeconds    = 0.05 // that one takes
	startsPerMonth = 30   // of each compactor: by then it has to find again what the logs removed
	checkpointGap  = 128  // records from the second newest checkpoint to the newest, about
	readAtOnce     = 64   // records of a log, then its base markers are listed
	trimLists      = 2    // of a look whether a log has old records: its markers and its checkpoints
	uploadFolders  = 3
)

// spread is where a tenant's objects may be.
type spread struct{ shards, processes int }

// spreads of all tenants over the shards that the placements gave them within the retention. A process has shards that
// follow each other.
func spreads(table *placements.Table, cfg Config) []spread {
	now := event.Timestamp(end.UnixNano())
	from := now - event.Timestamp(cfg.RetentionDays)*24*3600*1e9
	out := make([]spread, cfg.Tenants)
	for i := range out {
		last := -1
		for _, shard := range table.ShardsOf(tenantName(i), from, now) {
			out[i].shards++
			if p := int(shard) * cfg.Processes / cfg.Shards; p != last {
				out[i].processes++
				last = p
			}
		}
	}
	return out
}

// listing is what the processes ask for to list the store once, each what its shards may have: its tenants' folders
// and its shards' id segments, or all there is where that takes less.
func listing(cfg Config, tenants []spread, objects float64) (lists float64) {
	var shards float64
	for _, t := range tenants {
		shards += float64(t.shards)
	}
	own := float64(cfg.Shards)
	for _, t := range tenants {
		pages := max(1, objects*float64(t.shards)/shards/pageKeys)
		own += float64(t.processes) * (pages + 1) // and dead letters
	}
	processes := float64(cfg.Processes)
	return min(own, processes*max(uploadFolders, objects/pageKeys)) + uploadFolders*processes
}

// collecting is what all compactors ask for in a month to find garbage and to delete it, old records of the logs
// included, by the compactor's own settings; seconds is what a process takes to list its share.
func collecting(cfg Config, tenants []spread, objects float64) (c counts, seconds float64) {
	const hour = 3600
	set := compactor.DefaultConfig()
	looks := hoursPerMonth * hour / set.CollectEvery.Seconds()
	listings := hoursPerMonth * hour / set.ListEvery.Seconds()
	shards := float64(cfg.Shards)
	once := listing(cfg, tenants, objects)
	recalled := float64(set.KeepRecords + checkpointGap)
	c.lists = int64(once*listings + shards*looks*trimLists + shards*startsPerMonth*recalled/readAtOnce)
	c.reads = int64(shards*looks + shards*startsPerMonth*recalled) // when a share was listed; records
	c.writes = int64(shards * listings)                            // that it is
	return c, once / float64(cfg.Processes) * pageSeconds
}

// waiting is how many objects of a shard its log has removed and wait to be deleted, at most: for the grace, and then for the next
// look. In the long run that is all that flushes and merges make, id segments included, and what falls below the floor.
func waiting(r *Report, v *Volume) float64 {
	set := compactor.DefaultConfig()
	floor := v.Fragments / float64(r.Shards) / float64(r.RetentionDays) / 24
	return (set.QueryGrace + set.CollectEvery).Hours() * (v.FragmentsPerHour + v.CommitsPerHour + v.MergesPerHour + floor)
}
