package calendar

import (
	"strconv"

	"github.com/togodb/togo/query/vec"
)

// AppendDate writes a date as 2006-01-02.
func AppendDate(dst []byte, date int64) []byte {
	year, month, day := Civil(date)
	bc := year <= 0
	if bc {
		year = 1 - year
	}
	dst = pad(dst, year, 4)
	dst = append(dst, '-')
	dst = pad(dst, int64(month), 2)
	dst = append(dst, '-')
	dst = pad(dst, int64(day), 2)
	if bc {
		dst = append(dst, " (BC)"...)
	}
	return dst
}

// AppendTimestamp writes a time as 2006-01-02 15:04:05.999999999, without the zeros at the end.
func AppendTimestamp(dst []byte, ns int64) []byte {
	date, clock := Split(ns)
	dst = AppendDate(dst, date)
	dst = append(dst, ' ')
	return appendClock(dst, clock)
}

// AppendTimestampTZ writes an instant in UTC, with +00 behind it.
func AppendTimestampTZ(dst []byte, ns int64) []byte {
	return append(AppendTimestamp(dst, ns), "+00"...)
}

// appendClock writes nanoseconds, not negative, as hours, minutes, seconds.
func appendClock(dst []byte, ns int64) []byte {
	dst = pad(dst, ns/Hour, 2)
	dst = append(dst, ':')
	dst = pad(dst, ns/Minute%60, 2)
	dst = append(dst, ':')
	dst = pad(dst, ns/Second%60, 2)
	if rest := ns % Second; rest != 0 {
		dst = append(dst, '.')
		dst = pad(dst, rest, 9)
		for dst[len(dst)-1] == '0' {
			dst = dst[:len(dst)-1]
		}
	}
	return dst
}

// AppendInterval writes an interval as "1 year 2 months 3 days 04:05:06.7".
func AppendInterval(dst []byte, s vec.Span) []byte {
	start := len(dst)
	part := func(n int32, one string) {
		if n == 0 {
			return
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
		dst = append(dst, ' ')
		dst = append(dst, one...)
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
	if s.Nanos >= 0 {
		return appendClock(dst, s.Nanos)
	}
	dst = append(dst, '-')
	if s.Nanos == -s.Nanos { // the least int64
		return append(dst, "2562047:47:16.854775808"...)
	}
	return appendClock(dst, -s.Nanos)
}

func pad(dst []byte, n int64, width int) []byte {
	var buf [20]byte
	i := len(buf)
	for n > 0 || i > len(buf)-width {
		i--
		buf[i] = byte('0' + n%10)
		n /= 10
	}
	return append(dst, buf[i:]...)
}
