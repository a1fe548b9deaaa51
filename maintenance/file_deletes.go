package maintenance

import (
	"math/bits"

	"github.com/iceberg-exporter/iceberg_exporter/manifest"
)

// fileDeletes are the deletes that apply to one data file each, in a hash table
// by these files. There are as many of both in some tables, and the keys are
// hashes already, for which a general map takes several times as long.
type fileDeletes struct {
	all []fileDelete
	// slots lead to the latest delete of a file, which leads to the others. A
	// slot holds the upper half of the file's hash and the place of the delete,
	// and one more; 0 is a free slot.
	slots []uint64
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

// link builds the hash table.
func (d *fileDeletes) link() {
	d.slots = make([]uint64, 1<<bits.Len(uint(2*len(d.all))))
	for i := range d.all {
		file := d.all[i].file
		slot := d.slot(file)
		d.all[i].next = place(*slot)
		*slot = file>>32<<32 | uint64(i+1)
	}
}

// slot returns the slot of a data file, or the one that it can have.
func (d *fileDeletes) slot(file uint64) *uint64 {
	mask := uint64(len(d.slots) - 1)
	for i := file & mask; ; i = (i + 1) & mask {
		s := &d.slots[i]
		if *s == 0 || *s>>32 == file>>32 && d.all[place(*s)].file == file {
			return s
		}
	}
}

// place returns the place of a slot's delete, or none.
func place(slot uint64) int32 { return int32(uint32(slot)) - 1 }

// applied are the rows and the bytes of the deletes that are known to apply to
// a data file alone.
type applied struct{ rows, bytes int64 }

// apply returns what is applied to each record's files, and nothing for a
// record of whose files none has such deletes.
func (d *fileDeletes) apply(records []*manifest.Record) [][]applied {
	all := make([][]applied, len(records))
	if len(d.all) == 0 {
		return all
	}
	var files []uint64
	for at, r := range records {
		if r.Content != manifest.Data {
			continue
		}
		files = files[:0]
		for row := range r.Len() {
			files = append(files, r.PathHashAt(row))
		}
		for row, head := range d.heads(files) {
			if head == none {
				continue
			}
			if all[at] == nil {
				all[at] = make([]applied, r.Len())
			}
			all[at][row] = d.from(head, r.SequenceNumberAt(row))
		}
	}
	return all
}

// heads returns the first delete of each data file, or none. What is looked up
// lies anywhere in memory. Read in loops that do nothing else, the processor
// waits for much of it at once.
func (d *fileDeletes) heads(files []uint64) []int32 {
	mask := uint64(len(d.slots) - 1)
	homes := make([]uint64, len(files))
	for i, file := range files {
		homes[i] = d.slots[file&mask]
	}
	heads := make([]int32, len(files))
	for i, file := range files {
		if heads[i] = none; homes[i] != 0 {
			heads[i] = d.head(file)
		}
	}
	return heads
}

// from sums what is applied to a file of this sequence number. Position deletes
// apply to files as old as they are, or older. A deletion vector replaces all
// other position deletes.
func (d *fileDeletes) from(head int32, sequence int64) applied {
	var sum applied
	for at := head; at != none; at = d.all[at].next {
		f := &d.all[at]
		if f.vector {
			return applied{f.rows, f.size}
		}
		if f.sequence >= sequence {
			sum.rows, sum.bytes = sum.rows+f.rows, sum.bytes+f.size
		}
	}
	return sum
}

func (d *fileDeletes) hasVector(file manifest.Entry) bool {
	for at := d.head(file.PathHash); at != none; at = d.all[at].next {
		if d.all[at].vector {
			return true
		}
	}
	return false
}

// head returns the first delete of a data file, or none.
func (d *fileDeletes) head(file uint64) int32 { return place(*d.slot(file)) }
