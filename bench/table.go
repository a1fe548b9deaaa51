// Package bench generates large tables and measures what the exporter's work on
// them costs. docs/benchmarks.md has the figures.
package bench

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
)

// Columns is how many columns the generated tables have statistics for.
const Columns = 30

// statistics is the schema of one kind of statistics: pairs of column and value.
func statistics(name string, id int, value string) string {
	return fmt.Sprintf(`{"name": %q, "field-id": %d, "default": null, "type": ["null", {"type": "array", "logicalType": "map", "items":
		{"type": "record", "name": "k%d_v%d", "fields": [{"name": "key", "type": "int", "field-id": %d}, {"name": "value", "type": %q, "field-id": %d}]}}]}`,
		name, id, id+1, id+2, id+1, value, id+2)
}

// entrySchema is the schema of manifests as Iceberg's Java library writes them
// for a v2 table that is partitioned by day and bucket.
func entrySchema() string {
	return `{"type": "record", "name": "manifest_entry", "fields": [
	{"name": "status", "type": "int", "field-id": 0},
	{"name": "snapshot_id", "type": ["null", "long"], "default": null, "field-id": 1},
	{"name": "sequence_number", "type": ["null", "long"], "default": null, "field-id": 3},
	{"name": "file_sequence_number", "type": ["null", "long"], "default": null, "field-id": 4},
	{"name": "data_file", "field-id": 2, "type": {"type": "record", "name": "r2", "fields": [
		{"name": "content", "type": "int", "field-id": 134},
		{"name": "file_path", "type": "string", "field-id": 100},
		{"name": "file_format", "type": "string", "field-id": 101},
		{"name": "partition", "field-id": 102, "type": {"type": "record", "name": "r102", "fields": [
			{"name": "ts_day", "type": ["null", {"type": "int", "logicalType": "date"}], "default": null, "field-id": 1000},
			{"name": "id_bucket", "type": ["null", "int"], "default": null, "field-id": 1001}]}},
		{"name": "record_count", "type": "long", "field-id": 103},
		{"name": "file_size_in_bytes", "type": "long", "field-id": 104},
		` + strings.Join([]string{
		statistics("column_sizes", 108, "long"), statistics("value_counts", 109, "long"), statistics("null_value_counts", 110, "long"),
		statistics("nan_value_counts", 137, "long"), statistics("lower_bounds", 125, "bytes"), statistics("upper_bounds", 128, "bytes"),
	}, ",") + `,
		{"name": "key_metadata", "type": ["null", "bytes"], "default": null, "field-id": 131},
		{"name": "split_offsets", "type": ["null", {"type": "array", "items": "long", "element-id": 133}], "default": null, "field-id": 132},
		{"name": "sort_order_id", "type": ["null", "int"], "default": null, "field-id": 140}]}}]}`
}

const listSchema = `{"type": "record", "name": "manifest_file", "fields": [
	{"name": "manifest_path", "type": "string", "field-id": 500}, {"name": "manifest_length", "type": "long", "field-id": 501},
	{"name": "partition_spec_id", "type": "int", "field-id": 502}, {"name": "content", "type": "int", "field-id": 517},
	{"name": "sequence_number", "type": "long", "field-id": 515}, {"name": "min_sequence_number", "type": "long", "field-id": 516},
	{"name": "added_snapshot_id", "type": "long", "field-id": 503}, {"name": "added_files_count", "type": "int", "field-id": 504}]}`

type entry struct {
	Status             int32    `avro:"status"`
	SnapshotID         *int64   `avro:"snapshot_id"`
	SequenceNumber     *int64   `avro:"sequence_number"`
	FileSequenceNumber *int64   `avro:"file_sequence_number"`
	DataFile           dataFile `avro:"data_file"`
}

type dataFile struct {
	Content      int32     `avro:"content"`
	Path         string    `avro:"file_path"`
	Format       string    `avro:"file_format"`
	Partition    partition `avro:"partition"`
	Records      int64     `avro:"record_count"`
	Size         int64     `avro:"file_size_in_bytes"`
	ColumnSizes  []count   `avro:"column_sizes"`
	ValueCounts  []count   `avro:"value_counts"`
	NullCounts   []count   `avro:"null_value_counts"`
	NaNCounts    []count   `avro:"nan_value_counts"`
	LowerBounds  []bound   `avro:"lower_bounds"`
	UpperBounds  []bound   `avro:"upper_bounds"`
	KeyMetadata  *[]byte   `avro:"key_metadata"`
	SplitOffsets []int64   `avro:"split_offsets"`
	SortOrderID  *int32    `avro:"sort_order_id"`
}

type partition struct {
	Day    *int32 `avro:"ts_day"`
	Bucket *int32 `avro:"id_bucket"`
}

type count struct {
	Key   int32 `avro:"key"`
	Value int64 `avro:"value"`
}

type bound struct {
	Key   int32  `avro:"key"`
	Value []byte `avro:"value"`
}

