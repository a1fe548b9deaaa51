package maintenance

import (
	"cmp"
	"slices"
	"sort"

	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// deletes finds the deletes that a scan applies to a data file
// (org.apache.iceberg.DeleteFileIndex).
type deletes struct {
	// fileScoped are the deletes that apply to one data file.
	fileScoped fileDeletes
	// Deletes that apply to a partition, or to the whole table.
	positions  map[partitionKey]*bySequence
	equalities map[partitionKey]*bySequence
	global     *bySequence
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
		fileScoped: fileDeletes{all: make([]fileDelete, 0, count)}, global: &bySequence{},
		positions: map[partitionKey]*bySequence{}, equalities: map[partitionKey]*bySequence{},
	}
	for _, r := range records {
		if r.Content == manifest.Deletes {
			d.add(table, r)
		}
	}
	d.fileScoped.link()
	return d
}

func (d *deletes) add(table *metadata.Table, r *manifest.Record) {
	spec, _ := table.Spec(r.SpecID)
	key := func(e manifest.Entry) partitionKey { return partitionKey{r.SpecID, r.Partitions()[e.Partition]} }
	for i := range r.Len() {
		e := r.Entry(i)
		switch {
		case e.Kind == manifest.EqualityDeletes && !spec.IsPartitioned():
			d.global.add(e)
		case e.Kind == manifest.EqualityDeletes:
			in(d.equalities, key(e)).add(e)
		case e.Referenced != 0:
			d.fileScoped.all = append(d.fileScoped.all, fileDelete{
				file: e.Referenced, sequence: e.SequenceNumber, rows: e.Rows, size: e.Size, vector: e.Kind == manifest.DeletionVector,
			})
		case e.Kind == manifest.PositionDeletes:
			in(d.positions, key(e)).add(e)
		}
	}
}

func in(of map[partitionKey]*bySequence, key partitionKey) *bySequence {
	if of[key] == nil {
		of[key] = &bySequence{}
	}
	return of[key]
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
	if positions := d.positions[key]; positions != nil && !d.fileScoped.hasVector(file) {
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
