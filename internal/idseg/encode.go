package idseg

// Encode writes the object that holds entries, in any order, and says where each
// bucket lies in it. It fails on an identity that is there twice (a bug of the
// caller) and never changes entries. No entries make an object without parts.
func Encode(entries []Entry, cfg Config) (body []byte, buckets []Bucket, err error) {
	panic("idseg: not built")
}
