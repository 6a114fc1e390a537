package format

import (
	"strconv"
	"time"

	"github.com/togodb/togo/query/vec"
)

// appendInterval is an interval in words, as DuckDB has it: 1 year 2 months 3 days 04:05:06.789.
func appendInterval(dst []byte, s vec.Span) []byte {
	start := len(dst)
	part := func(n int32, unit string) {
		if n == 0 {
			return
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
		dst = append(append(dst, ' '), unit...)
		if n != 1 && n != -1 {
			dst = append(dst, 's')
		}
	}
	part(s.Months/12, "year")
	part(s.Months%12, "month")
	part(s.Days, "day")
	if s.Nanos == 0 && len(dst) > start {
		return dst
	}
	if len(dst) > start {
		dst = append(dst, ' ')
	}
	nanos := uint64(s.Nanos)
	if s.Nanos < 0 {
		dst, nanos = append(dst, '-'), -nanos
	}
	hours := nanos / uint64(time.Hour)
	if hours < 10 {
		dst = append(dst, '0')
	}
	dst = strconv.AppendUint(dst, hours, 10)
	rest := time.Duration(nanos % uint64(time.Hour))
	return time.Unix(0, int64(rest)).UTC().AppendFormat(dst, ":04:05.999999999")
}
