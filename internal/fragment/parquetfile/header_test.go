package parquetfile

import (
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Thrift's own decoder reads the headers that are written, and so does ours.
func TestHeadersAreThrift(t *testing.T) {
	for _, h := range []pageHeader{
		{kind: format.DataPage, encoding: format.RLEDictionary, values: 1, raw: 1, compressed: 10, crc: -1},
		{kind: format.DataPage, encoding: format.Plain, values: PageRows, raw: 1<<31 - 1, compressed: 1<<31 - 1, crc: 1<<31 - 1},
		{kind: format.DictionaryPage, encoding: format.Plain, values: maxInterned, raw: maxInternedBytes, compressed: 300, crc: -1 << 31},
		{kind: format.DataPage, encoding: format.DeltaBinaryPacked, crc: 0},
	} {
		b := appendHeader([]byte("before"), h)[len("before"):]
		ours, n, err := parseHeader(b)
		if err != nil || n != len(b) || ours != h {
			t.Errorf("%+v read back is %+v, %d of %d bytes, %v", h, ours, n, len(b), err)
		}
		var theirs format.PageHeader
		if err := thrift.Unmarshal(&compact, b, &theirs); err != nil {
			t.Errorf("%+v: %v", h, err)
			continue
		}
		var values int32
		var encoding format.Encoding
		if d := theirs.DataPageHeader; d.Valid {
			values, encoding = d.V.NumValues, d.V.Encoding
			if d.V.DefinitionLevelEncoding != format.RLE || d.V.RepetitionLevelEncoding != format.RLE {
				t.Errorf("%+v has levels of another encoding", theirs)
			}
		}
		if d := theirs.DictionaryPageHeader; d.Valid {
			values, encoding = d.V.NumValues, d.V.Encoding
		}
		got := pageHeader{theirs.Type, encoding, int(values), int64(theirs.UncompressedPageSize), int64(theirs.CompressedPageSize), int64(theirs.CRC)}
		if got != h {
			t.Errorf("%+v as Thrift reads it is %+v", h, got)
		}
	}
}
