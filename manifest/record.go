package manifest

import (
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// Kind tells data files and the kinds of delete files apart.
type Kind uint8

// The kinds of files.
const (
	DataFile Kind = iota
	PositionDeletes
	EqualityDeletes
	DeletionVector
)

// Record is what is kept of a manifest: one row for every live file, in the
// manifest's order. It is immutable, so that any number of readers share it.
type Record struct {
	// SpecID is the partition spec of all the manifest's files.
	SpecID  int
	Content Content
	// PartitionFields are the fields of the partition tuples, in their order.
	PartitionFields []PartitionField
	// HeaderBytes is the size of what the manifest's header holds: the schemas
	// and the partition spec.
	HeaderBytes int64

	length     int
	pathHash   column[uint64]
	place      column[uri.Place]
	size       column[int64]
	rows       column[int64]
	kind       column[Kind]
	partition  column[uint32]
	sequence   column[int64]
	referenced column[uint64]
	splits     column[uint8]
	// partitions are the distinct partition tuples; the partition column
	// points into it.
	partitions []Partition
}

// Entry is a live file of a manifest.
type Entry struct {
	// PathHash identifies the file; see PathHash.
	PathHash uint64
	// Place is where the file lies, seen from the table's location.
	Place uri.Place
	// Size is the file's size in bytes; for a deletion vector the size of its
	// own blob, since many share a file.
	Size int64
	// Rows is the number of rows, or of deleted rows.
	Rows int64
	Kind Kind
	// Partition is the index of the file's tuple in Partitions.
	Partition int
	// SequenceNumber is the data sequence number.
	SequenceNumber int64
	// Referenced is the path hash of the only data file that a delete file
	// applies to, or 0 where it may apply to several.
	Referenced uint64
	// Splits is in how many pieces (row groups, stripes) a data file can be
	// read, at most MaxSplits. It is 0 where the manifest does not tell.
	Splits uint8
}

// MaxSplits stands for that many pieces or more.
const MaxSplits = 255

// Len is the number of live files.
func (r *Record) Len() int { return r.length }

// Entry returns the live file at row i.
func (r *Record) Entry(i int) Entry {
	return Entry{
		PathHash: r.pathHash.at(i), Place: r.place.at(i), Size: r.size.at(i), Rows: r.rows.at(i), Kind: r.kind.at(i),
		Partition: int(r.partition.at(i)), SequenceNumber: r.sequence.at(i), Referenced: r.referenced.at(i),
		Splits: r.splits.at(i),
	}
}

// Single columns of the live file at row i, for loops over millions of files
// that look at a few: Entry, which gathers all, takes ten times as long.

// PathHashAt is Entry's PathHash.
func (r *Record) PathHashAt(i int) uint64 { return r.pathHash.at(i) }

// PlaceAt is Entry's Place.
func (r *Record) PlaceAt(i int) uri.Place { return r.place.at(i) }

// SizeAt is Entry's Size.
func (r *Record) SizeAt(i int) int64 { return r.size.at(i) }

// RowsAt is Entry's Rows.
func (r *Record) RowsAt(i int) int64 { return r.rows.at(i) }

// KindAt is Entry's Kind.
func (r *Record) KindAt(i int) Kind { return r.kind.at(i) }

// PartitionAt is Entry's Partition.
func (r *Record) PartitionAt(i int) int { return int(r.partition.at(i)) }

// SequenceNumberAt is Entry's SequenceNumber.
func (r *Record) SequenceNumberAt(i int) int64 { return r.sequence.at(i) }

// SplitsAt is Entry's Splits.
func (r *Record) SplitsAt(i int) uint8 { return r.splits.at(i) }

// Partitions are the distinct partition tuples of the live files.
func (r *Record) Partitions() []Partition { return r.partitions }

// Bytes is the memory that the record holds.
func (r *Record) Bytes() int64 {
	total := int64(unsafe.Sizeof(*r)) + r.pathHash.bytes() + r.place.bytes() + r.size.bytes() + r.rows.bytes() + r.kind.bytes() +
		r.partition.bytes() + r.sequence.bytes() + r.referenced.bytes() + r.splits.bytes()
	for _, p := range r.partitions {
		total += int64(unsafe.Sizeof(p)) + int64(len(p))
	}
	for _, f := range r.PartitionFields {
		total += int64(unsafe.Sizeof(f)) + int64(len(f.Name)) + int64(len(f.LogicalType))
	}
	return total
}

func (r *Record) add(e Entry) {
	n := r.length
	r.pathHash.put(n, e.PathHash)
	r.place.put(n, e.Place)
	r.size.put(n, e.Size)
	r.rows.put(n, e.Rows)
	r.kind.put(n, e.Kind)
	r.partition.put(n, uint32(e.Partition))
	r.sequence.put(n, e.SequenceNumber)
	r.referenced.put(n, e.Referenced)
	r.splits.put(n, e.Splits)
	r.length++
}

func (r *Record) trim() {
	r.pathHash.trim()
	r.place.trim()
	r.size.trim()
	r.rows.trim()
	r.kind.trim()
	r.partition.trim()
	r.sequence.trim()
	r.referenced.trim()
	r.splits.trim()
	r.partitions = append(make([]Partition, 0, len(r.partitions)), r.partitions...)
}

// PathHash is the identity of a file within its table: a hash of its path, as
// uri.Path returns it. Scheme and authority are left out, because one file is
// spelled in several ways (s3 and s3a, file:/ and file:///). It is never 0.
func PathHash(path string) uint64 {
	if h := xxhash.Sum64String(path); h != 0 {
		return h
	}
	return 1
}
