package maintenance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/manifest/manifesttest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

type values = map[string]any

// The partition specs of the test tables. fieldsOf has the fields of their
// manifests: name, type and id.
const (
	byDay = iota
	whole
	byRegionAndDay
	byAmount
)

var specs = []any{
	values{"spec-id": byDay, "fields": []any{field(1000, "day")}},
	values{"spec-id": whole, "fields": []any{}},
	values{"spec-id": byRegionAndDay, "fields": []any{field(1001, "region"), field(1000, "day")}},
	values{"spec-id": byAmount, "fields": []any{field(1002, "amount")}},
}

var fieldsOf = [][][3]string{
	{{"day", `"int"`, "1000"}},
	{},
	{{"region", `"string"`, "1001"}, {"day", `"int"`, "1000"}},
	{{"amount", `{"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}`, "1002"}},
}

func field(id int, name string) values {
	return values{"field-id": id, "source-id": id - 999, "name": name, "transform": "identity"}
}

// table makes a table with all the specs and this default one.
func table(t testing.TB, defaultSpec int, properties map[string]string, more values) *metadata.Table {
	t.Helper()
	all := values{
		"format-version": 2, "location": "/t", "default-spec-id": defaultSpec, "partition-specs": specs,
		"properties": properties, "schemas": []any{values{"schema-id": 0}},
		"snapshots": []any{values{"snapshot-id": 1, "timestamp-ms": 1, "manifest-list": "m"}}, "current-snapshot-id": 1,
	}
	maps.Copy(all, more)
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := metadata.Parse(bytes.NewReader(text), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// file is a file of a manifest. Its path is its place in the manifest where it
// has none, it has 100 rows where it does not say, and is data by default.
type file struct {
	path      string
	size      int64
	rows      int64
	kind      manifest.Kind
	partition values
	sequence  int64
	// of is the data file that a delete file applies to.
	of string
	// splits are the offsets of row groups.
	splits []int64
}

// snapshot is the manifests of a snapshot and their records.
type snapshot struct {
	files   []manifest.File
	records []*manifest.Record
}

// manifest adds a manifest of a spec. Its length is 1000 bytes, and 100 for each
// file.
func (s *snapshot) manifest(t testing.TB, spec int, files ...file) {
	t.Helper()
	content := manifest.Data
	var entries []any
	for i, f := range files {
		if f.kind != manifest.DataFile {
			content = manifest.Deletes
		}
		if f.path == "" {
			f.path = fmt.Sprintf("%d-%d", len(s.files), i)
		}
		entries = append(entries, values{"status": 1, "sequence_number": f.sequence, "data_file": f.values()})
	}
	s.encoded(t, manifest.File{
		Path: fmt.Sprint(len(s.files)), Length: 1000 + 100*int64(len(files)), SpecID: spec, Content: content,
		Counted: true, LiveFiles: int64(len(files)),
	}, entries)
}

func (f file) values() values {
	if f.rows == 0 {
		f.rows = 100
	}
	format, content := "PARQUET", int(f.kind)
	if f.kind == manifest.DeletionVector {
		format, content = "PUFFIN", 1
	}
	partition := f.partition
	if partition == nil {
		partition = values{}
	}
	var of any
	if f.of != "" {
		of = f.of
	}
	return values{
		"content": content, "file_path": f.path, "file_format": format, "partition": partition, "record_count": max(f.rows, 0),
		"file_size_in_bytes": f.size, "split_offsets": f.splits, "referenced_data_file": of, "content_size_in_bytes": f.size,
	}
}

func (s *snapshot) encoded(t testing.TB, f manifest.File, entries []any) {
	t.Helper()
	var partition []string
	for _, p := range fieldsOf[f.SpecID] {
		partition = append(partition, fmt.Sprintf(`{"name": %q, "type": ["null", %s], "field-id": %s}`, p[0], p[1], p[2]))
	}
	schema := `{"type": "record", "name": "e", "fields": [
		{"name": "status", "type": "int", "field-id": 0}, {"name": "sequence_number", "type": ["null", "long"], "field-id": 3},
		{"name": "data_file", "field-id": 2, "type": {"type": "record", "name": "f", "fields": [
			{"name": "content", "type": "int", "field-id": 134}, {"name": "file_path", "type": "string", "field-id": 100},
			{"name": "file_format", "type": "string", "field-id": 101},
			{"name": "partition", "field-id": 102, "type": {"type": "record", "name": "p", "fields": [` + strings.Join(partition, ",") + `]}},
			{"name": "record_count", "type": "long", "field-id": 103}, {"name": "file_size_in_bytes", "type": "long", "field-id": 104},
			{"name": "split_offsets", "type": ["null", {"type": "array", "items": "long"}], "field-id": 132},
			{"name": "referenced_data_file", "type": ["null", "string"], "field-id": 143},
			{"name": "content_size_in_bytes", "type": ["null", "long"], "field-id": 145}]}}]}`
	record, err := manifest.ReadRecord(bytes.NewReader(manifesttest.Encode(t, schema, entries)), f, manifesttest.Files{})
	if err != nil {
		t.Fatal(err)
	}
	s.files, s.records = append(s.files, f), append(s.records, record)
}

func many(count int, f file) []file { return slices.Repeat([]file{f}, count) }

func day(n any) values { return values{"day": n} }
