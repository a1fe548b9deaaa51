package collector

import (
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/layout"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

// deleteFiles tells of the delete files of merge-on-read tables.
type deleteFiles struct {
	files, bytes, records *Metric
}

func newDeleteFiles(d *descriptions) *deleteFiles {
	return &deleteFiles{
		files:   d.gauge("iceberg_table_delete_files", "Live delete files: position_deletes, equality_deletes or deletion_vectors.", "content"),
		bytes:   d.gauge("iceberg_table_delete_bytes", "Total size of the live delete files. A deletion vector counts its own blob, not the file that it shares.", "content"),
		records: d.gauge("iceberg_table_delete_records", "Rows of the live delete files: deleted positions, or keys of equality deletes.", "content"),
	}
}

func (f *deleteFiles) collect(e emitter, t refresh.Table, _ time.Time) {
	l := t.Measurement.Layout
	for _, kind := range []struct {
		content string
		figures layout.Deletes
	}{
		{"position_deletes", l.PositionDeletes},
		{"equality_deletes", l.EqualityDeletes},
		{"deletion_vectors", l.DeletionVectors},
	} {
		e.count(f.files, kind.figures.Files, kind.content)
		e.count(f.bytes, kind.figures.Bytes, kind.content)
		e.count(f.records, kind.figures.Records, kind.content)
	}
}
