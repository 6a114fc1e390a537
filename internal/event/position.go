package event

import (
	"encoding/hex"
	"strconv"
)

// AppendPositionID appends the id of an event that has none:
//
//	@<cluster>/<topic id, 32 hex digits>/<partition>/<leader epoch>/<offset>/<index>
//
// Numbers are decimal. The leader epoch parts the histories of one offset after an
// unclean election.
func AppendPositionID(dst []byte, o Origin) []byte {
	dst = append(dst, '@')
	dst = append(dst, o.Cluster...)
	dst = append(dst, '/')
	dst = hex.AppendEncode(dst, o.Topic[:])
	for _, n := range [...]int64{int64(o.Partition), int64(o.LeaderEpoch), o.Offset, int64(o.Index)} {
		dst = append(dst, '/')
		dst = strconv.AppendInt(dst, n, 10)
	}
	return dst
}

// PositionID is the id of an event that has none.
func PositionID(o Origin) []byte { return AppendPositionID(nil, o) }

// AppendLetterID appends the id of the dead letter of a position: the position's id and
// "/dead".
func AppendLetterID(dst []byte, o Origin) []byte {
	return append(AppendPositionID(dst, o), "/dead"...)
}

// LetterID is the id of the dead letter of a position.
func LetterID(o Origin) []byte { return AppendLetterID(nil, o) }

// AppendUserID appends the id that an event brought along. One that begins with "@"
// gets another "@", so that no such id equals one made of a position.
func AppendUserID(dst, id []byte) []byte {
	if len(id) > 0 && id[0] == '@' {
		dst = append(dst, '@')
	}
	return append(dst, id...)
}
