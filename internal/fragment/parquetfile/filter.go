package parquetfile

import (
	"bytes"
	"errors"

	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Filter is the Bloom filter of a column chunk of byte arrays.
// It is safe for concurrent use.
type Filter struct{ blocks []byte }

// ReadFilter reads a filter with its header, whose checksum was compared before.
func ReadFilter(b []byte) (*Filter, error) {
	in := bytes.NewReader(b)
	var h format.BloomFilterHeader
	if err := thrift.NewDecoder((&thrift.CompactProtocol{}).NewReader(in)).Decode(&h); err != nil {
		return nil, err
	}
	if in.Len() == 0 || in.Len() != int(h.NumBytes) || in.Len()%bloom.BlockSize != 0 {
		return nil, errors.New("not as long as its header says")
	}
	return &Filter{b[len(b)-in.Len():]}, nil
}

// Has is false if the chunk surely has not this value.
func (f *Filter) Has(value string) bool {
	ok, err := bloom.CheckSplitBlock(bytes.NewReader(f.blocks), int64(len(f.blocks)), bloom.XXH64{}.Sum64([]byte(value)))
	return ok || err != nil
}
