package manifest_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

const listSchemaV2 = `{"type": "record", "name": "manifest_file", "fields": [
	{"name": "manifest_path", "type": "string", "field-id": 500}, {"name": "manifest_length", "type": "long", "field-id": 501},
	{"name": "partition_spec_id", "type": "int", "field-id": 502}, {"name": "content", "type": "int", "field-id": 517},
	{"name": "sequence_number", "type": "long", "field-id": 515}, {"name": "added_data_files_count", "type": ["null", "int"], "field-id": 504},
	{"name": "key_metadata", "type": ["null", "bytes"], "field-id": 519}]}`

func listed(more values) values {
	return with(values{"manifest_path": "m", "manifest_length": 10, "partition_spec_id": 1, "content": 1, "sequence_number": 3, "added_data_files_count": nil, "key_metadata": nil}, more)
}

func TestReadList(t *testing.T) {
	files, err := manifest.ReadList(bytes.NewReader(encode(t, listSchemaV2, nil, nil, listed(nil), listed(values{"content": 0, "manifest_path": "n"}))))
	want := []manifest.File{
		{Path: "m", Length: 10, SpecID: 1, Content: manifest.Deletes, SequenceNumber: 3},
		{Path: "n", Length: 10, SpecID: 1, Content: manifest.Data, SequenceNumber: 3},
	}
	if err != nil || !reflect.DeepEqual(files, want) {
		t.Errorf("got %+v, %v", files, err)
	}
}

func TestReadListCounts(t *testing.T) {
	schema := `{"type": "record", "name": "manifest_file", "fields": [
		{"name": "manifest_path", "type": "string", "field-id": 500}, {"name": "manifest_length", "type": "long", "field-id": 501},
		{"name": "partition_spec_id", "type": "int", "field-id": 502}, {"name": "added_files_count", "type": ["null", "int"], "field-id": 504},
		{"name": "existing_files_count", "type": ["null", "int"], "field-id": 505}, {"name": "deleted_files_count", "type": ["null", "int"], "field-id": 506}]}`
	counts := func(added, existing, deleted any) values {
		return values{"manifest_path": "m", "manifest_length": 10, "partition_spec_id": 0, "added_files_count": added, "existing_files_count": existing, "deleted_files_count": deleted}
	}
	files, err := manifest.ReadList(bytes.NewReader(encode(t, schema, nil, nil, counts(1, 2, 4), counts(0, 0, 0), counts(1, 2, nil))))
	want := []manifest.File{
		{Path: "m", Length: 10, Counted: true, LiveFiles: 3, DeletedFiles: 4}, {Path: "m", Length: 10, Counted: true}, {Path: "m", Length: 10},
	}
	if err != nil || !reflect.DeepEqual(files, want) {
		t.Errorf("got %+v, %v", files, err)
	}
	if _, err := manifest.ReadList(bytes.NewReader(encode(t, schema, nil, nil, counts(1, -2, 4)))); !errors.Is(err, metadata.ErrCorrupt) {
		t.Errorf("a negative count: %v", err)
	}
}

func TestReadListV1(t *testing.T) {
	schema := `{"type": "record", "name": "manifest_file", "fields": [
		{"name": "manifest_path", "type": "string", "field-id": 500}, {"name": "manifest_length", "type": "long", "field-id": 501},
		{"name": "partition_spec_id", "type": "int", "field-id": 502}, {"name": "added_snapshot_id", "type": ["null", "long"], "field-id": 503}]}`
	files, err := manifest.ReadList(bytes.NewReader(encode(t, schema, nil, nil,
		values{"manifest_path": "m", "manifest_length": 10, "partition_spec_id": 0, "added_snapshot_id": nil})))
	if err != nil || !reflect.DeepEqual(files, []manifest.File{{Path: "m", Length: 10}}) {
		t.Errorf("got %+v, %v", files, err)
	}
}

func TestReadListErrors(t *testing.T) {
	for name, c := range map[string]struct {
		entry values
		want  error
	}{
		"negative length":   {listed(values{"manifest_length": -1}), metadata.ErrCorrupt},
		"no path":           {listed(values{"manifest_path": ""}), metadata.ErrCorrupt},
		"unknown content":   {listed(values{"content": 2}), metadata.ErrUnsupported},
		"encrypted":         {listed(values{"key_metadata": []byte("k")}), metadata.ErrUnsupported},
		"a length too long": {listed(values{"manifest_length": int64(1) << 60}), metadata.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := manifest.ReadList(bytes.NewReader(encode(t, listSchemaV2, nil, nil, c.entry))); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}
