package idseg

import "encoding/binary"

// reseal corrects the checksums of fixed fields and heads in a mutated object,
// so that fuzzing gets behind them.
func reseal(b []byte) {
	if len(b) < objectBytes {
		return
	}
	for at := objectBytes; at < len(b); {
		n := resealPart(b[at:])
		if n <= 0 {
			return
		}
		at += n
	}
}

// resealPart returns the part's length as its fixed fields tell it; 0 if unusable.
func resealPart(b []byte) int {
	if len(b) < fixedBytes {
		return 0
	}
	binary.LittleEndian.PutUint32(b[fixedBytes-sumBytes:], checksum(b[:fixedBytes-sumBytes]))
	f, err := decodeFixed(b)
	if err != nil || int64(f.headBytes) > int64(len(b)) {
		return 0
	}
	head := b[:f.headBytes]
	binary.LittleEndian.PutUint32(head[len(head)-sumBytes:], checksum(head[:len(head)-sumBytes]))
	if n := uint64(f.headBytes) + f.ids*EntryBytes; n <= uint64(len(b)) {
		return int(n)
	}
	return 0
}
