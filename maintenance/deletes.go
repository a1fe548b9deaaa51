package maintenance

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"

	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// deletes finds the deletes that a scan applies to a data file
// (org.apache.iceberg.DeleteFileIndex).
type deletes struct {
	// fileScoped are the deletes that apply to one data file. slots lead to the
	// latest one of a file, which leads to the others.
	fileScoped []fileDelete
	slots      slots
	// Deletes that apply to a partition, or to the whole table.
	positions  map[partitionKey]*bySequence
	equalities map[partitionKey]*bySequence
	global     *bySequence
}

// none stands for no delete.
const none = -1

// fileDelete is a delete that applies to one data file.
type fileDelete struct {
	// file is the path hash of the data file.
	file                 uint64
	sequence, rows, size int64
	vector               bool
	// next leads to the next one for the same file, or is none.
	next int32
}

// partitionKey identifies a partition in its table: each spec has its own.
type partitionKey struct {
	spec  int
	tuple manifest.Partition
}

func indexDeletes(table *metadata.Table, records []*manifest.Record) *deletes {
	count := 0
	for _, r := range records {
		if r.Content == manifest.Deletes {
			count += r.Len()
		}
	}
	d := &deletes{
		fileScoped: make([]fileDelete, 0, count), slots: newSlots(count), global: &bySequence{},
		positions: map[partitionKey]*bySequence{}, equalities: map[partitionKey]*bySequence{},
	}
	for _, r := range records {
		if r.Content == manifest.Deletes {
			d.add(table, r)
		}
	}
	return d
}

func (d *deletes) add(table *metadata.Table, r *manifest.Record) {
	spec, _ := table.Spec(r.SpecID)
	for i := range r.Len() {
		e := r.Entry(i)
		key := partitionKey{r.SpecID, r.Partitions()[e.Partition]}
		switch {
		case e.Kind == manifest.EqualityDeletes && !spec.IsPartitioned():
			d.global.add(e)
		case e.Kind == manifest.EqualityDeletes:
			in(d.equalities, key).add(e)
		case e.Referenced != 0:
			slot := d.slot(e.Referenced)
			d.fileScoped = append(d.fileScoped, fileDelete{
				e.Referenced, e.SequenceNumber, e.Rows, e.Size, e.Kind == manifest.DeletionVector, int32(uint32(*slot)) - 1,
			})
			*slot = e.Referenced>>32<<32 | uint64(len(d.fileScoped))
		case e.Kind == manifest.PositionDeletes:
			in(d.positions, key).add(e)
		}
	}
}

func in(of map[partitionKey]*bySequence, key partitionKey) *bySequence {
	if of[key] == nil {
		of[key] = &bySequence{}
	}
	return of[key]
}

// ofFile are the rows and the bytes of the deletes that are known to apply to a
// data file alone. Position deletes apply to files as old as they are, or
// older. A deletion vector replaces all other position deletes.
func (d *deletes) ofFile(file manifest.Entry) (rows, bytes int64) {
	for at := d.head(file.PathHash); at != none; {
		f := &d.fileScoped[at]
		if f.vector {
			return f.rows, f.size
		}
		if f.sequence >= file.SequenceNumber {
			rows, bytes = rows+f.rows, bytes+f.size
		}
		at = f.next
	}
	return rows, bytes
}

func (d *deletes) hasVector(file manifest.Entry) bool {
	for at := d.head(file.PathHash); at != none; at = d.fileScoped[at].next {
		if d.fileScoped[at].vector {
			return true
		}
	}
	return false
}

// anyOfMany reports whether there are deletes that may apply to several files.
func (d *deletes) anyOfMany() bool {
	return len(d.global.files) > 0 || len(d.equalities) > 0 || len(d.positions) > 0
}

// ofMany is the size of the other deletes that are read with a data file.
//
// The engine leaves out the equality deletes whose bounds show that they do not
// touch the file; records have no bounds, so they all count here.
func (d *deletes) ofMany(file manifest.Entry, key partitionKey) int64 {
	// Equality deletes apply to files that are older.
	total := d.global.from(file.SequenceNumber+1) + d.equalities[key].from(file.SequenceNumber+1)
	if positions := d.positions[key]; positions != nil && !d.hasVector(file) {
		total += positions.from(file.SequenceNumber)
	}
	return total
}

// bySequence sums the sizes of delete files by their sequence number.
type bySequence struct {
	files []fileDelete
	// sorted is whether each file's size has become the sum from it on.
	sorted bool
}

func (s *bySequence) add(e manifest.Entry) {
	s.files = append(s.files, fileDelete{sequence: e.SequenceNumber, size: e.Size})
}

// from is the size of the files with this sequence number or a later one.
func (s *bySequence) from(sequence int64) int64 {
	if s == nil || len(s.files) == 0 {
		return 0
	}
	if !s.sorted {
		slices.SortFunc(s.files, func(a, b fileDelete) int { return cmp.Compare(a.sequence, b.sequence) })
		for i := len(s.files) - 2; i >= 0; i-- {
			s.files[i].size += s.files[i+1].size
		}
		s.sorted = true
	}
	i := sort.Search(len(s.files), func(i int) bool { return s.files[i].sequence >= sequence })
	if i == len(s.files) {
		return 0
	}
	return s.files[i].size
}

// slots are a hash table of file-scoped deletes by their data files. There are
// as many of both in some tables, and the keys are hashes already, for which a
// general map takes several times as long. A slot holds the upper half of the
// key and the place of the delete, and one more; 0 is a free slot.
type slots []uint64

func newSlots(count int) slots { return make(slots, 1<<bits.Len(uint(2*count))) }

// head returns the first delete of a data file, or none.
func (d *deletes) head(file uint64) int32 { return int32(uint32(*d.slot(file))) - 1 }

// slot returns the slot of a data file, or the one that it can have.
func (d *deletes) slot(file uint64) *uint64 {
	mask := uint64(len(d.slots) - 1)
	for i := file & mask; ; i = (i + 1) & mask {
		s := &d.slots[i]
		if *s == 0 || *s>>32 == file>>32 && d.fileScoped[uint32(*s)-1].file == file {
			return s
		}
	}
}
