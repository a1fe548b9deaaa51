// Package layout measures how a table lies in its storage: pure functions from
// metadata and manifest records to immutable figures.
package layout

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// Options are the settings that figures depend on.
type Options struct {
	// SmallFileThreshold is the size in bytes below which a data file is small.
	SmallFileThreshold int64
	// PartitionsTop is how many of the partitions with the most files are told
	// one by one.
	PartitionsTop int
}

// Layout has the figures of a snapshot's files, in bytes, rows and counts.
// Without data files Min and Max are 0.
type Layout struct {
	DataFiles      int64
	DataBytes      int64
	Records        int64
	MinBytes       int64
	MaxBytes       int64
	SmallDataFiles int64
	// SizeBuckets counts the data files up to each of SizeBounds, and not
	// above the next lower one.
	SizeBuckets [len(sizeBounds)]int64
	// Partitions counts the distinct (spec, partition) that have a data file.
	Partitions      int
	WorstPartitions []Partition

	PositionDeletes Deletes
	EqualityDeletes Deletes
	DeletionVectors Deletes

	DataManifests   Manifests
	DeleteManifests Manifests
}

// Partition has the figures of one partition.
type Partition struct {
	// Name is field=value/field=value; empty in an unpartitioned table.
	Name      string
	DataFiles int64
	DataBytes int64
}

// Deletes are the figures of one kind of delete files.
type Deletes struct {
	Files, Bytes, Records int64
}

// Manifests are the figures of the manifests of one content.
type Manifests struct {
	Count, Bytes int64
}

const mib = 1 << 20

var sizeBounds = [...]int64{1 * mib, 4 * mib, 8 * mib, 16 * mib, 32 * mib, 64 * mib, 128 * mib, 256 * mib, 512 * mib, 1024 * mib}

// SizeBounds are the upper bounds, inclusive, of the distribution of file sizes.
func SizeBounds() []int64 { return slices.Clone(sizeBounds[:]) }

// Measure measures the files of one snapshot: its manifests and, in the same
// order, their records. It fails with metadata.ErrCorrupt where sums do not fit.
func Measure(table *metadata.Table, manifests []manifest.File, records []*manifest.Record, options Options) (*Layout, error) {
	m := &measurer{options: options, partitions: map[partitionKey]*partitionSum{}}
	for i, record := range records {
		m.manifest(manifests[i])
		m.record(record)
	}
	if m.overflow {
		return nil, fmt.Errorf("%w manifests: the sizes or row counts of the files add up to more than 64 bits hold", metadata.ErrCorrupt)
	}
	m.layout.Partitions = len(m.partitions)
	m.layout.WorstPartitions = m.worst(table)
	return &m.layout, nil
}

type measurer struct {
	options    Options
	layout     Layout
	partitions map[partitionKey]*partitionSum
	// counts are the sums of one record's partitions, by their index.
	counts   []partitionSum
	overflow bool
}

// partitionKey identifies a partition in its table: each spec has its own.
type partitionKey struct {
	spec  int
	tuple manifest.Partition
}

type partitionSum struct {
	files, bytes int64
	// fields describe the tuple's fields.
	fields []manifest.PartitionField
}

// add sums without wrapping around.
func (m *measurer) add(to *int64, n int64) {
	sum, carry := bits.Add64(uint64(*to), uint64(n), 0)
	if carry != 0 || int64(sum) < 0 {
		m.overflow = true
		return
	}
	*to = int64(sum)
}

func (m *measurer) manifest(f manifest.File) {
	figures := &m.layout.DataManifests
	if f.Content == manifest.Deletes {
		figures = &m.layout.DeleteManifests
	}
	figures.Count++
	m.add(&figures.Bytes, f.Length)
}

func (m *measurer) record(r *manifest.Record) {
	m.counts = slices.Grow(m.counts[:0], len(r.Partitions()))[:len(r.Partitions())]
	clear(m.counts)
	for i := range r.Len() {
		size, rows := r.SizeAt(i), r.RowsAt(i)
		switch r.KindAt(i) {
		case manifest.DataFile:
			m.dataFile(size, rows, &m.counts[r.PartitionAt(i)])
		case manifest.PositionDeletes:
			m.deletes(&m.layout.PositionDeletes, size, rows)
		case manifest.EqualityDeletes:
			m.deletes(&m.layout.EqualityDeletes, size, rows)
		case manifest.DeletionVector:
			m.deletes(&m.layout.DeletionVectors, size, rows)
		}
	}
	for i, count := range m.counts {
		if count.files == 0 {
			continue
		}
		key := partitionKey{r.SpecID, r.Partitions()[i]}
		sum := m.partitions[key]
		if sum == nil {
			sum = &partitionSum{fields: r.PartitionFields}
			m.partitions[key] = sum
		}
		sum.files += count.files
		m.add(&sum.bytes, count.bytes)
	}
}

func (m *measurer) dataFile(size, rows int64, partition *partitionSum) {
	l := &m.layout
	if l.DataFiles == 0 || size < l.MinBytes {
		l.MinBytes = size
	}
	l.MaxBytes = max(l.MaxBytes, size)
	l.DataFiles++
	m.add(&l.DataBytes, size)
	m.add(&l.Records, rows)
	if size < m.options.SmallFileThreshold {
		l.SmallDataFiles++
	}
	if bucket, _ := slices.BinarySearch(sizeBounds[:], size); bucket < len(sizeBounds) {
		l.SizeBuckets[bucket]++
	}
	partition.files++
	m.add(&partition.bytes, size)
}

func (m *measurer) deletes(d *Deletes, size, rows int64) {
	d.Files++
	m.add(&d.Bytes, size)
	m.add(&d.Records, rows)
}

// worst returns the partitions with the most files, and of those with as many
// the ones with fewer bytes. Like the engine's `GROUP BY partition` over the
// files of a table it takes tuples of different specs for one partition when
// they have the same values, and a field that a spec lacks for null.
func (m *measurer) worst(table *metadata.Table) []Partition {
	if m.options.PartitionsTop == 0 {
		return nil
	}
	unified := map[string]*Partition{}
	for key, sum := range m.partitions {
		spec, _ := table.Spec(key.spec)
		id := unifiedKey(sum.fields, key.tuple)
		p := unified[id]
		if p == nil {
			p = &Partition{}
			unified[id] = p
		}
		// The spec with more fields says more: region=null rather than nothing.
		name := PartitionName(spec, sum.fields, key.tuple)
		if len(name) > len(p.Name) || len(name) == len(p.Name) && name > p.Name {
			p.Name = name
		}
		p.DataFiles += sum.files
		m.add(&p.DataBytes, sum.bytes)
	}
	// What still reads alike (values that escape to the same text) is told as
	// one, since a name can be published once.
	byName := map[string]Partition{}
	for _, p := range unified {
		same := byName[p.Name]
		byName[p.Name] = Partition{Name: p.Name, DataFiles: same.DataFiles + p.DataFiles, DataBytes: same.DataBytes + p.DataBytes}
	}
	partitions := slices.SortedFunc(maps.Values(byName), func(a, b Partition) int {
		return cmp.Or(cmp.Compare(b.DataFiles, a.DataFiles), cmp.Compare(a.DataBytes, b.DataBytes), cmp.Compare(a.Name, b.Name))
	})
	return partitions[:min(len(partitions), m.options.PartitionsTop)]
}
