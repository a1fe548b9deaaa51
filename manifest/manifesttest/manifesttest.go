// Package manifesttest writes Avro files for tests: manifests and lists with
// schemas and entries of a test's own.
package manifesttest

import (
	"bytes"
	"testing"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// PlainSchema is the schema of manifests of unpartitioned v1 tables that say no
// more of a file than they must.
const PlainSchema = `{"type": "record", "name": "manifest_entry", "fields": [
	{"name": "status", "type": "int", "field-id": 0},
	{"name": "data_file", "field-id": 2, "type": {"type": "record", "name": "r2", "fields": [
		{"name": "file_path", "type": "string", "field-id": 100},
		{"name": "partition", "field-id": 102, "type": {"type": "record", "name": "r102", "fields": []}},
		{"name": "record_count", "type": "long", "field-id": 103},
		{"name": "file_size_in_bytes", "type": "long", "field-id": 104}]}}]}`

// Encode returns an Avro file of records with a schema. Options may add
// properties to its header, or a codec.
func Encode(t testing.TB, schema string, records []any, options ...ocf.WriterOpt) []byte {
	t.Helper()
	parsed, err := avro.Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, parsed, options...)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range records {
		if err := w.Encode(record); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Files are the files of a table that has all of them inside its location.
type Files struct{}

// Place implements manifest.Files.
func (Files) Place(file string) (string, uri.Place) { return uri.Path(file), uri.Inside }
