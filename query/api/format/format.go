// Package format writes answers: JSON, NDJSON, CSV and Arrow's IPC stream.
//
// What it promises:
//
//  1. A value reads back as it is: a BIGINT with all its digits, a DOUBLE in the shortest form that gives it again, an instant
//     to the nanosecond, JSON as the event has it.
//  2. What is written of an answer that failed is not a whole answer of that format: JSON and NDJSON end with the error, CSV and
//     Arrow break off. Whoever sends it must break off the transfer, too.
//  3. A batch is written before Batch returns; nothing of it is kept.
package format

import (
	"fmt"
	"io"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/fail"
)

// Format is a form of an answer.
type Format string

// The formats.
const (
	JSON   Format = "json"
	NDJSON Format = "ndjson"
	CSV    Format = "csv"
	Arrow  Format = "arrow"
)

// Names are all formats, as a list for people.
const Names = "json, ndjson, csv, arrow"

// types are the media types, the first of each format is what an answer says.
var types = []struct {
	media  string
	format Format
}{
	{"application/json", JSON},
	{"application/x-ndjson", NDJSON},
	{"application/ndjson", NDJSON},
	{"application/jsonl", NDJSON},
	{"text/csv", CSV},
	{"application/vnd.apache.arrow.stream", Arrow},
}

// Parse reads a format's name.
func Parse(name string) (Format, error) {
	switch f := Format(name); f {
	case JSON, NDJSON, CSV, Arrow:
		return f, nil
	}
	return "", fmt.Errorf("there is no format %q, but %s", name, Names)
}

// ContentType is the media type of a format.
func (f Format) ContentType() string {
	for _, t := range types {
		if t.format == f {
			if f == CSV {
				return t.media + "; charset=utf-8; header=present"
			}
			return t.media
		}
	}
	panic("bug: no format " + string(f))
}

// Accepted chooses by an Accept header: the format with the greatest weight, of equal ones the first named. Nothing
// said, or anything accepted, is JSON.
func Accepted(accept string) (Format, error) {
	if strings.TrimSpace(accept) == "" {
		return JSON, nil
	}
	type choice struct {
		format Format
		weight float64
	}
	var choices []choice
	for part := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		weight := 1.0
		if q, ok := params["q"]; ok {
			if weight, err = strconv.ParseFloat(q, 64); err != nil {
				continue
			}
		}
		if weight <= 0 {
			continue
		}
		switch media {
		case "*/*", "application/*":
			choices = append(choices, choice{JSON, weight})
			continue
		case "text/*":
			choices = append(choices, choice{CSV, weight})
			continue
		}
		for _, t := range types {
			if t.media == media {
				choices = append(choices, choice{t.format, weight})
			}
		}
	}
	if len(choices) == 0 {
		return "", fmt.Errorf("the header Accept names no format that is there: application/json, application/x-ndjson, text/csv, application/vnd.apache.arrow.stream")
	}
	return slices.MaxFunc(choices, func(a, b choice) int {
		switch {
		case a.weight < b.weight:
			return -1
		case a.weight > b.weight:
			return 1
		}
		return 0
	}).format, nil
}

// Writer writes one answer. After Columns and any number of Batches comes one of End and Fail; Fail may come at any time.
type Writer interface {
	query.Sink
	// End closes a whole answer.
	End(*query.Summary, Statistics) error
	// Fail says, as far as the format can, that the answer is not whole.
	Fail(*fail.Error) error
}

// New writes an answer of a format. Each write to w is one batch, or less.
func New(f Format, w io.Writer) Writer {
	switch f {
	case JSON:
		return &jsonWriter{w: w}
	case NDJSON:
		return &ndjsonWriter{w: w}
	case CSV:
		return &csvWriter{w: w}
	case Arrow:
		return &arrowWriter{w: w}
	}
	panic("bug: no format " + string(f))
}
