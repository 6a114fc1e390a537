package shardlog

// What an entry takes in memory, its place in the indexes included; measured.
const (
	fragmentWeight = 550
	segmentWeight  = 350
	bucketWeight   = 60
)

// Weight is about how many bytes of memory the state takes, to a factor of two.
func (s *State) Weight() int64 {
	weight := int64(len(s.live)-s.idSegments)*fragmentWeight + int64(s.idSegments)*segmentWeight + s.settling.bytes() + s.fresh.bytes()
	for _, d := range s.days {
		for _, body := range d.packed {
			weight += int64(len(body))
		}
	}
	for _, list := range s.ids {
		weight += int64(len(list)) * bucketWeight
	}
	return weight + 1<<14
}
