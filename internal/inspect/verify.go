package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// Check names one promise that Verify looks at.
type Check string

// The checks, in the order of the report.
const (
	CheckLog        Check = "shard logs fold from the oldest record or checkpoint on (links, epochs, progress, ledgers)"
	CheckCheckpoint Check = "checkpoints hold what the records say"
	CheckObjects    Check = "referenced objects are there, with their length and checksum"
	CheckIsolation  Check = "each file holds one tenant, one table, one bucket"
	CheckRows       Check = "rows of files match the records"
	CheckUnique     Check = "identities are unique in their tenant"
	CheckRouting    Check = "rows lie in the shard that the placements name"
	CheckIDs        Check = "id segments hold exactly the identities of the rows"
	CheckIntake     Check = "every intake offset is accounted for"
)

var checks = []Check{
	CheckLog, CheckCheckpoint, CheckObjects, CheckIsolation, CheckRows,
	CheckUnique, CheckRouting, CheckIDs, CheckIntake,
}

// maxExamples bounds the failures that a report names for each check.
const maxExamples = 10

// Result is what became of one check.
type Result struct {
	Checked  int64 // things looked at
	Failed   int64
	Examples []string // of failures, at most maxExamples
	Note     string   // why it was not, or not fully, looked at
}

// Report is the outcome of Verify.
type Report struct {
	Results map[Check]*Result
	Totals  shardlog.Totals
	Rows    int64 // of live events fragments
	Letters int64 // of live dead_letters fragments
	Files   int64
	Bytes   int64

	Vanished int64 // referenced objects that were replaced and collected during the check
}

func newReport() *Report {
	r := &Report{Results: map[Check]*Result{}}
	for _, c := range checks {
		r.Results[c] = &Result{}
	}
	return r
}

func (r *Report) fail(c Check, format string, args ...any) {
	res := r.Results[c]
	res.Failed++
	if len(res.Examples) < maxExamples {
		res.Examples = append(res.Examples, fmt.Sprintf(format, args...))
	}
}

// Failed is the number of failures of all checks.
func (r *Report) Failed() (n int64) {
	for _, res := range r.Results {
		n += res.Failed
	}
	return n
}

// Write prints the report for people.
func (r *Report) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "checked\tfailed\t  \t")
	for _, c := range checks {
		res := r.Results[c]
		note := ""
		if res.Note != "" {
			note = " (" + res.Note + ")"
		}
		fmt.Fprintf(tw, "%d\t%d\t  \t%s%s\n", res.Checked, res.Failed, c, note)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, c := range checks {
		for _, e := range r.Results[c].Examples {
			fmt.Fprintf(w, "FAILED %s: %s\n", c, e)
		}
	}
	t := r.Totals
	_, err := fmt.Fprintf(w, "events %d = stored %d + duplicate %d + conflict %d + dead %d; rows %d, letters %d, in %d files of %d bytes\n",
		t.Events, t.Stored, t.Duplicate, t.Conflict, t.Dead, r.Rows, r.Letters, r.Files, r.Bytes)
	return err
}

// IntakeRange is what the records of an intake partition must cover: from the
// log's start as Kafka has it now to the router's committed offset.
type IntakeRange struct {
	Topic     string // name, for people
	Source    event.Source
	From      int64
	Committed int64
}

// Verify checks every promise on the view. intake may be nil if Kafka can't be
// asked; why says so in the report. It returns an error only if the store can't
// be read; what is wrong with the store is in the report.
func (v *View) Verify(ctx context.Context, intake []IntakeRange, why string) (*Report, error) {
	r := newReport()
	r.Totals = v.Totals()
	for _, s := range v.Shards {
		if err := v.verifyLog(ctx, r, s); err != nil {
			return nil, err
		}
	}
	ids := newIDLedger()
	if err := v.verifyFragments(ctx, r, ids); err != nil {
		return nil, err
	}
	if err := v.verifySegments(ctx, r, ids); err != nil {
		return nil, err
	}
	ids.compare(r, v)
	if r.Vanished > 0 {
		r.Results[CheckObjects].Note = fmt.Sprintf("%d were replaced or expired, and collected, during the check; their rows were not looked at", r.Vanished)
	}
	if err := v.verifyIntake(ctx, r, intake, why); err != nil {
		return nil, err
	}
	return r, ctx.Err()
}

// referenced is an object that a shard's state names.
type referenced struct {
	shard event.ShardID
	what  string // for people
	key   string
	bytes int64
	sum   string
}

// object reads a referenced object and checks its length and sum. One that was replaced and
// collected since the view was made is no failure, and not there to be checked.
func (v *View) object(ctx context.Context, r *Report, o referenced) ([]byte, bool, error) {
	r.Results[CheckObjects].Checked++
	body, err := v.Objects.Get(ctx, o.key)
	what, key, bytes, sum := o.what, o.key, o.bytes, o.sum
	switch {
	case errors.Is(err, objstore.ErrNotFound):
		gone, err := v.vanished(ctx, o.shard, key)
		if err != nil {
			return nil, false, err
		}
		if gone {
			r.Vanished++
			break
		}
		r.fail(CheckObjects, "%s %s is missing", what, key)
	case err != nil:
		return nil, false, fmt.Errorf("read %s: %w", key, err)
	case int64(len(body)) != bytes:
		r.fail(CheckObjects, "%s %s has %d bytes, its record says %d", what, key, len(body), bytes)
	case objstore.Sum(body) != sum:
		r.fail(CheckObjects, "%s %s has the checksum %s, its record says %s", what, key, objstore.Sum(body), sum)
	default:
		return body, true, nil
	}
	return nil, false, nil
}

// verifyIntake finds intake offsets below the router's committed ones that no
// shard has classed.
func (v *View) verifyIntake(ctx context.Context, r *Report, intake []IntakeRange, why string) error {
	res := r.Results[CheckIntake]
	if intake == nil {
		res.Note = why
		return nil
	}
	if len(v.damage) > 0 {
		res.Note = "not checked: the log of a shard is damaged"
		return nil
	}
	union := shardlog.NewIntake()
	for _, s := range v.Shards {
		classed, err := v.classed(ctx, s)
		if err == nil {
			err = union.Merge(classed)
		}
		if isFinding(err) {
			r.fail(CheckIntake, "shard %d: %v", s.Shard(), err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("shard %d: %w", s.Shard(), err)
		}
	}
	for _, p := range intake {
		if p.Committed <= p.From {
			continue
		}
		res.Checked += p.Committed - p.From
		for _, hole := range union.Holes(shardlog.SourceFrom(p.Source), p.From, p.Committed) {
			r.fail(CheckIntake, "topic %s, partition %d: offsets %s are below the router's committed offset %d, but no shard has classed them",
				p.Topic, p.Source.Partition, hole, p.Committed)
		}
	}
	return nil
}

// classed are the intake offsets of a shard, at least those up to its state in the view: where old objects were deleted
// since, those of the newest state.
func (v *View) classed(ctx context.Context, s *shardlog.State) ([]shardlog.Intake, error) {
	log := v.logs[s.Shard()]
	for try := 1; ; try++ {
		out, err := log.Intake(ctx, s)
		if !errors.Is(err, chain.ErrTrimmed) || try == maxLogTries {
			return out, err
		}
		if s, err = log.Load(ctx); err != nil {
			return nil, err
		}
	}
}

// isFinding says whether an error of the log means that the store is not as it
// was left, and not that it can't be read.
func isFinding(err error) bool {
	return errors.Is(err, shardlog.ErrCorrupt)
}
