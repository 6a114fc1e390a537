package shardlog

import (
	"slices"
	"strings"
	"testing"
)

func TestPackedRanges(t *testing.T) {
	for _, list := range [][]ColumnRange{
		nil,
		{{Column: "service", Min: "a", Max: "z", Nulls: 3}},
		{{}, {Column: strings.Repeat("x", 300), Min: "", Max: "\x00\xff", Nulls: 1 << 40}},
	} {
		if got := unpackRanges(packRanges(list)); !slices.Equal(got, list) {
			t.Errorf("%v comes back as %v", list, got)
		}
	}
}
