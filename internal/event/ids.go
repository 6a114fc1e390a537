package event

import (
	"fmt"
	"strconv"
	"time"
)

// TenantID is the owner of events: 1 to 150 bytes of letters, digits and
// !-_.*'() (Mimir's rule), and neither "." nor "..".
type TenantID string

// Unroutable owns the dead letters of records without a usable tenant. A leading
// underscore is allowed in tenant names, so the name itself is reserved.
const Unroutable TenantID = "_unroutable"

// ShardID numbers a shard from 0: the partition of the shard topic that it reads.
type ShardID int32

func (s ShardID) String() string { return strconv.Itoa(int(s)) }

// Timestamp is an event time in nanoseconds UTC since 1970.
type Timestamp int64

func (t Timestamp) Time() time.Time { return time.Unix(0, int64(t)).UTC() }
func (t Timestamp) String() string  { return t.Time().Format(time.RFC3339Nano) }

// TopicID is Kafka's id of one incarnation of a topic; a topic that was deleted
// and created again has another.
type TopicID [16]byte

func (t TopicID) String() string { return fmt.Sprintf("%x", t[:]) }

// Source names one incarnation of a Kafka partition.
type Source struct {
	Cluster   string // Kafka's cluster id
	Topic     TopicID
	Partition int32
}

func (s Source) String() string { return fmt.Sprintf("%s/%s/%d", s.Cluster, s.Topic, s.Partition) }

// Origin is the Kafka position that an event came from. It repeats on replay, so
// it serves as the id of events that have none.
type Origin struct {
	Source
	LeaderEpoch int32
	Offset      int64
	Index       int32 // of the event in its record, from 0
}
