package shardlog

import (
	"cmp"
	"encoding/hex"
	"fmt"

	"github.com/togodb/togo/internal/event"
)

// SourceFrom is an event.Source as it stands in records.
func SourceFrom(s event.Source) Source {
	return Source{Cluster: s.Cluster, Topic: s.Topic.String(), Partition: s.Partition}
}

// Event is the source as the other packages use it; it fails on a topic id that
// is not 32 hex digits.
func (s Source) Event() (event.Source, error) {
	out := event.Source{Cluster: s.Cluster, Partition: s.Partition}
	if !isHex(s.Topic, 2*len(out.Topic)) {
		return out, fmt.Errorf("topic id %q is not %d lower-case hex digits", s.Topic, 2*len(out.Topic))
	}
	_, err := hex.Decode(out.Topic[:], []byte(s.Topic))
	return out, err
}

func (s Source) String() string { return fmt.Sprintf("%s/%s/%d", s.Cluster, s.Topic, s.Partition) }

// Compare orders sources by cluster, topic id, partition.
func (s Source) Compare(o Source) int {
	return cmp.Or(cmp.Compare(s.Cluster, o.Cluster), cmp.Compare(s.Topic, o.Topic), cmp.Compare(s.Partition, o.Partition))
}

func isHex(s string, digits int) bool {
	if len(s) != digits {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
