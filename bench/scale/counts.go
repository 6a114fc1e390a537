package scale

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/internal/objstore"
)

var quiet = slog.New(slog.DiscardHandler)

// counts are requests to a store, by what they cost.
type counts struct {
	writes, reads, lists, deletes int64
	bytesWritten, bytesRead       int64
}

func (c counts) total() int64 { return c.writes + c.reads + c.lists + c.deletes }

func (c counts) less(d counts) counts {
	return counts{c.writes - d.writes, c.reads - d.reads, c.lists - d.lists, c.deletes - d.deletes, c.bytesWritten - d.bytesWritten, c.bytesRead - d.bytesRead}
}

func (c counts) plus(d counts) counts {
	return counts{c.writes + d.writes, c.reads + d.reads, c.lists + d.lists, c.deletes + d.deletes, c.bytesWritten + d.bytesWritten, c.bytesRead + d.bytesRead}
}

// counted reads the counters of an instrumented store.
func counted(registry *prometheus.Registry) (counts, error) {
	var c counts
	families, err := registry.Gather()
	if err != nil {
		return c, err
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			op := ""
			for _, label := range m.GetLabel() {
				if label.GetName() == "op" {
					op = label.GetValue()
				}
			}
			v := int64(m.GetCounter().GetValue())
			switch f.GetName() {
			case "togo_objstore_requests_total":
				switch objstore.Op(op) {
				case objstore.OpPut, objstore.OpPutIfAbsent:
					c.writes += v
				case objstore.OpGet, objstore.OpGetRange:
					c.reads += v
				case objstore.OpList:
					c.lists += v
				case objstore.OpDelete:
					c.deletes += v
				}
			case "togo_objstore_bytes_total":
				switch objstore.Op(op) {
				case objstore.OpGet, objstore.OpGetRange:
					c.bytesRead += v
				default:
					c.bytesWritten += v
				}
			}
		}
	}
	return c, nil
}
