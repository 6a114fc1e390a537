package garbage

import (
	"fmt"

	"github.com/togodb/togo/internal/shardlog"
)

// Verdict says what a state shows of an object.
type Verdict uint8

const (
	Unknown   Verdict = iota // not ours to delete: the state knows neither the object nor its creator
	Named                    // live, or set aside
	MayCommit                // its creator may still commit it
	Garbage                  // nothing names it, and nothing ever will
)

func (v Verdict) String() string {
	switch v {
	case Named:
		return "named"
	case MayCommit:
		return "may commit"
	case Garbage:
		return "garbage"
	}
	return "unknown"
}

// Judge says what a confirmed state shows of the object under key, whose creator is c, and
// why. The state must be of c's shard.
func Judge(s *shardlog.State, key string, c shardlog.Creator) (v Verdict, why string) {
	if c.Shard != s.Shard() {
		panic(fmt.Sprintf("garbage: %s judged by the state of shard %s", key, s.Shard()))
	}
	if s.Names(key) {
		return Named, "the shard log names it"
	}
	if c.Job > 0 {
		return judgeJob(s, c)
	}
	switch {
	case c.Epoch > s.Epoch():
		return MayCommit, fmt.Sprintf("epoch %d has been claimed since position %d", c.Epoch, uint64(s.Position()))
	case c.Epoch < s.Epoch():
		return Garbage, fmt.Sprintf("never committed by the owner of epoch %d, or removed since; the shard is at epoch %d", c.Epoch, s.Epoch())
	case c.Nonce != s.ClaimNonce():
		return Unknown, fmt.Sprintf("epoch %d was claimed under another nonce", c.Epoch)
	case s.Owner() == nil:
		return Garbage, fmt.Sprintf("never committed by the owner of epoch %d, or removed since; it has released the shard", c.Epoch)
	case c.Number < s.LowWater():
		return Garbage, fmt.Sprintf("given up by the owner of epoch %d, or removed since", c.Epoch)
	}
	return MayCommit, fmt.Sprintf("the owner of epoch %d may commit it", c.Epoch)
}

func judgeJob(s *shardlog.State, c shardlog.Creator) (Verdict, string) {
	if c.Job > s.Position() {
		return MayCommit, fmt.Sprintf("merge %s began since position %d", c.Nonce, uint64(s.Position()))
	}
	for _, j := range s.Jobs() {
		if j.Nonce == c.Nonce {
			return MayCommit, fmt.Sprintf("merge %s is open", c.Nonce)
		}
	}
	return Garbage, fmt.Sprintf("merge %s ended without it, or its output was removed since", c.Nonce)
}
