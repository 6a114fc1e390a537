package rangecache

import (
	"container/list"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/togodb/togo/internal/objstore"
)

// block is how many bytes share a checksum: what is read and compared beyond a range is at most two of them.
const block = 64 << 10

// magic begins each file, with the number of the format.
const magic = "togorng1"

var errDamaged = errors.New("not as it was written")

// part is a kept range of one object.
type part struct {
	object   *object
	from, to int64
	stored   time.Time     // when it was read from the store
	used     time.Time     // as the file's time says it
	size     int64         // of the file
	place    *list.Element // in Cache.lru; nil: dropped

	data []byte   // until it is on the disk
	sums []uint64 // of the blocks; nil: to be read from the file
	head int64    // where the bytes begin in the file
}

// name is that of its file.
func (p *part) name() string {
	return fmt.Sprintf("%s-%d-%d-%d", p.object.name, p.from, p.to-p.from, p.stored.UnixMilli())
}

func (p *part) file(dir string) string {
	return filepath.Join(dir, p.object.name[:2], p.name())
}

// headSize is the length of a part's header.
func headSize(identity string, n int64) int64 {
	return int64(len(magic)+4+len(identity)+16) + 8*blocks(n)
}

func blocks(n int64) int64 { return (n + block - 1) / block }

// identity is what a file says of whose part it is.
func identity(storeID, key string) string { return storeID + "\x00" + key }

// appendHead makes the header of a part with these bytes.
func appendHead(b []byte, identity string, from int64, data []byte) (head []byte, sums []uint64) {
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(identity)))
	b = append(b, identity...)
	b = binary.LittleEndian.AppendUint64(b, uint64(from))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(data)))
	for chunk := range slices.Chunk(data, block) {
		sums = append(sums, objstore.Sum64(chunk))
		b = binary.LittleEndian.AppendUint64(b, sums[len(sums)-1])
	}
	return b, sums
}

// maxIdentity is more than any store's id and key have.
const maxIdentity = 4 << 10

// readHead reads the header of the file of p, which is for this store and key.
func (p *part) readHead(f io.ReaderAt, storeID, key string) error {
	start := make([]byte, len(magic)+4)
	if _, err := f.ReadAt(start, 0); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(start[len(magic):]))
	if string(start[:len(magic)]) != magic || n > maxIdentity {
		return errDamaged
	}
	size := p.to - p.from
	head := make([]byte, int64(len(start))+n+16+8*blocks(size))
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	rest := head[len(start):]
	if string(rest[:n]) != identity(storeID, key) {
		return errDamaged
	}
	rest = rest[n:]
	if binary.LittleEndian.Uint64(rest) != uint64(p.from) || binary.LittleEndian.Uint64(rest[8:]) != uint64(size) {
		return errDamaged
	}
	sums := make([]uint64, 0, blocks(size))
	for rest = rest[16:]; len(rest) > 0; rest = rest[8:] {
		sums = append(sums, binary.LittleEndian.Uint64(rest))
	}
	p.sums, p.head = sums, int64(len(head))
	return nil
}

// readBlocks reads [from, to) of the object from the file, with whole blocks around it, and compares their checksums.
func readBlocks(f *os.File, p *part, sums []uint64, head, from, to int64) ([]byte, error) {
	first := (from - p.from) / block
	last := (to - p.from + block - 1) / block
	begin, end := first*block, min(last*block, p.to-p.from)
	data := make([]byte, end-begin)
	if _, err := f.ReadAt(data, head+begin); err != nil {
		return nil, err
	}
	at := first
	for chunk := range slices.Chunk(data, block) {
		if objstore.Sum64(chunk) != sums[at] {
			return nil, errDamaged
		}
		at++
	}
	begin += p.from
	return data[from-begin : to-begin : to-begin], nil
}
