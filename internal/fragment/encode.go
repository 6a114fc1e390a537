package fragment

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment/parquetfile"
	"github.com/togodb/togo/internal/objstore"
)

// The keys of a file's metadata.
const (
	metaFormat  = "togo.format"
	metaTenant  = "togo.tenant"
	metaTable   = "togo.table"
	metaBucket  = "togo.bucket"
	metaSeq     = "togo.seq"
	metaSortKey = "togo.sort_key"
)

// createdBy is the writer as it stands in files; it names no build, so that
// the same rows give the same bytes.
const createdBy = "togo version 1"

// MaxInputBytes bounds the payloads of one fragment: far above a flush, and low enough
// that no column's text outgrows its 32-bit offsets.
const MaxInputBytes = 1 << 30

// Encode turns rows into a Parquet file: it asks columns for those that it
// needs (which may extend the tenant's list in the store) and sorts the rows.
// It panics if there are no rows. An event whose payload is no good JSON object fails
// the whole; router and writer decode with the decoder that is used here, so that is
// their bug or damage on the way.
func Encode(ctx context.Context, in Input, columns ColumnSource) (*File, error) {
	if len(in.Rows) == 0 {
		panic("fragment: no rows")
	}
	size := 0
	for i := range in.Rows {
		size += len(in.Rows[i].Payload)
	}
	if size > MaxInputBytes {
		return nil, fmt.Errorf("fragment: %d bytes of payload in one fragment, the limit is %d", size, MaxInputBytes)
	}
	b := builders.Get().(*builder)
	defer func() {
		b.release()
		builders.Put(b)
	}()
	if in.Kind == DeadLetters {
		b.begin(&in, NewColumns(0), true)
		b.letters()
		return b.finish()
	}
	known, err := columns.Ensure(ctx, in.Tenant, nil)
	if err != nil {
		return nil, err
	}
	for fixed := false; ; fixed = true {
		b.begin(&in, known, fixed)
		if err := b.events(); err != nil {
			return nil, err
		}
		if len(b.need) == 0 {
			return b.finish()
		}
		if known, err = columns.Ensure(ctx, in.Tenant, b.need); err != nil {
			return nil, err
		}
		if known.has(b.need) {
			b.name(known)
			return b.finish()
		}
		// The list is full (others filled it meanwhile, or this input has too many):
		// what has no column goes to _rest, in a second pass that asks for nothing.
	}
}

// Column positions of our own columns: they stand first in files, in this order, under
// fixed field ids.
var ownSchema = []struct {
	name     string
	kind     parquetfile.Kind
	required bool
	tables   Kind // 0: both
}{
	{colTimestamp, parquetfile.TimestampMicros, true, 0},
	{colNanos, parquetfile.Int32, true, 0},
	{colID, parquetfile.String, true, 0},
	{colIngestedAt, parquetfile.TimestampMicros, true, 0},
	{colSourcePartition, parquetfile.Int32, true, 0},
	{colSourceOffset, parquetfile.Int64, true, 0},
	{colSeq, parquetfile.Int64, true, 0},
	{colRest, parquetfile.JSON, false, Events},
	{colKeys, parquetfile.JSON, false, Events},
	{colRaw, parquetfile.Bytes, false, Events},
	{colReason, parquetfile.String, true, DeadLetters},
	{colDetail, parquetfile.String, false, DeadLetters},
	{colSourceCluster, parquetfile.String, true, DeadLetters},
	{colSourceTopic, parquetfile.String, true, DeadLetters},
	{colFormat, parquetfile.String, true, DeadLetters},
	{colPayload, parquetfile.Bytes, true, DeadLetters},
}

// OwnColumns are the columns that fragments of a kind have beside those of attributes, under the names that
// they have in files. nanos is left out: it is the last three digits of timestamp.
func OwnColumns(kind Kind) []parquetfile.Field {
	var out []parquetfile.Field
	for _, s := range ownSchema {
		if (s.tables == 0 || s.tables == kind) && s.name != colNanos {
			out = append(out, parquetfile.Field{Name: s.name, Kind: s.kind, Required: s.required})
		}
	}
	return out
}

// own gives the column of ownSchema with this name.
func (b *builder) own(name string) *parquetfile.Column {
	for i := range ownSchema {
		if ownSchema[i].name == name {
			return b.ownColumns[i]
		}
	}
	panic("fragment: no own column " + name)
}

// floorMicros splits a time so that micros*1000 + nanos is it and nanos is 0 to 999,
// before 1970 too.
func floorMicros(t event.Timestamp) (micros, nanos int64) {
	micros, nanos = int64(t)/1000, int64(t)%1000
	if nanos < 0 {
		micros, nanos = micros-1, nanos+1000
	}
	return micros, nanos
}

