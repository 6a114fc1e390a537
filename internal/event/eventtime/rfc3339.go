package eventtime

// two is the number of two digits at b[i:], or above 99.
func two(b []byte, i int) uint {
	hi, lo := uint(b[i]-'0'), uint(b[i+1]-'0')
	if hi > 9 || lo > 9 {
		return 100
	}
	return hi*10 + lo
}

// parseRFC3339 reads a time of at least 19 bytes.
func parseRFC3339(b []byte) (ns int64, err error) {
	century, year := two(b, 0), two(b, 2)
	month, day := two(b, 5), two(b, 8)
	hour, minute, second := two(b, 11), two(b, 14), two(b, 17)
	if century > 99 || year > 99 || b[4] != '-' || b[7] != '-' || b[13] != ':' || b[16] != ':' {
		return 0, ErrNoTime
	}
	if c := b[10]; c != 'T' && c != ' ' && c != 't' {
		return 0, ErrNoTime
	}
	year += century * 100
	if hour > 23 || minute > 59 || second > 60 || day == 0 || month-1 > 11 || day > daysIn(year, month) {
		return 0, ErrNoTime
	}
	rest := b[19:]
	nanos := int64(0)
	if len(rest) > 0 && (rest[0] == '.' || rest[0] == ',') {
		if nanos, rest = fraction(rest[1:]); rest == nil {
			return 0, ErrNoTime
		}
	}
	offset, ok := zone(rest)
	if !ok {
		return 0, ErrNoTime
	}
	seconds := daysSince1970(year, month, day)*86400 + int64(hour*3600+minute*60+second) - offset
	return fromSeconds(seconds, nanos)
}

// fraction reads digits to nanoseconds and returns what follows them; nil if there are none.
func fraction(b []byte) (nanos int64, rest []byte) {
	i := 0
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if i < 9 {
			nanos = nanos*10 + int64(b[i]-'0')
		}
	}
	if i == 0 {
		return 0, nil
	}
	if i < 9 {
		nanos *= int64(powers[9-i])
	}
	return nanos, b[i:]
}

// zone reads the offset to UTC in seconds.
func zone(b []byte) (offset int64, ok bool) {
	if len(b) == 0 {
		return 0, true
	}
	if b[0] == ' ' {
		b = b[1:]
	}
	if len(b) == 1 {
		return 0, b[0] == 'Z' || b[0] == 'z'
	}
	if len(b) < 3 || b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	hours, minutes := two(b, 1), uint(0)
	switch {
	case len(b) == 3:
	case len(b) == 5:
		minutes = two(b, 3)
	case len(b) == 6 && b[3] == ':':
		minutes = two(b, 4)
	default:
		return 0, false
	}
	if hours > 23 || minutes > 59 {
		return 0, false
	}
	offset = int64(hours*3600 + minutes*60)
	if b[0] == '-' {
		offset = -offset
	}
	return offset, true
}

var monthDays = [13]uint{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

func daysIn(year, month uint) uint {
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 29
	}
	return monthDays[month]
}

// daysSince1970 counts in years that begin with March, so that the leap day is the last.
func daysSince1970(year, month, day uint) int64 {
	if month <= 2 {
		month += 12
		year += 399 // one less, and a whole cycle of 400 more: never below zero
	} else {
		year += 400
	}
	day += (153*(month-3)+2)/5 - 1
	day += year*365 + year/4 - year/100 + year/400
	return int64(day) - (719468 + 146097)
}

// fromSeconds is a time of whole seconds and 0 <= nanos < 1e9.
func fromSeconds(seconds, nanos int64) (ns int64, err error) {
	const first, last = -9223372037, 9223372036 // the seconds that int64 nanoseconds begin and end in
	switch {
	case seconds < first || seconds == first && nanos < 145224192:
		return 0, ErrTooEarly
	case seconds > last || seconds == last && nanos > 854775807:
		return 0, ErrTooLate
	}
	return seconds*1e9 + nanos, nil // may wrap in between; the sum fits
}
