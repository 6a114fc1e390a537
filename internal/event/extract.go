package event

// Header is a Kafka header.
type Header struct {
	Key   string
	Value []byte
}

// RecordView is what Extract reads of an intake record.
type RecordView struct {
	Value          []byte // nil: a tombstone
	Key            []byte // nil: none
	Headers        []Header
	KafkaTimestamp Timestamp
	Origin         Origin
}

// Extractor applies a mapping. It is not safe for concurrent use; Clone gives another.
type Extractor struct{}

// Compile prepares a mapping.
func Compile(m Mapping, limits Limits) (*Extractor, error) { panic("to be filled") }

// Clone returns an extractor for another goroutine.
func (x *Extractor) Clone() *Extractor { panic("to be filled") }

// Extract fills item with a KindEvent, or a KindDead with Reason and Detail, and tenant
// with its owner (Unroutable for a dead letter without a usable tenant). Item's bytes
// alias the record's or are never written again.
func (x *Extractor) Extract(rec *RecordView, item *Item, tenant *TenantID) { panic("to be filled") }
