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
