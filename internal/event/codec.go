package event

import "errors"

// Errors of DecodeEnvelope.
var (
	ErrCorrupt     = errors.New("event: corrupt envelope")
	ErrNewerFormat = errors.New("event: envelope of a newer format")
)

// AppendEnvelope appends the encoded envelope to dst.
func AppendEnvelope(dst []byte, e *Envelope) []byte { panic("to be filled") }

// DecodeEnvelope fills e from b, whose bytes the items alias; Items' memory is used again.
func DecodeEnvelope(b []byte, e *Envelope) error { panic("to be filled") }

// Builder gathers the items of one tenant into an envelope whose size is known at each step.
type Builder struct{}

// Reset begins an envelope.
func (b *Builder) Reset(tenant TenantID) { panic("to be filled") }

// Len is the number of items.
func (b *Builder) Len() int { panic("to be filled") }

// Size is the encoded envelope's size, exactly.
func (b *Builder) Size() int { panic("to be filled") }

// SizeWith is an upper bound of Size after Append(it).
func (b *Builder) SizeWith(it *Item) int { panic("to be filled") }

// Append copies the item in. It returns false if the envelope holds MaxItems already.
func (b *Builder) Append(it *Item) bool { panic("to be filled") }

// Finish appends the encoded envelope to dst. The builder may be Reset then.
func (b *Builder) Finish(dst []byte, placementVersion uint64) []byte { panic("to be filled") }

// MaxItems bounds the items of an envelope.
const MaxItems = 1 << 16

// MaxDetail bounds Item.Detail in bytes.
const MaxDetail = 200
