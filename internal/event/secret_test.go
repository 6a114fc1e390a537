package event

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// TestFault_filter_as_truth_hash_has_a_secret: ids that were crafted to collide, in the bits that a filter or a table looks
// at, under one store's seed do not collide under another's: who does not know the seed can craft none. Nor do fields run
// into each other.
func TestFault_filter_as_truth_hash_has_a_secret(t *testing.T) {
	known, secret := NewHasher(Seed{1}), NewHasher(Seed{2})
	const bits, pairs = 20, 300
	low := func(h Hash) uint32 { return binary.LittleEndian.Uint32(h[:4]) & (1<<bits - 1) }
	first := map[uint32]string{}
	crafted, still, routed := 0, 0, 0
	for n := 0; crafted < pairs; n++ {
		id := fmt.Sprint("id-", n)
		at := low(known.Identity("acme", 1, []byte(id)))
		other, ok := first[at]
		if !ok {
			first[at] = id
			continue
		}
		crafted++
		if low(secret.Identity("acme", 1, []byte(id))) == low(secret.Identity("acme", 1, []byte(other))) {
			still++
		}
		if secret.Routing([]byte(id))%64 == secret.Routing([]byte(other))%64 {
			routed++
		}
	}
	if still > 2 || routed > pairs/16 {
		t.Errorf("of %d pairs that collide under one seed, %d collide under another, and %d go to one of 64 shards", pairs, still, routed)
	}
	seen := map[Hash]string{}
	for _, f := range []struct {
		tenant, id string
		at         Timestamp
	}{{"a", "bc", 1}, {"ab", "c", 1}, {"abc", "", 1}, {"a", "bc", 256}, {"a", "\x00bc", 1}, {"a\x00", "bc", 1}, {"a", "bc\x00", 1}, {"a", "b", 1}} {
		text := fmt.Sprintf("%q %q %d", f.tenant, f.id, f.at)
		h := secret.Identity(TenantID(f.tenant), f.at, []byte(f.id))
		if was, ok := seen[h]; ok {
			t.Errorf("%s and %s have one hash", was, text)
		}
		seen[h] = text
	}
}
