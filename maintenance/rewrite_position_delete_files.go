package maintenance

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// PositionDeleteFileRewrite is what rewrite_position_delete_files would do.
type PositionDeleteFileRewrite struct {
	// Files and Bytes are of the delete files that it would rewrite, in Groups
	// groups.
	Files, Bytes, Groups int64
	// Refusal is why it would fail instead, and empty where it would not.
	Refusal string
}

const (
	targetDeleteFileSizeProperty = "write.delete.target-file-size-bytes"
	defaultTargetDeleteFileSize  = 67_108_864
	// vectorsVersion is the first format version with deletion vectors.
	vectorsVersion = 3
)

// RewritePositionDeleteFiles predicts rewrite_position_delete_files, for the
// records of the current snapshot's manifests.
//
// The rules of org.apache.iceberg.actions.BinPackRewritePositionDeletePlanner
// are those of data files without the ones about deletes. Equality deletes are
// left alone. Files are grouped by their partition values, whatever spec they
// are of; a field that a spec lacks is null, and one whose column was dropped
// does not count.
//
// Such a group is planned, but it cannot be written when it has files of two
// specs, or of a spec with a dropped column
// (org.apache.iceberg.spark.source.SparkPositionDeletesRewriteBuilder and
// SparkRewritePositionDeleteRunner): then the whole procedure fails.
//
// From format version 3 on nothing is done while all position deletes are
// deletion vectors (RewritePositionDeleteFilesSparkAction). Where a position
// delete file is left, the vectors are planned with it.
func RewritePositionDeleteFiles(table *metadata.Table, records []*manifest.Record) PositionDeleteFileRewrite {
	if table.CurrentSnapshotID == nil {
		return PositionDeleteFileRewrite{}
	}
	sizes, err := sizesOf(table, targetDeleteFileSizeProperty, defaultTargetDeleteFileSize)
	if err != nil {
		return PositionDeleteFileRewrite{Refusal: err.Error()}
	}
	if table.FormatVersion >= vectorsVersion && !hasPositionDeleteFile(records) {
		return PositionDeleteFileRewrite{}
	}
	var selected bins
	numbers := map[string]int32{}
	for _, r := range records {
		if r.Content != manifest.Deletes {
			continue
		}
		unified := unify(table, r, numbers)
		for row := range r.Len() {
			e := r.Entry(row)
			if e.Kind != manifest.EqualityDeletes && sizes.misfit(e.Size) {
				selected.add(unified[e.Partition], e.Size, r.SpecID)
			}
		}
	}
	slices.SortStableFunc(selected.all, func(a, b bin) int { return cmp.Compare(a.group, b.group) })
	var plan PositionDeleteFileRewrite
	for _, bin := range selected.all {
		if !sizes.worthwhile(bin.files, bin.bytes) {
			continue
		}
		if refusal := unwritable(table, bin); refusal != "" {
			return PositionDeleteFileRewrite{Refusal: refusal}
		}
		plan.Groups++
		plan.Files += bin.files
		plan.Bytes += bin.bytes
	}
	return plan
}

// unwritable tells why a group cannot be written, and nothing where it can.
func unwritable(table *metadata.Table, bin bin) string {
	if bin.other != bin.spec {
		return fmt.Sprintf("a partition has position delete files of the partition specs %d and %d", min(bin.spec, bin.other), max(bin.spec, bin.other))
	}
	spec, _ := table.Spec(bin.spec)
	for _, f := range spec.Fields {
		if f.Dropped {
			return fmt.Sprintf("the column of the partition field %s was dropped", f.Name)
		}
	}
	return ""
}

func hasPositionDeleteFile(records []*manifest.Record) bool {
	for _, r := range records {
		if r.Content != manifest.Deletes {
			continue
		}
		for row := range r.Len() {
			if r.KindAt(row) == manifest.PositionDeletes {
				return true
			}
		}
	}
	return false
}

// unify gives the partitions of a record numbers that are the same for tuples
// of any spec with the same values (org.apache.iceberg.util.PartitionUtil.coercePartition).
func unify(table *metadata.Table, r *manifest.Record, numbers map[string]int32) []int32 {
	ids, dropped := fieldIDs(table, r), droppedFields(table, r)
	null := manifest.NullPartition(1)
	type field struct {
		id    int
		value manifest.Partition
	}
	unified := make([]int32, len(r.Partitions()))
	var fields []field
	var key []byte
	for i, tuple := range r.Partitions() {
		fields, key = fields[:0], key[:0]
		at := 0
		for value := range tuple.Fields() {
			if value != null && !dropped[at] {
				fields = append(fields, field{ids[at], value})
			}
			at++
		}
		slices.SortFunc(fields, func(a, b field) int { return cmp.Compare(a.id, b.id) })
		for _, f := range fields {
			key = append(binary.AppendVarint(key, int64(f.id)), f.value...)
		}
		number, ok := numbers[string(key)]
		if !ok {
			number = int32(len(numbers))
			numbers[string(key)] = number
		}
		unified[i] = number
	}
	return unified
}

// droppedFields tells which fields of a record's tuples have no column any more.
func droppedFields(table *metadata.Table, r *manifest.Record) []bool {
	spec, _ := table.Spec(r.SpecID)
	dropped := make([]bool, len(r.PartitionFields))
	for i := range min(len(dropped), len(spec.Fields)) {
		dropped[i] = spec.Fields[i].Dropped
	}
	return dropped
}

// firstFieldID is the id that the first partition field has in metadata of the
// first format version, which leaves ids out.
const firstFieldID = 1000

// fieldIDs are the ids of the fields of a record's tuples.
func fieldIDs(table *metadata.Table, r *manifest.Record) []int {
	spec, _ := table.Spec(r.SpecID)
	ids := make([]int, len(r.PartitionFields))
	for i, f := range r.PartitionFields {
		switch {
		case f.ID != 0:
			ids[i] = f.ID
		case i < len(spec.Fields) && spec.Fields[i].ID != 0:
			ids[i] = spec.Fields[i].ID
		default:
			ids[i] = firstFieldID + i
		}
	}
	return ids
}
