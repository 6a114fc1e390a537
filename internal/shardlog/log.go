package shardlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// Config of a Log; zero fields take their default.
type Config struct {
	Now      func() time.Time // for Record.TimeMS alone; time.Now
	NewNonce func() string    // chain.NewNonce
	Logger   *slog.Logger     // slog.Default
	Metrics  *Metrics         // nil: none; one for all shards of a process
	Backoff  chain.Backoff    // between tries of a write
	// Parallel bounds the requests that one call has under way at a time, for
	// reading and for checkpoints; 8. With 1 the order of requests is fixed.
	Parallel int
	// A checkpoint is due after so many records, or so many bytes of them: what a
	// start has to read behind the newest checkpoint. 64; 8 MiB.
	CheckpointRecords int
	CheckpointBytes   int64
}

const (
	defaultParallel          = 8
	defaultCheckpointRecords = 64
	defaultCheckpointBytes   = 8 << 20
)

// Validate says what is wrong with the settings.
func (c Config) Validate() error {
	if c.Parallel < 0 || c.CheckpointRecords < 0 || c.CheckpointBytes < 0 {
		return errors.New("shardlog: parallel, checkpoint_records and checkpoint_bytes must not be negative")
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewNonce == nil {
		c.NewNonce = chain.NewNonce
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	if c.Parallel == 0 {
		c.Parallel = defaultParallel
	}
	if c.CheckpointRecords == 0 {
		c.CheckpointRecords = defaultCheckpointRecords
	}
	if c.CheckpointBytes == 0 {
		c.CheckpointBytes = defaultCheckpointBytes
	}
	return c
}

// Log reads and appends one shard's log and its checkpoints. It holds no state of
// the log, so any number of goroutines may use it, each with a State of its own.
type Log struct {
	store objstore.Store
	shard event.ShardID
	chain chain.Log
	cfg   Config
	log   *slog.Logger
}

// OpenWith names the log of a shard in a store; it does no I/O. The settings must be
// valid.
func OpenWith(store objstore.Store, shard event.ShardID, cfg Config) *Log {
	if err := cfg.Validate(); err != nil {
		panic(err)
	}
	cfg = cfg.withDefaults()
	l := &Log{store: store, shard: shard, cfg: cfg, log: cfg.Logger.With("shard", shard)}
	l.chain = chain.Log{
		Store: store, Prefix: l.folder() + "/log", Base: l.folder() + "/base", Backoff: cfg.Backoff,
		OnRetry: func(p chain.Position, attempt int, err error) {
			cfg.Metrics.retries.Inc()
			l.log.Warn("append not settled, trying again", "position", uint64(p), "attempt", attempt, "error", err)
		},
	}
	return l
}

func (l *Log) folder() string { return "shards/" + l.shard.String() }

// Shard is the shard whose log this is.
func (l *Log) Shard() event.ShardID { return l.shard }

// Settle puts r at the position behind `at` until that position is settled: by r
// (won), or by the record of another, which is returned. stored are the bytes
// of the record that is there now; the caller applies it. Whether the
// fold takes r, the caller has asked before (State.Check).
//
// r's Format, Shard, Position and Prev are set, and its Nonce and TimeMS if they
// are not. After an error the position is open and the write may still land: the
// caller goes on with the same r at the same place, or drops all that it holds
// of the shard, and deletes nothing that r names. After a lost race r's nonce is cleared,
// for it will never land.
func (l *Log) Settle(ctx context.Context, at Head, r *Record) (won bool, found Record, stored []byte, err error) {
	if r.Nonce != "" && r.Position != 0 && r.Position != at.Position+1 {
		return false, Record{}, nil, fmt.Errorf("shardlog: shard %s: a record tried at %d and not settled there is tried at %d", l.shard, uint64(r.Position), uint64(at.Position)+1)
	}
	at.address(l.shard, r)
	if r.Nonce == "" {
		r.Nonce = l.cfg.NewNonce()
	}
	if r.TimeMS == 0 {
		r.TimeMS = l.cfg.Now().UnixMilli()
	}
	r.tidy()
	body, err := Encode(r)
	if err != nil {
		return false, Record{}, nil, fmt.Errorf("%w: shard %s: %w", ErrRefused, l.shard, err)
	}
	begin := time.Now()
	nonce := r.Nonce
	outcome, err := l.chain.Append(ctx, r.Position, body, func(b []byte) bool { return nonceOf(b) == nonce })
	if err != nil {
		return false, Record{}, nil, fmt.Errorf("shard %s: %w", l.shard, err)
	}
	if outcome.Won {
		l.cfg.Metrics.appended(r.Kind, len(body), time.Since(begin))
		return true, *r, body, nil
	}
	l.cfg.Metrics.lost.Inc()
	r.Nonce, r.TimeMS = "", 0
	found, err = l.decode(at.Position+1, outcome.Body)
	return false, found, outcome.Body, err
}

// decode reads the record found at p.
func (l *Log) decode(p chain.Position, body []byte) (Record, error) {
	r, err := Decode(body)
	if errors.Is(err, ErrNewerFormat) {
		return r, fmt.Errorf("shard %s, position %d: %w", l.shard, uint64(p), err)
	}
	if err != nil {
		return r, corrupt(l.shard, p, err)
	}
	return r, nil
}

// Append settles position s.Position()+1. r's Format, Shard, Position, Prev and
// Nonce are set by it (a nonce that is there is kept: a second call with the same
// record after an error goes on with the same attempt). If ours won, it is
// applied to s and won is true. Else the record found there is applied to s and
// returned: the caller judges what it changed.
//
// A record that the fold would refuse is not written: ErrRefused, and ErrFenced
// too if the shard has another owner. After chain.ErrTrimmed s is to be loaded anew, and r, which may
// have been in the log, to be judged anew.
func (l *Log) Append(ctx context.Context, s *State, r *Record) (won bool, found Record, err error) {
	if r.Nonce != "" && r.Position != 0 && r.Position <= s.Position() {
		// s has followed the log past the place where r was tried.
		body, err := l.chain.Read(ctx, r.Position)
		if err == nil || errors.Is(err, objstore.ErrNotFound) {
			err = cmp.Or(l.chain.Confirm(ctx, r.Position), err)
		}
		if err != nil {
			return false, Record{}, fmt.Errorf("shard %s: %w", l.shard, err)
		}
		found, err := l.decode(r.Position, body)
		if err != nil || found.Nonce == r.Nonce {
			return err == nil, found, err
		}
		r.Nonce, r.TimeMS, r.Position = "", 0, 0
	}
	if err := s.Check(r); err != nil {
		return false, Record{}, err
	}
	won, found, stored, err := l.Settle(ctx, s.Head(), r)
	if err != nil {
		return false, found, err
	}
	return won, found, s.Apply(found, stored)
}

// maxClaimTries bounds the races that one claim may lose: each is lost to a
// record of another, and a shard whose log grows faster than we can claim it has
// an owner at work.
const maxClaimTries = 32

// Claim reads to the head and appends a claim; on a lost race it reads on and
// tries again, a bounded number of times (ErrLostRaces). nonce is the claim's, as
// it stands in the names of this owner's uploads. The state that the
// owner goes on from is s, and nothing else that it knew of the shard.
func (l *Log) Claim(ctx context.Context, s *State, owner, incarnation string) (e Epoch, nonce string, err error) {
	if _, err := l.Follow(ctx, s); err != nil {
		return 0, "", err
	}
	for range maxClaimTries {
		claim := Claim{Owner: owner, Incarnation: incarnation, Epoch: s.Epoch() + 1}
		r := Record{Kind: KindClaim, Claim: &claim}
		won, _, err := l.Append(ctx, s, &r)
		if errors.Is(err, chain.ErrTrimmed) {
			err = l.reload(ctx, s, err)
		}
		if err != nil {
			return 0, "", fmt.Errorf("claim shard %s: %w", l.shard, err)
		}
		if won {
			l.claimed(ctx, s)
			l.log.Info("claimed", "epoch", uint64(claim.Epoch), "position", uint64(s.Position()), "owner", owner)
			return claim.Epoch, s.ClaimNonce(), nil
		}
	}
	return 0, "", fmt.Errorf("claim shard %s: %w: %d", l.shard, ErrLostRaces, maxClaimTries)
}

// Release hands the shard over that was claimed with epoch e. It is done when the
// release stands, and fails with ErrFenced if another has claimed meanwhile.
func (l *Log) Release(ctx context.Context, s *State, e Epoch) error {
	return l.insist(ctx, s, func() (*Record, error) {
		return &Record{Kind: KindRelease, Release: &Release{Epoch: e}}, nil
	})
}

// AcceptGap appends the gap that makes of the newest state, so that an operator's
// decision holds against a busy log. make may refuse.
func (l *Log) AcceptGap(ctx context.Context, s *State, make func(*State) (*Gap, error)) error {
	if _, err := l.Follow(ctx, s); err != nil {
		return err
	}
	return l.insist(ctx, s, func() (*Record, error) {
		gap, err := make(s)
		return &Record{Kind: KindGap, Gap: gap}, err
	})
}

// insist appends a record that is made anew after each lost race, and after the log was
// loaded anew.
func (l *Log) insist(ctx context.Context, s *State, make func() (*Record, error)) error {
	for range maxClaimTries {
		r, err := make()
		if err != nil {
			return err
		}
		won, _, err := l.Append(ctx, s, r)
		if errors.Is(err, chain.ErrTrimmed) {
			err = l.reload(ctx, s, err)
		}
		if won || err != nil {
			return err
		}
	}
	return fmt.Errorf("shard %s: %w: %d", l.shard, ErrLostRaces, maxClaimTries)
}
