package parquetfile

import (
	"bytes"
	"errors"

	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Filter is the Bloom filter of a column chunk of byte arrays.
type Filter struct{ blocks *bytes.Reader }

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
	return &Filter{bytes.NewReader(b[len(b)-in.Len():])}, nil
}

// Has is false if the chunk surely has not this value.
func (f *Filter) Has(value string) bool {
	ok, err := bloom.CheckSplitBlock(f.blocks, f.blocks.Size(), bloom.XXH64{}.Sum64([]byte(value)))
	return ok || err != nil
}
