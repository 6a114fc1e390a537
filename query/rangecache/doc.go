// Package rangecache reads parts of objects and keeps them on a local disk. Objects never change and their keys are never used
// again, so what was read once stays true for as long as the object was.
//
// What it promises:
//
//  1. What GetRange gives are the bytes of the object, all that were asked for, or it fails. Each block of a kept part has a checksum that
//     is compared each time it is read; a part that is torn, damaged, of another store or of another object is dropped and
//     read from the store again.
//  2. Bytes that are kept or on their way are not asked for again: of requests that overlap at the same time one reads what they share. A
//     request that gives up takes none of the others with it.
//  3. What is on the disk stays below Config.MaxBytes; the least recently used parts go first. A part that was read from the store longer
//     ago than Config.KeepFor goes, however much it is used: what was erased from the store is not kept beyond that.
//  4. A restart finds what was there. A disk that is full or broken makes reading slower, and never fails it.
//
// # On the disk
//
// Each part is a file <dir>/<2 hex>/<32 hex of store and key>-<offset>-<length>-<ms when it was read>: a header (whose part it is, in
// full, and a checksum for each 64 KiB), then the bytes. It is written under another name and renamed; it is never
// synced, for the checksums tell. Other files in the directory are left alone.
//
// Which parts there are is known from names and held in memory, about 200 bytes each. Several processes may share a
// directory; each keeps within the bound what it knows of.
package rangecache