// identityColumns are the columns that both tables have.
type identityColumns struct {
	timestamp, nanos, id, ingested, partition, offset, seq *parquetfile.Column
}

func (b *builder) identityColumns() identityColumns {
	return identityColumns{b.own(colTimestamp), b.own(colNanos), b.own(colID), b.own(colIngestedAt),
		b.own(colSourcePartition), b.own(colSourceOffset), b.own(colSeq)}
}

// identity fills them for a row. (Row by row, with the payload, as both lie side by side in memory.)
func (b *builder) identity(c *identityColumns, i int, row *Row) {
	us, ns := floorMicros(row.Timestamp)
	c.timestamp.AppendInt(i, us)
	c.nanos.AppendInt(i, ns)
	b.anyNanos = b.anyNanos || ns != 0
	b.text = appendID(b.text[:0], row.ID)
	c.id.AppendBytes(i, b.text)
	us, _ = floorMicros(row.IngestedAt)
	c.ingested.AppendInt(i, us)
	c.partition.AppendInt(i, int64(row.Source.Partition))
	c.offset.AppendInt(i, row.Offset)
	c.seq.AppendInt(i, int64(b.in.Seq))
}

func (b *builder) letters() {
	identity := b.identityColumns()
	reason, detail := b.own(colReason), b.own(colDetail)
	cluster, topic := b.own(colSourceCluster), b.own(colSourceTopic)
	format, payload := b.own(colFormat), b.own(colPayload)
	for i := range b.in.Rows {
		row := &b.in.Rows[i]
		b.identity(&identity, i, row)
		reason.AppendBytes(i, []byte(row.Letter.Reason))
		if row.Letter.Detail != "" {
			detail.AppendBytes(i, validText(row.Letter.Detail))
		}
		cluster.AppendBytes(i, validText(row.Source.Cluster))
		topic.AppendBytes(i, []byte(row.Source.Topic.String()))
		format.AppendBytes(i, []byte(formatName(row.Format)))
		payload.AppendBytes(i, row.Payload)
	}
}

func validText(s string) []byte { return []byte(strings.ToValidUTF8(s, "\uFFFD")) }

func formatName(f event.PayloadFormat) string {
	switch f {
	case event.FormatJSON:
		return "json"
	case event.FormatText:
		return "text"
	}
	return strconv.Itoa(int(f)) // of a record that no rule fitted
}

func formatOf(name string) event.PayloadFormat {
	switch name {
	case "json":
		return event.FormatJSON
	case "text":
		return event.FormatText
	}
	n, _ := strconv.Atoi(name)
	return event.PayloadFormat(n)
}

// finish writes the file.
func (b *builder) finish() (*File, error) {
	in := b.in
	var columns []*parquetfile.Column
	for i, c := range b.ownColumns {
		s := &ownSchema[i]
		if s.tables != 0 && s.tables != in.Kind || c.Len() == 0 || s.name == colNanos && !b.anyNanos {
			continue
		}
		c.Required = s.required
		columns = append(columns, c)
	}
	columns = append(columns, b.sorted()...)
	bloomNames := in.BloomColumns
	if bloomNames == nil {
		bloomNames = DefaultBloomColumns
	}
	for _, c := range columns {
		for _, name := range bloomNames {
			c.Bloom = c.Bloom || c.Name == name
		}
	}
	key := sortKey(in)
	order := b.order(key)
	o := parquetfile.Options{CreatedBy: createdBy, Metadata: []parquetfile.KeyValue{
		{Key: metaFormat, Value: strconv.Itoa(FormatVersion)},
		{Key: metaTenant, Value: string(in.Tenant)},
		{Key: metaTable, Value: in.Kind.String()},
		{Key: metaBucket, Value: strconv.FormatInt(in.Bucket, 10)},
		{Key: metaSeq, Value: strconv.FormatUint(in.Seq, 10)},
		{Key: metaSortKey, Value: strings.Join(key, ",")},
	}, SortedBy: b.sortedBy(key)}
	body, err := parquetfile.Write(make([]byte, 0, b.payloadBytes/4+16<<10), columns, order, o)
	if err != nil {
		return nil, fmt.Errorf("fragment: %w", err)
	}
	f := &File{Body: body, Rows: int64(len(in.Rows)), Min: in.Rows[0].Timestamp, Max: in.Rows[0].Timestamp, Sum: objstore.Sum(body)}
	for i := range in.Rows {
		f.Min, f.Max = min(f.Min, in.Rows[i].Timestamp), max(f.Max, in.Rows[i].Timestamp)
	}
	f.Ranges = b.ranges(key)
	f.SortKey = SortKeyText(key)
	paths := keyPaths(key, in.KeyColumns)
	f.KeyMin, f.KeyMax = b.keyText(paths, int(order[0])), b.keyText(paths, int(order[len(order)-1]))
	return f, nil
}
