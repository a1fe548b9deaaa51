// Package maintenance predicts what the upkeep procedures of Iceberg's engines
// would do to a table, run now with their default options: pure functions from
// metadata and manifest records, which read no storage.
//
// The rules are those of Iceberg's Java library and its Spark procedures, of
// which each function names the classes. The harness in interop compares the
// predictions with what the procedures then do.
package maintenance

import (
	"fmt"
	"math"
	"strconv"

	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// Prediction is what the procedures that rewrite files would do. What it says
// holds until the table changes; ExpireSnapshots is for what also changes as
// time goes by. It is immutable.
type Prediction struct {
	DataFiles           DataFileRewrite
	PositionDeleteFiles PositionDeleteFileRewrite
	Manifests           ManifestRewrite
}

// Predict predicts all the procedures that rewrite files, for the manifests of
// the current snapshot and, in the same order, their records.
func Predict(table *metadata.Table, manifests []manifest.File, records []*manifest.Record) Prediction {
	partitions := newPartitions(table, records)
	return Prediction{
		DataFiles:           rewriteDataFiles(table, records, partitions),
		PositionDeleteFiles: RewritePositionDeleteFiles(table, records),
		Manifests:           rewriteManifests(table, manifests, records, partitions),
	}
}

// property returns a table property that must be a whole number. A procedure
// fails, as Java's Long.parseLong and Integer.parseInt do, where it is none.
func property(table *metadata.Table, name string, byDefault int64, bits int) (int64, error) {
	text, ok := table.Properties[name]
	if !ok {
		return byDefault, nil
	}
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("the table property %s is %q", name, text)
	}
	return n, nil
}

// partitions gives the distinct partition tuples of the current spec numbers,
// so that files are grouped without looking at tuples again.
type partitions struct {
	table   *metadata.Table
	records []*manifest.Record
	spec    metadata.Spec
	numbers map[manifest.Partition]int32
	// ofRecord are the numbers of each record's tuples, once they were asked for.
	ofRecord [][]int32
	// whole is the tuple of nulls, which stands for files of other specs.
	whole manifest.Partition
}

func newPartitions(table *metadata.Table, records []*manifest.Record) *partitions {
	spec, _ := table.Spec(table.DefaultSpecID)
	return &partitions{
		table: table, records: records, spec: spec,
		numbers: map[manifest.Partition]int32{}, ofRecord: make([][]int32, len(records)),
		whole: manifest.NullPartition(len(spec.Fields)),
	}
}

// of returns the numbers of a record's tuples. All tuples of other specs than
// the current one count as the tuple of nulls.
func (p *partitions) of(record int) []int32 {
	if known := p.ofRecord[record]; known != nil {
		return known
	}
	r := p.records[record]
	numbers := make([]int32, len(r.Partitions()))
	for i, tuple := range r.Partitions() {
		if r.SpecID != p.table.DefaultSpecID {
			tuple = p.whole
		}
		number, ok := p.numbers[tuple]
		if !ok {
			number = int32(len(p.numbers))
			p.numbers[tuple] = number
		}
		numbers[i] = number
	}
	p.ofRecord[record] = numbers
	return numbers
}

// toLong converts as Java does: towards zero, and to the nearest where it does
// not fit.
func toLong(f float64) int64 {
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	default:
		return int64(f)
	}
}
