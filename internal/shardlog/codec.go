package shardlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Format is the number of the record format that this code writes; it reads
// this one and those below.
const Format = 1

// MaxRecordBytes bounds one record: the append of a worker that flushes
// thousands of tenants at once needs a few MiB, and a reader holds some
// records in memory at a time.
const MaxRecordBytes = 64 << 20

// Encode is the record's one canonical form. It fails on a record that has no
// such form (text that is not UTF-8, or too large).
func Encode(r *Record) ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	if len(b) > MaxRecordBytes {
		return nil, refuse("a record of %d bytes; the limit is %d", len(b), MaxRecordBytes)
	}
	if bytes.Contains(b, []byte(`\ufffd`)) {
		// Either text that says so, or bytes that are no text.
		if _, err := Decode(b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Decode reads a record strictly: unknown or repeated fields, another spelling
// of the same content, a body that Kind does not name, are no record. The
// error is ErrNewerFormat, or tells what is wrong (the caller knows where).
func Decode(b []byte) (Record, error) {
	if len(b) > MaxRecordBytes {
		return Record{}, refuse("a record of %d bytes; the limit is %d", len(b), MaxRecordBytes)
	}
	if err := checkFormat(b, Format); err != nil {
		return Record{}, err
	}
	var r Record
	if err := decodeStrict(b, &r); err != nil {
		return Record{}, refuse("no record: %v", err)
	}
	if err := r.checkBody(); err != nil {
		return Record{}, err
	}
	again, err := json.Marshal(&r)
	if err != nil || !bytes.Equal(again, b) {
		return Record{}, refuse("no record: not in canonical form")
	}
	return r, nil
}

// currentFormat is how a text of this format begins.
var currentFormat = fmt.Appendf(nil, `{"format":%d,`, Format)

// checkFormat looks at the format number alone, which every format has: it is at most newest.
func checkFormat(b []byte, newest int) error {
	// A text of ours needs no reading of its own for it, which is a quarter of a start's CPU time. A second
	// key of the name, wherever it stands, would count instead.
	if bytes.HasPrefix(b, currentFormat) && bytes.Count(b, []byte(`"format"`)) == 1 {
		return nil
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return refuse("no format number: %v", err)
	}
	switch {
	case head.Format > newest:
		return fmt.Errorf("%w: format %d, this Togo knows %d", ErrNewerFormat, head.Format, newest)
	case head.Format < 1:
		return refuse("format %d", head.Format)
	}
	return nil
}

func decodeStrict(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.InputOffset() != int64(len(b)) {
		return errors.New("bytes behind the end")
	}
	return nil
}

// bodies are the kinds with whether their field is set.
func (r *Record) bodies() map[Kind]bool {
	return map[Kind]bool{
		KindClaim: r.Claim != nil, KindAppend: r.Append != nil, KindRelease: r.Release != nil,
		KindGap: r.Gap != nil, KindExpire: r.Expire != nil, KindErase: r.Erase != nil,
		KindMergeBegin: r.MergeBegin != nil, KindMergeEnd: r.MergeEnd != nil,
		KindMergeAbort: r.MergeAbort != nil, KindQuarantine: r.Quarantine != nil,
	}
}

// checkBody says whether exactly the field that Kind names is set.
func (r *Record) checkBody() error {
	if r.Kind == KindRewrite {
		return refuse("kind %q is reserved", r.Kind)
	}
	bodies := r.bodies()
	if _, known := bodies[r.Kind]; !known {
		return refuse("unknown kind %q", r.Kind)
	}
	for kind, set := range bodies {
		if set != (kind == r.Kind) {
			return refuse("a record of kind %q with the wrong body", r.Kind)
		}
	}
	return nil
}

// tidy drops the column ranges that have no canonical form: a range is only a
// help for pruning, and leaving it out is always safe.
func (r *Record) tidy() {
	fragments := func(fs []Fragment) {
		for i := range fs {
			if slices.ContainsFunc(fs[i].Ranges, ColumnRange.notText) {
				fs[i].Ranges = slices.DeleteFunc(slices.Clone(fs[i].Ranges), ColumnRange.notText)
			}
		}
	}
	if r.Append != nil {
		fragments(r.Append.Fragments)
	}
	if r.MergeEnd != nil {
		fragments(r.MergeEnd.Fragments)
	}
}

func (c ColumnRange) notText() bool {
	return !utf8.ValidString(c.Column) || !utf8.ValidString(c.Min) || !utf8.ValidString(c.Max)
}

// nonceOf reads the nonce of a record whatever else it holds; "" if it has none.
func nonceOf(b []byte) string {
	var head struct {
		Nonce string `json:"nonce"`
	}
	if json.Unmarshal(b, &head) != nil {
		return ""
	}
	return head.Nonce
}
