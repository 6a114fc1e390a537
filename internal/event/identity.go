package event

// Seed is the store's secret: the key of every hash that decides something.
type Seed [16]byte

// Hash is the keyed 128-bit hash of an identity.
type Hash [16]byte