// Manifest returns a manifest of added files, deflated, that is the same for the
// same number.
func Manifest(number, files int) ([]byte, error) {
	// The day is an int on the wire; without the annotation a Go int will do.
	schema, err := avro.Parse(strings.ReplaceAll(entrySchema(), `{"type": "int", "logicalType": "date"}`, `"int"`))
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(uint64(number), 1)) //nolint:gosec // The same manifest for the same number.
	snapshot := int64(number + 1)
	var entries []any
	for i := range files {
		entries = append(entries, &entry{Status: 1, SnapshotID: &snapshot, DataFile: randomFile(random, number, i)})
	}
	return container(schema, map[string][]byte{"format-version": []byte("2"), "content": []byte("data"), "partition-spec-id": []byte("0")}, entries)
}

func randomFile(random *rand.Rand, number, i int) dataFile {
	day, bucket := int32(20_000+number/24), int32(i%16)
	f := dataFile{
		Path: fmt.Sprintf("s3://warehouse/db/events/data/ts_day=%d/id_bucket=%d/%05d-%d-%016x-%016x-00001.parquet",
			day, bucket, i, number, random.Uint64(), random.Uint64()),
		Format: "PARQUET", Partition: partition{&day, &bucket},
		Records: random.Int64N(100_000), Size: 1 + random.Int64N(256<<20), SplitOffsets: []int64{4},
	}
	for column := range int32(Columns) {
		key := column + 1
		value := func(below int64) count { return count{key, random.Int64N(below)} }
		low := random.Int64()
		f.ColumnSizes = append(f.ColumnSizes, value(10<<20))
		f.ValueCounts = append(f.ValueCounts, count{key, f.Records})
		f.NullCounts = append(f.NullCounts, value(3))
		f.LowerBounds = append(f.LowerBounds, bound{key, binary.LittleEndian.AppendUint64(nil, uint64(low))})
		f.UpperBounds = append(f.UpperBounds, bound{key, binary.LittleEndian.AppendUint64(nil, uint64(low)+random.Uint64N(1<<30))})
	}
	return f
}

func container(schema *avro.Schema, header map[string][]byte, records []any) ([]byte, error) {
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, schema, ocf.WithCodec(ocf.DeflateCodec(6)), ocf.WithMetadata(header), ocf.WithBlockBytes(64<<10))
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		if err := w.Encode(record); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Table is a table being generated in a directory.
type Table struct {
	Directory string
	manifests []map[string]any
	snapshots []map[string]any
}

// Append adds a manifest of this many files, without a snapshot for it.
func (t *Table) Append(files int) error {
	number := len(t.manifests)
	path := filepath.Join(t.Directory, "metadata", fmt.Sprintf("%06d-m0.avro", number))
	content, err := os.ReadFile(path)
	if err != nil {
		// A table of an earlier run is used again.
		if content, err = Manifest(number, files); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // Nothing secret.
			return err
		}
	}
	t.manifests = append(t.manifests, map[string]any{
		"manifest_path": path, "manifest_length": int64(len(content)), "partition_spec_id": int32(0), "content": int32(0),
		"sequence_number": int64(number + 1), "min_sequence_number": int64(number + 1), "added_snapshot_id": int64(number + 1), "added_files_count": int32(files),
	})
	return nil
}

// Commit writes a snapshot of all the manifests so far.
func (t *Table) Commit() error {
	schema, err := avro.Parse(listSchema)
	if err != nil {
		return err
	}
	var entries []any
	for _, v := range slices.Backward(t.manifests) {
		entries = append(entries, v)
	}
	content, err := container(schema, map[string][]byte{"format-version": []byte("2")}, entries)
	if err != nil {
		return err
	}
	id := len(t.snapshots) + 1
	list := filepath.Join(t.Directory, "metadata", fmt.Sprintf("snap-%d.avro", id))
	if err := os.WriteFile(list, content, 0o644); err != nil { //nolint:gosec // Nothing secret.
		return err
	}
	t.snapshots = append(t.snapshots, map[string]any{
		"snapshot-id": id, "timestamp-ms": 1_790_000_000_000 + id, "sequence-number": len(t.manifests), "manifest-list": list,
		"summary": map[string]string{"operation": "append", "added-data-files": "1000", "added-files-size": "1"},
	})
	field := func(id int, name, transform string) map[string]any {
		return map[string]any{"field-id": id, "name": name, "transform": transform, "source-id": 1}
	}
	metadata, err := json.Marshal(map[string]any{
		"format-version": 2, "table-uuid": "b8b4f1b0-0000-4000-8000-000000000001", "location": t.Directory, "last-sequence-number": len(t.manifests),
		"current-snapshot-id": id, "snapshots": t.snapshots, "default-spec-id": 0, "schemas": []any{map[string]any{"schema-id": 0, "type": "struct"}},
		"partition-specs": []any{map[string]any{"spec-id": 0, "fields": []any{field(1000, "ts_day", "day"), field(1001, "id_bucket", "bucket[16]")}}},
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(t.Directory, "metadata", fmt.Sprintf("v%d.metadata.json", id)), metadata, 0o644); err != nil { //nolint:gosec // Nothing secret.
		return err
	}
	return os.WriteFile(filepath.Join(t.Directory, "metadata", "version-hint.text"), fmt.Append(nil, id), 0o644) //nolint:gosec // Nothing secret.
}
